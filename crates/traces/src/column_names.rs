//! Columns that the user names.

use std::fmt;
use std::str::FromStr;

use rooflut_error::{Error, Kind, hint, nearest};

use crate::error::{Shown, shown};
use crate::unit::Unit;

/// The columns or keys of a trace by what they hold, as in `arrival=timestamp:ms,prompt=input_tokens,output=out`.
///
/// `arrival`, `prompt` and `output` are required; `cached`, `priority`, `session`, `prefix` and `prefix_tokens` hold what
/// the columns of [`Format::Own`](crate::Format::Own) do. Arrivals are dates and times, or numbers in the unit behind the
/// colon (`s`, `ms`, `us`, `ns`). Without one, the unit is that in which the name ends, as in `sent_ms`, or seconds. A
/// key with dots may lie in nested objects.
///
/// ```
/// use rooflut_traces::{Options, read};
/// let names = "arrival=at,prompt=input_tokens,output=output_tokens".parse()?;
/// let text = "at,input_tokens,output_tokens\n2025-03-01T10:00:00Z,374,44\n2025-03-01T10:00:01.5Z,396,109\n";
/// let trace = read(text.as_bytes(), &Options { columns: Some(&names), ..Options::default() })?;
/// assert_eq!(trace.requests, 2);
/// # Ok::<(), rooflut_error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNames {
    named: Vec<(Role, String)>,
    /// The unit of the arrivals; `None` if it is not given.
    unit: Option<Unit>,
}

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Arrival,
    Prompt,
    Output,
    Cached,
    Priority,
    Session,
    Prefix,
    PrefixTokens,
}

impl Role {
    pub(crate) const ALL: [Role; 8] = [
        Role::Arrival,
        Role::Prompt,
        Role::Output,
        Role::Cached,
        Role::Priority,
        Role::Session,
        Role::Prefix,
        Role::PrefixTokens,
    ];
    /// Roles that each trace needs.
    pub(crate) const REQUIRED: [Role; 3] = [Role::Arrival, Role::Prompt, Role::Output];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Arrival => "arrival",
            Role::Prompt => "prompt",
            Role::Output => "output",
            Role::Cached => "cached",
            Role::Priority => "priority",
            Role::Session => "session",
            Role::Prefix => "prefix",
            Role::PrefixTokens => "prefix_tokens",
        }
    }

    /// Returns the column of rooflut's own CSV.
    pub(crate) fn own_column(self) -> &'static str {
        match self {
            Role::Arrival => "arrival_ms",
            Role::Prompt => "prompt_tokens",
            Role::Output => "output_tokens",
            Role::Cached => "cached_prompt_tokens",
            Role::Priority => "priority",
            Role::Session => "session_id",
            Role::Prefix => "prefix_id",
            Role::PrefixTokens => "prefix_tokens",
        }
    }
}

impl ColumnNames {
    /// Returns the names by role, in the order in which they were given.
    pub(crate) fn named(&self) -> impl Iterator<Item = (Role, &str)> {
        self.named.iter().map(|(role, name)| (*role, name.as_str()))
    }

    /// Returns the unit of the arrivals, if it is given.
    pub(crate) fn unit(&self) -> Option<Unit> {
        self.unit
    }

    fn has(&self, role: Role) -> bool {
        self.named.iter().any(|(named, _)| *named == role)
    }

    /// Adds the name of a column.
    fn add(&mut self, role: Role, name: &str) -> Result<(), Error> {
        let mut name = name;
        if let (Role::Arrival, Some((column, ending))) = (role, name.rsplit_once(':'))
            && let Some(unit) = Unit::from_symbol(ending)
        {
            (name, self.unit) = (column, Some(unit));
        }
        if name.is_empty() {
            return Err(invalid(format!("expected {}=COLUMN, found no column", role.name())));
        }
        if self.has(role) {
            return Err(invalid(format!("expected one column of {}, found two; name one", role.name())));
        }
        if let Some((other, _)) = self.named.iter().find(|(_, other)| other == name) {
            let (column, other, role) = (Shown(name), other.name(), role.name());
            let text = format!("expected different columns for {other} and {role}, found {column} for both");
            return Err(invalid(text));
        }
        self.named.push((role, name.to_owned()));
        Ok(())
    }
}

impl FromStr for ColumnNames {
    type Err = Error;

    fn from_str(text: &str) -> Result<ColumnNames, Error> {
        let mut names = ColumnNames { named: Vec::new(), unit: None };
        for part in text.split(',') {
            let Some((role, name)) = part.split_once('=') else {
                let found = Shown(part);
                let example = "arrival=timestamp,prompt=input_tokens,output=output_tokens";
                return Err(invalid(format!("expected COLUMN names as in {example}, found \"{found}\"")));
            };
            let (role, name) = (role.trim(), name.trim());
            let Some(known) = Role::ALL.into_iter().find(|known| known.name() == role) else {
                let roles = Role::ALL.map(Role::name);
                let near = hint(&nearest(role, roles));
                let text = format!("unknown part \"{}\" of a request{near}; use {}", Shown(role), roles.join(", "));
                return Err(Error::new(Kind::UnknownName, text));
            };
            names.add(known, name)?;
        }
        if let Some(missing) = Role::REQUIRED.into_iter().find(|role| !names.has(*role)) {
            return Err(invalid(format!(
                "expected a column of each of arrival, prompt and output, found no {}",
                missing.name()
            )));
        }
        match (names.has(Role::Prefix), names.has(Role::PrefixTokens)) {
            (true, false) => Err(invalid("prefix needs prefix_tokens, the length of the text; add it")),
            (false, true) => Err(invalid("prefix_tokens needs prefix, the id of the text; add it")),
            _ => Ok(names),
        }
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (role, name)) in self.named().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}={name}", role.name())?;
            if let (Role::Arrival, Some(unit)) = (role, self.unit) {
                write!(f, ":{}", unit.symbol())?;
            }
        }
        Ok(())
    }
}

fn invalid(text: impl Into<String>) -> Error {
    Error::new(Kind::Value, text)
}

/// Words in names of columns of arrivals, of numbers of tokens, and of the tokens of prompts and outputs.
const ARRIVAL: [&str; 6] = ["arriv", "timestamp", "sent", "created", "time", "date"];
const COUNTS: [&str; 5] = ["token", "len", "size", "isl", "osl"];
const PROMPT: [&str; 6] = ["prompt", "input", "context", "prefill", "request", "isl"];
const OUTPUT: [&str; 6] = ["output", "completion", "generat", "response", "decode", "osl"];
/// Columns among which those of a request are guessed.
const MAX_COLUMNS: usize = 1000;
/// Words in names of other columns.
const OTHERS: [&str; 11] =
    ["cache", "total", "max", "latency", "first", "end", "finish", "duration", "limit", "ttft", "cost"];

/// Returns `arrival=...,prompt=...,output=...` with the columns among `found` that have such names, where there is one
/// for each.
pub(crate) fn guess(found: &[impl AsRef<str>]) -> Option<String> {
    // A file that is no table may have a million names.
    let found = found.get(..MAX_COLUMNS).unwrap_or(found);
    let has = |name: &str, words: &[&str]| words.iter().any(|word| name.contains(word));
    let column = |words: &[&str], counts: &[&str], others: &[&str]| {
        let mut columns = found.iter().map(AsRef::as_ref);
        columns.find(|column| {
            let name = column.to_ascii_lowercase();
            has(&name, words) && has(&name, counts) && !has(&name, &OTHERS) && !has(&name, others)
        })
    };
    let arrival = ARRIVAL.iter().find_map(|word| column(&[word], &[""], &COUNTS))?;
    let (prompt, output) = (column(&PROMPT, &COUNTS, &OUTPUT)?, column(&OUTPUT, &COUNTS, &PROMPT)?);
    let guess = format!("arrival={},prompt={},output={}", shown(arrival), shown(prompt), shown(output));
    // A name that cannot be typed back is no advice.
    let can_be_typed = guess.parse::<ColumnNames>().is_ok() && !guess.contains(['\'', '\\']);
    let quote = if guess.contains(|character: char| character.is_whitespace() || "$`\"()&;|<>*?".contains(character)) {
        "'"
    } else {
        ""
    };
    can_be_typed.then(|| format!("{quote}{guess}{quote}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_guessed_by_their_names() {
        for (found, guessed) in [
            ("timestamp input_tokens output_tokens", "arrival=timestamp,prompt=input_tokens,output=output_tokens"),
            (
                "id end_time created_at total_tokens cached_prompt_tokens prompt_tokens completion_tokens",
                "arrival=created_at,prompt=prompt_tokens,output=completion_tokens",
            ),
            ("ts_date ISL OSL", "arrival=ts_date,prompt=ISL,output=OSL"),
            ("start_time prompt_len output_len", "arrival=start_time,prompt=prompt_len,output=output_len"),
        ] {
            let found: Vec<&str> = found.split(' ').collect();
            assert_eq!(guess(&found).as_deref(), Some(guessed));
        }
        assert_eq!(guess(&["Arrival Time", "prompt size", "output size"]).unwrap().chars().next(), Some('\''));
        assert_eq!(guess(&["timestamp", "prompt", "output"]), None, "these may be the texts");
        assert_eq!(guess(&["prompt_tokens", "output_tokens"]), None);
    }

    #[test]
    fn names_are_written_as_they_are_read() {
        for text in ["arrival=t:us,prompt=a b,output=c:ms", "output=o,prompt=p,arrival=a:b,session=s,cached=c"] {
            assert_eq!(text.parse::<ColumnNames>().unwrap().to_string(), text);
        }
    }
}
