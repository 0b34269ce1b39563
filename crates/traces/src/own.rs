//! The project's own CSV.

use rooflut::sim::{Content, Request};
use rooflut_error::Error;

use crate::cell::{Unit, time_ns, tokens, whole};
use crate::error::value;
use crate::format::Format;
use crate::table::{Columns, Entry, Header, Row};
use crate::text_id::{Kind, text_id};

/// Indices of the columns.
pub(crate) struct OwnColumns {
    arrival_ms: usize,
    prompt_tokens: usize,
    output_tokens: usize,
    cached_prompt_tokens: Option<usize>,
    priority: Option<usize>,
    /// The columns of the id and of the length.
    prefix: Option<(usize, usize)>,
    session_id: Option<usize>,
    /// Rows read so far.
    rows: u64,
}

impl OwnColumns {
    pub(crate) fn find(header: &Header<'_>) -> Result<OwnColumns, Error> {
        let required = |name| header.required(Format::Own, name);
        let prefix = match (header.position("prefix_id"), header.position("prefix_tokens")) {
            (None, None) => None,
            _ => Some((required("prefix_id")?, required("prefix_tokens")?)),
        };
        Ok(OwnColumns {
            arrival_ms: required("arrival_ms")?,
            prompt_tokens: required("prompt_tokens")?,
            output_tokens: required("output_tokens")?,
            cached_prompt_tokens: header.position("cached_prompt_tokens"),
            priority: header.position("priority"),
            prefix,
            session_id: header.position("session_id"),
            rows: 0,
        })
    }
}

impl Columns for OwnColumns {
    fn has_priorities(&self) -> bool {
        self.priority.is_some()
    }

    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Error> {
        self.rows += 1;
        let arrival_ns = time_ns("arrival_ms", row.cell(self.arrival_ms), Unit::Milliseconds)?;
        let prompt_tokens = tokens("prompt_tokens", row.cell(self.prompt_tokens))?;
        let cached_prompt_tokens = match self.cached_prompt_tokens {
            Some(column) => part_of_prompt("cached_prompt_tokens", row.cell(column), prompt_tokens)?,
            None => 0,
        };
        let priority = match self.priority {
            Some(column) => whole("priority", row.cell(column))?,
            None => 0,
        };
        Ok(Entry::Request(
            Request::new(prompt_tokens, tokens("output_tokens", row.cell(self.output_tokens))?)
                .at_ns(arrival_ns)
                .with_cached_prompt_tokens(cached_prompt_tokens)
                .with_priority(priority)
                .with_content(self.content(row, prompt_tokens)?),
        ))
    }
}

impl OwnColumns {
    fn content(&self, row: &Row<'_>, prompt_tokens: u32) -> Result<Content, Error> {
        let prefix = match self.prefix {
            Some((id, length)) => prefix(row.cell(id), row.cell(length), prompt_tokens)?,
            None => None,
        };
        let session = self.session_id.map(|column| row.cell(column)).filter(|id| !id.is_empty());
        if prefix.is_none() && session.is_none() {
            return Ok(Content::Unique);
        }
        let (prefix, prefix_tokens) = prefix.unwrap_or_default();
        let own = match session {
            Some(id) => text_id(Kind::Session, id.as_bytes()),
            None => text_id(Kind::Request, &self.rows.to_le_bytes()),
        };
        Ok(Content::Texts { prefix, prefix_tokens, own })
    }
}

/// Parses the id of the text that a prompt begins with, and the length of that text.
fn prefix(id: &str, length: &str, prompt_tokens: u32) -> Result<Option<(u64, u32)>, Error> {
    match (id, length) {
        ("", "" | "0") => Ok(None),
        ("", _) => Err(value("prefix_tokens", "0 or nothing without a prefix_id", length)),
        _ => {
            let length = part_of_prompt("prefix_tokens", length, prompt_tokens)?;
            Ok(Some((text_id(Kind::Prefix, id.as_bytes()), length)))
        }
    }
}

/// Parses a number of tokens of the prompt.
fn part_of_prompt(key: &'static str, text: &str, prompt_tokens: u32) -> Result<u32, Error> {
    let part = tokens(key, text)?;
    if part > prompt_tokens {
        let expected = format!("at most prompt_tokens ({prompt_tokens})");
        return Err(value(key, expected, text));
    }
    Ok(part)
}
