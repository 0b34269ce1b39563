//! The words of a command line as flags and values, in the forms that vLLM's parser takes.

use rooflut::engine::EngineStack;
use rooflut_error::{Error, Kind, hint, misspelt};
use serde_json::{Map, Value};

use super::flag::{self, Flag, Form, Named};

/// Maximum number of keys in `--flag.key.key`.
const MAX_KEYS: usize = 16;

/// A flag as it was given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) flag: Flag,
    /// `true` or `false` for a flag without values, values with spaces between them for a list.
    pub(super) value: String,
}

/// The flags of a command line, each once with its last value, in their order; and the model.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) flags: Vec<Given>,
    pub(super) model: Option<String>,
}

impl Words {
    /// Reads the words after `vllm serve`.
    pub(super) fn read(words: &[String], stack: &EngineStack) -> Result<Words, Error> {
        let mut read = Words::default();
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if !is_flag(word) {
                read.set_model(word)?;
                continue;
            }
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let (name, path) = match name.split_once('.') {
                Some((name, path)) => (name, Some(path)),
                None => (name, None),
            };
            let (named, attached) = find(name, attached, rest.peek().copied(), stack)?;
            let flag = named.flag;
            if let Some(path) = path {
                let value = attached.or_else(|| rest.next()).ok_or_else(|| lacks_value(&flag))?;
                if path.split('.').count() > MAX_KEYS {
                    let text = format!("--{}: expected at most {MAX_KEYS} keys in a row; shorten it", flag.name);
                    return Err(Error::new(Kind::Value, text));
                }
                read.add_key(flag, path, value);
                continue;
            }
            let mut next = || rest.next_if(|next| !is_flag(next));
            let value = match (flag.form, attached) {
                (Form::Switch | Form::On, None) => (!named.negated).to_string(),
                (Form::Switch | Form::On, Some(found)) => {
                    let text = format!("{word}: expected no value, found {found:?}; remove it");
                    return Err(Error::new(Kind::Value, text));
                }
                (_, Some(value)) => value.to_owned(),
                (Form::Optional, None) => next().unwrap_or("true").to_owned(),
                (Form::Value, None) => next().ok_or_else(|| lacks_value(&flag))?.to_owned(),
                (Form::List, None) => {
                    let mut values = vec![next().ok_or_else(|| lacks_value(&flag))?];
                    values.extend(std::iter::from_fn(next));
                    values.join(" ")
                }
            };
            read.set(flag, value);
        }
        Ok(read)
    }

    fn set_model(&mut self, found: &str) -> Result<(), Error> {
        match self.model.replace(found.to_owned()) {
            None => Ok(()),
            Some(first) => {
                let text = format!(
                    "expected one model, found {first:?} and {found:?}; put the values of a flag behind it, in quotes \
                     if they have spaces"
                );
                Err(Error::new(Kind::Conflict, text))
            }
        }
    }

    fn set(&mut self, flag: Flag, value: String) {
        self.flags.retain(|given| given.flag != flag);
        self.flags.push(Given { flag, value });
    }

    /// Adds `--flag.path value` to the JSON object of the flag.
    fn add_key(&mut self, flag: Flag, path: &str, value: &str) {
        let before = self.flags.iter().find(|given| given.flag == flag);
        let before = before.and_then(|given| serde_json::from_str(&given.value).ok());
        let mut object: Map<String, Value> = before.unwrap_or_default();
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        let mut keys = path.trim_end_matches('+').split('.').rev();
        let last = keys.next().unwrap_or_default().to_owned();
        let nested = keys.fold((last, value), |(key, value), outer| {
            (outer.to_owned(), Value::Object([(key, value)].into_iter().collect()))
        });
        object.extend([nested]);
        self.set(flag, Value::Object(object).to_string());
    }
}

/// Whether a word names a flag: `-1` is a value.
fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.parse::<f64>().is_err())
}

/// Finds a flag by a name with its dashes; the value that is attached to it may be part of the name.
fn find<'w>(
    name: &'w str,
    attached: Option<&'w str>,
    next: Option<&str>,
    stack: &EngineStack,
) -> Result<(Named, Option<&'w str>), Error> {
    if let Some(long) = name.strip_prefix("--") {
        return Ok((find_long(&long.replace('_', "-"), stack)?, attached));
    }
    let short = name.trim_start_matches('-');
    let plain = |flag| Named { flag, negated: false };
    if let Some(flag) = flag::short(short, stack) {
        return Ok((plain(flag), attached));
    }
    // -O is a level, or in the form of keys the whole configuration.
    if let Some(level) = short.strip_prefix('O') {
        let attached = attached.or((!level.is_empty()).then_some(level));
        let is_level = attached.or(next).is_some_and(|value| value.len() == 1);
        let long = if is_level { "optimization-level" } else { "compilation-config" };
        let flag = flag::of(stack).find(|flag| flag.name == long);
        if let Some(flag) = flag.or_else(|| flag::of(stack).find(|flag| flag.name == "compilation-config")) {
            return Ok((plain(flag), attached));
        }
    }
    // -q and others of one letter may have their value attached.
    let (letter, value) = short.split_at_checked(1).unwrap_or((short, ""));
    match flag::short(letter, stack) {
        Some(flag) => Ok((plain(flag), attached.or(Some(value)))),
        None => Err(unknown(name, stack)),
    }
}

fn find_long(name: &str, stack: &EngineStack) -> Result<Named, Error> {
    match flag::named(name, stack).as_slice() {
        [named] => Ok(*named),
        [] => Err(unknown(&format!("--{name}"), stack)),
        several => {
            let names: Vec<String> = several.iter().take(3).map(|named| format!("--{}", named.flag.name)).collect();
            let text = format!("--{name} may be {} and others; write the whole flag", names.join(", "));
            Err(Error::new(Kind::UnknownName, text))
        }
    }
}

fn unknown(name: &str, stack: &EngineStack) -> Error {
    let bare = name.trim_start_matches('-');
    let bare = bare.strip_prefix("no-").unwrap_or(bare);
    let elsewhere = flag::all().find(|flag| flag.name == bare);
    let text = match elsewhere {
        Some(flag) => {
            format!("{name} is a flag of {}, not of {}; remove it, or name its version", flag.versions(), stack.name)
        }
        None => {
            let near = misspelt(bare, flag::of(stack).map(|flag| flag.name));
            let near: Vec<String> = near.into_iter().map(|near| format!("--{near}")).collect();
            format!("unknown flag {name} of {}{}; correct or remove it", stack.name, hint(&near))
        }
    };
    Error::new(Kind::UnknownName, text)
}

fn lacks_value(flag: &Flag) -> Error {
    Error::new(Kind::Value, format!("--{}: expected a value, found none; add it", flag.name))
}
