//! Values of JSON in little memory: a result of a benchmark may have the time of each token.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::{self, Write};
use std::rc::Rc;

use rooflut_error::JsonSize;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A value of JSON. It takes 24 bytes, a third of a `serde_json::Value` whose keys keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
    List(Box<[Value]>),
    Object(Box<[(Rc<str>, Value)]>),
}

/// The size of a [`Value`], with what the allocator adds.
pub(crate) const SIZE: JsonSize = JsonSize { list: 48, object: 64, comma: 24, colon: 16, quote: 16 };

/// Maximum number of keys that are kept once for all objects.
const MAX_SHARED: usize = 1024;

impl Value {
    /// Returns the value under a key of an object. The last one counts, as in Python.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.keys().rev().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Returns the value at a path such as `/itls/0`.
    pub(crate) fn pointer(&self, path: &str) -> Option<&Value> {
        let mut keys = path.split('/').skip(1);
        keys.try_fold(self, |value, key| match value {
            Value::List(values) => values.get(key.parse::<usize>().ok()?),
            value => value.get(key),
        })
    }

    /// The keys of an object with their values.
    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
        let keys = if let Value::Object(keys) = self { &**keys } else { &[] };
        keys.iter().map(|(key, value)| (&**key, value))
    }

    /// Takes the list under a key out of an object.
    pub(crate) fn take_list(&mut self, key: &str) -> Option<Box<[Value]>> {
        let Value::Object(keys) = self else {
            return None;
        };
        let (_, value) = keys.iter_mut().rev().find(|(known, _)| **known == *key)?;
        match std::mem::replace(value, Value::Null) {
            Value::List(values) => Some(values),
            other => {
                *value = other;
                None
            }
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(values) = self { Some(values) } else { None }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        if let Value::Number(number) = self { number.as_f64() } else { None }
    }

    pub(crate) fn is_null(&self) -> bool {
        *self == Value::Null
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// Returns a number or text as a fact.
    pub(crate) fn fact(&self) -> Option<serde_json::Value> {
        match self {
            Value::Number(number) => Some(number.clone().into()),
            Value::Text(text) => Some((&**text).into()),
            _ => None,
        }
    }

    /// Returns the JSON of the value, of a long one its beginning.
    pub(crate) fn shown(&self, max_chars: usize) -> String {
        let mut shown = Shown { text: String::new(), left: max_chars };
        if write!(shown, "{self}").is_err() {
            shown.text += "...";
        }
        shown.text
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = |place| if place == 0 { "" } else { "," };
        let quoted = |text: &str| serde_json::Value::from(text);
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => write!(f, "{}", quoted(text)),
            Value::List(values) => {
                f.write_char('[')?;
                values.iter().enumerate().try_for_each(|(place, value)| write!(f, "{}{value}", comma(place)))?;
                f.write_char(']')
            }
            Value::Object(_) => {
                f.write_char('{')?;
                let mut keys = self.keys().enumerate();
                keys.try_for_each(|(place, (key, value))| write!(f, "{}{}:{value}", comma(place), quoted(key)))?;
                f.write_char('}')
            }
        }
    }
}

/// The beginning of a text.
struct Shown {
    text: String,
    left: usize,
}

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let taken = text.chars().take(self.left);
        let before = self.text.len();
        self.text.extend(taken);
        let taken = self.text.len() - before;
        self.left -= self.text.get(before..).unwrap_or_default().chars().count();
        if taken < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Reads values that share the texts of their keys.
#[derive(Debug, Default)]
pub(crate) struct Keys(RefCell<HashSet<Rc<str>>>);

impl Keys {
    fn shared(&self, key: &str) -> Rc<str> {
        let mut known = self.0.borrow_mut();
        if let Some(known) = known.get(key) {
            return Rc::clone(known);
        }
        let key = Rc::from(key);
        if known.len() < MAX_SHARED {
            known.insert(Rc::clone(&key));
        }
        key
    }
}

impl<'de> DeserializeSeed<'de> for &Keys {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Keys {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::List(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = object.next_key_seed(Key(self))? {
            keys.push((key, object.next_value_seed(self)?));
        }
        Ok(Value::Object(keys.into()))
    }
}

/// A key of an object.
struct Key<'k>(&'k Keys);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Rc<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Rc<str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Rc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Rc<str>, E> {
        Ok(self.0.shared(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        (&Keys::default()).deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap()
    }

    #[test]
    fn a_value_is_that_of_serde_json_in_a_third_of_the_memory() {
        assert_eq!(size_of::<Value>(), 24);
        let text = r#"{"a":[1,-2,0.5,1e300,true,null,"b\"\n"],"c":{"d":{},"e":[]},"a/b":18446744073709551615}"#;
        let value = read(text);
        let expected: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&value.to_string()).unwrap(), expected);
        assert_eq!(value.pointer("/a/1").and_then(Value::as_f64), Some(-2.0));
        assert_eq!(value.pointer("/c/d").map(Value::is_object), Some(true));
        for path in ["/a/7", "/a/x", "/c/f", "/a/0/0"] {
            assert_eq!(value.pointer(path), None, "{path}");
        }
        assert_eq!((value.shown(10), value.shown(1000)), (r#"{"a":[1,-2..."#.to_owned(), value.to_string()));
        let twice = read(r#"{"a":1,"a":2}"#);
        assert_eq!(twice.get("a").and_then(Value::as_f64), Some(2.0));
    }
}
