//! A TOML file whose errors name file, line and key.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{Error, ErrorKind, Found, Location};
use super::files::Part;

/// A TOML file: its name in messages, and its text.
pub(crate) struct TomlFile<'a> {
    name: &'a str,
    text: &'a str,
    /// Number of lines of the file that precede the text.
    lines_before: u64,
}

/// A table of a TOML file: the whole file, or a section.
pub(crate) struct Table<'a> {
    file: &'a TomlFile<'a>,
    /// Its key followed by a dot; empty for the whole file.
    prefix: String,
    /// Its first byte in the text.
    start: usize,
    entries: &'a DeTable<'a>,
}

/// A value of a TOML file.
pub(crate) struct Value<'a> {
    file: &'a TomlFile<'a>,
    /// Its key, `gemm.t0_us` for one in a section.
    key: String,
    /// Its first byte in the text.
    start: usize,
    value: &'a DeValue<'a>,
}

impl<'a> TomlFile<'a> {
    /// The file with this name and text.
    pub(crate) fn new(name: &'a str, text: &'a str) -> TomlFile<'a> {
        TomlFile { name, text: text.strip_prefix('\u{feff}').unwrap_or(text), lines_before: 0 }
    }

    /// A file of a set.
    ///
    /// # Errors
    /// The file is not UTF-8.
    pub(crate) fn of(part: &'a Part) -> Result<TomlFile<'a>, Error> {
        Ok(TomlFile { lines_before: part.lines_before, ..TomlFile::new(&part.name, part.text()?) })
    }

    /// Parses the text.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for text that is not TOML.
    pub(crate) fn parse(&self) -> Result<DeTable<'a>, Error> {
        let refused = |error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let reason = error.message().trim_end().replace('\n', ", ");
            Error::new(
                ErrorKind::Toml,
                self.location(start),
                "TOML",
                Found::words(format!("an error ({reason})")),
                "correct the line",
            )
        };
        DeTable::parse(self.text).map(Spanned::into_inner).map_err(refused)
    }

    /// The whole file as a table, once it is [parsed](Self::parse).
    pub(crate) fn table(&'a self, entries: &'a DeTable<'a>) -> Table<'a> {
        Table { file: self, prefix: String::new(), start: 0, entries }
    }

    /// A byte of the text as a location in the file.
    fn location(&self, byte: usize) -> Location {
        let before = self.text.bytes().take(byte);
        let newlines = before.filter(|byte| *byte == b'\n').count();
        Location::file(self.name).line(self.lines_before + newlines as u64 + 1)
    }
}

impl<'a> Table<'a> {
    /// Refuses keys other than `known`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] at the first other key.
    pub(crate) fn only(self, known: &[&str]) -> Result<Table<'a>, Error> {
        let others = self.entries.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = others.min_by_key(|key| key.span().start) else {
            return Ok(self);
        };
        let location = self.file.location(key.span().start);
        Err(Error::new(
            ErrorKind::Toml,
            location.field(self.prefix.trim_end_matches('.').to_owned()),
            format!("one of the keys {}", known.join(", ")),
            Found::text(key.get_ref().as_ref()),
            "rename or remove it",
        ))
    }

    /// The values of all keys, in the order of the file.
    pub(crate) fn values(&self) -> Vec<(&'a str, Value<'a>)> {
        let mut keys: Vec<_> = self.entries.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        let value = |key: &'a Spanned<DeString<'a>>| {
            let key = key.get_ref().as_ref();
            Some((key, self.optional(key)?))
        };
        keys.into_iter().filter_map(value).collect()
    }

    /// The value of `key`, or `None`.
    pub(crate) fn optional(&self, key: &str) -> Option<Value<'a>> {
        let value = self.entries.get(key)?;
        Some(Value {
            file: self.file,
            key: format!("{}{key}", self.prefix),
            start: value.span().start,
            value: value.get_ref(),
        })
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] where the table lacks the key.
    pub(crate) fn required(&self, key: &str) -> Result<Value<'a>, Error> {
        let missing = || {
            let location = self.file.location(self.start);
            Error::new(
                ErrorKind::Toml,
                location.field(format!("{}{key}", self.prefix)),
                "a value",
                Found::NONE,
                "add it (rooflut's bench_data/README.md describes the keys)",
            )
        };
        self.optional(key).ok_or_else(missing)
    }
}

impl<'a> Value<'a> {
    /// The section with this key; it may have the keys `known`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for a value that is not a table, or a key that is not `known`.
    pub(crate) fn table(&self, known: &[&str]) -> Result<Table<'a>, Error> {
        self.any_table()?.only(known)
    }

    /// The section with this key, whatever its keys.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for a value that is not a table.
    pub(crate) fn any_table(&self) -> Result<Table<'a>, Error> {
        let DeValue::Table(entries) = self.value else {
            return Err(self.refuse("a section", "write it as one"));
        };
        Ok(Table { file: self.file, prefix: format!("{}.", self.key), start: self.start, entries })
    }

    /// The elements of a list, or the sections of a `[[list]]`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for a value that is not a list, and for an empty one.
    pub(crate) fn list(&self) -> Result<Vec<Value<'a>>, Error> {
        let element = |value: &'a Spanned<DeValue<'a>>| Value {
            file: self.file,
            key: self.key.clone(),
            start: value.span().start,
            value: value.get_ref(),
        };
        match self.value {
            DeValue::Array(values) if !values.is_empty() => Ok(values.iter().map(element).collect()),
            _ => Err(self.refuse("a list with at least one element", "correct or remove it")),
        }
    }

    /// Text, unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for a value that is not a string.
    pub(crate) fn string(&self) -> Result<&'a str, Error> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.refuse("a string", "write it in quotes")),
        }
    }

    /// Text that is not empty, without space around it.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for empty text, or a value that is not a string.
    pub(crate) fn text(&self) -> Result<&'a str, Error> {
        match self.string()?.trim() {
            "" => Err(self.refuse("some text", "fill it in")),
            text => Ok(text),
        }
    }

    /// A number, whole or not.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for a value that is not a number.
    pub(crate) fn number(&self) -> Result<f64, Error> {
        let number = match self.value {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.refuse("a number", "correct it"))
    }

    /// A positive, finite number.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for any other value.
    pub(crate) fn positive(&self) -> Result<f64, Error> {
        let number = self.number().ok();
        number
            .filter(|number| *number > 0.0 && number.is_finite())
            .ok_or_else(|| self.refuse("a positive number", "correct it"))
    }

    /// A positive whole number.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for any other value.
    pub(crate) fn whole(&self) -> Result<u64, Error> {
        let number = match self.value {
            DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        };
        number.filter(|number| *number > 0).ok_or_else(|| self.refuse("a positive whole number", "correct it"))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for any other value.
    pub(crate) fn switch(&self) -> Result<bool, Error> {
        match self.value {
            DeValue::Boolean(on) => Ok(*on),
            _ => Err(self.refuse("true or false", "correct it")),
        }
    }

    /// The value as parsed, for keys that accept several types.
    pub(crate) fn value(&self) -> &'a DeValue<'a> {
        self.value
    }

    /// Checks that `name` can become the name of a constant.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`] for other characters, and for `all`, the name of the list of constants.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), Error> {
        if is_simple(name) {
            return Ok(());
        }
        let expected = "lower-case letters, digits and hyphens, starting with a letter (and not \"all\")";
        Err(self.error(expected, Found::text(name), "rename it"))
    }

    /// The error for this value, shown as the file has it.
    pub(crate) fn refuse(&self, expected: impl Into<Cow<'static, str>>, hint: impl Into<Cow<'static, str>>) -> Error {
        let found = match self.value {
            DeValue::String(text) => Found::text(text.as_ref()),
            DeValue::Integer(integer) => Found::words(integer.to_string()),
            DeValue::Float(float) => Found::words(float.to_string()),
            DeValue::Boolean(boolean) => Found::words(boolean.to_string()),
            DeValue::Datetime(date) => Found::words(date.to_string()),
            DeValue::Array(_) => Found::words("a list"),
            DeValue::Table(_) => Found::words("a section"),
        };
        self.error(expected, found, hint)
    }

    fn error(&self, expected: impl Into<Cow<'static, str>>, found: Found, hint: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Toml, self.location(), expected, found, hint)
    }

    /// Its line and key.
    pub(crate) fn location(&self) -> Location {
        self.file.location(self.start).field(self.key.clone())
    }
}

/// Whether a name consists of lower-case letters, digits and hyphens, starts with a letter and is not `all`.
pub(crate) fn is_simple(name: &str) -> bool {
    let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    starts && name.chars().all(simple) && name != "all"
}
