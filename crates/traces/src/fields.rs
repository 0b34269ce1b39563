//! The fields of a request, as columns of CSV or keys of JSON have them.

use rooflut::sim::{Content, Request};
use rooflut_error::{Error, key};

use crate::cell::{Clock, time_ns, tokens, unix_ns, whole};
use crate::column_names::{ColumnNames, Role};
use crate::error::{contents, value};
use crate::text_id::{Kind, text_id};

/// The fields of a request in a file.
pub(crate) struct Fields {
    /// In the order of [`Role::ALL`].
    fields: [Option<Field>; Role::ALL.len()],
    /// How arrivals are written; `None` until the first one tells.
    clock: Option<Clock>,
    /// Requests read so far.
    requests: u64,
}

/// A field of a request.
pub(crate) struct Field {
    /// The name of its column, or its key.
    pub(crate) name: String,
    /// The index of its column.
    pub(crate) index: usize,
}

impl Fields {
    /// Creates a request without fields. The first arrival decides how they are written unless `clock` does.
    pub(crate) fn new(clock: Option<Clock>) -> Fields {
        Fields { fields: [const { None }; Role::ALL.len()], clock, requests: 0 }
    }

    /// Creates the fields that the user names, each with the index that `index_of` returns.
    pub(crate) fn named(names: &ColumnNames, index_of: impl Fn(&str) -> Result<usize, Error>) -> Result<Fields, Error> {
        let mut fields = Fields::new(names.unit().map(Clock::Numbers));
        for (role, name) in names.named() {
            fields.add(role, name, index_of(name)?);
        }
        Ok(fields)
    }

    pub(crate) fn add(&mut self, role: Role, name: &str, index: usize) {
        if let Some(field) = self.fields.get_mut(role as usize) {
            *field = Some(Field { name: name.to_owned(), index });
        }
    }

    /// Returns the names of the columns or keys.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().flatten().map(|field| field.name.as_str())
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        self.field(role).is_some()
    }

    fn field(&self, role: Role) -> Option<&Field> {
        self.fields.get(role as usize)?.as_ref()
    }

    /// Returns a request whose fields have the texts that `text_of` returns, `None` for those without a value.
    pub(crate) fn request<'t>(&mut self, text_of: impl Fn(&Field) -> Option<&'t str>) -> Result<Request, Error> {
        self.requests += 1;
        let arrival_ns = self.arrival_ns(&text_of)?;
        let text = |role| {
            let field = self.field(role)?;
            Some((field.name.as_str(), text_of(field)?))
        };
        let required = |role| match text(role) {
            Some((name, text)) => tokens(name, text),
            None => Err(self.missing(role)),
        };
        let prompt_tokens = required(Role::Prompt)?;
        let prompt = (self.name(Role::Prompt), prompt_tokens);
        let cached_prompt_tokens = match text(Role::Cached) {
            Some((name, text)) => part_of_prompt(name, text, prompt)?,
            None => 0,
        };
        let priority = match text(Role::Priority) {
            Some((name, text)) => whole(name, text)?,
            None => 0,
        };
        let prefix = match (text(Role::Prefix), text(Role::PrefixTokens)) {
            (Some(id), Some(length)) => prefix(id, length, prompt)?,
            _ => None,
        };
        let session = text(Role::Session).map(|(_, id)| id).filter(|id| !id.is_empty());
        let content = self.content(prefix, session);
        Ok(Request::new(prompt_tokens, required(Role::Output)?)
            .at_ns(arrival_ns)
            .with_cached_prompt_tokens(cached_prompt_tokens)
            .with_priority(priority)
            .with_content(content))
    }

    fn arrival_ns<'t>(&mut self, text_of: impl Fn(&Field) -> Option<&'t str>) -> Result<u64, Error> {
        let field = self.field(Role::Arrival);
        let Some((field, text)) = field.and_then(|field| Some((field, text_of(field)?))) else {
            return Err(self.missing(Role::Arrival));
        };
        let name = &field.name;
        let clock = match self.clock {
            Some(clock) => clock,
            None => Clock::of(name, text)
                .ok_or_else(|| value(name, "a number, or a date and time such as 2023-11-16 18:15:46.6805900", text))?,
        };
        let read = match clock {
            // The first one decides, so that a number beside dates is not taken as one of 1970.
            Clock::Dates => unix_ns(name, text),
            Clock::Numbers(unit) if self.clock.is_none() && unit.is_late(text) => {
                let columns = key("columns");
                let latest = unit.latest();
                Err(contents(format!(
                    "{name}: expected at most {latest} {}, found \"{text}\"; give the unit, as in {columns} arrival={name}:ms",
                    unit.name()
                )))
            }
            Clock::Numbers(unit) => time_ns(name, text, unit),
        };
        self.clock = Some(clock);
        read
    }

    fn missing(&self, role: Role) -> Error {
        contents(format!("no value of {}; each request needs one", self.name(role)))
    }

    fn name(&self, role: Role) -> &str {
        self.field(role).map_or(role.name(), |field| &field.name)
    }

    fn content(&self, prefix: Option<(u64, u32)>, session: Option<&str>) -> Content {
        if prefix.is_none() && session.is_none() {
            return Content::Unique;
        }
        let (prefix, prefix_tokens) = prefix.unwrap_or_default();
        let own = match session {
            Some(id) => text_id(Kind::Session, id.as_bytes()),
            None => text_id(Kind::Request, &self.requests.to_le_bytes()),
        };
        Content::Texts { prefix, prefix_tokens, own }
    }
}

/// Parses the id of the text that a prompt begins with, and the length of that text.
fn prefix(
    (id_name, id): (&str, &str),
    (name, length): (&str, &str),
    prompt: (&str, u32),
) -> Result<Option<(u64, u32)>, Error> {
    match (id, length) {
        ("", "" | "0") => Ok(None),
        ("", _) => Err(value(name, format!("0 or nothing without a {id_name}"), length)),
        _ => {
            let length = part_of_prompt(name, length, prompt)?;
            Ok(Some((text_id(Kind::Prefix, id.as_bytes()), length)))
        }
    }
}

/// Parses a number of tokens of the prompt.
fn part_of_prompt(name: &str, text: &str, (prompt, prompt_tokens): (&str, u32)) -> Result<u32, Error> {
    let part = tokens(name, text)?;
    if part > prompt_tokens {
        let expected = format!("at most {prompt} ({prompt_tokens})");
        return Err(value(name, expected, text));
    }
    Ok(part)
}
