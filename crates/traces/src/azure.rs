//! Azure LLM inference traces (<https://github.com/Azure/AzurePublicDataset>).

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use rooflut::sim::Request;

use crate::cell::{LATEST_NS, tokens};
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::table::{Columns, Entry, Header, Row};

static PARSER: DateTimeParser = DateTimeParser::new();
/// Characters of a date, whose `-` is no sign of an offset.
const DATE: usize = "2023-11-16".len();

/// Indices of the columns.
pub(crate) struct AzureColumns {
    timestamp: usize,
    context_tokens: usize,
    generated_tokens: usize,
}

impl Columns for AzureColumns {
    fn find(header: &Header<'_>) -> Result<AzureColumns, TraceError> {
        let required = |name| header.required(Format::Azure, name);
        Ok(AzureColumns {
            timestamp: required("TIMESTAMP")?,
            context_tokens: required("ContextTokens")?,
            generated_tokens: required("GeneratedTokens")?,
        })
    }

    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Problem> {
        Ok(Entry::Request(
            Request::new(
                tokens("ContextTokens", row.cell(self.context_tokens))?,
                tokens("GeneratedTokens", row.cell(self.generated_tokens))?,
            )
            .at_ns(unix_ns("TIMESTAMP", row.cell(self.timestamp))?),
        ))
    }
}

/// Parses a time as nanoseconds since 1970, UTC, within the range of the simulator's clock.
fn unix_ns(key: &'static str, text: &str) -> Result<u64, Problem> {
    let Some(timestamp) = timestamp(text) else {
        let expected = "a date and time such as 2023-11-16 18:15:46.6805900";
        return Err(Problem::value(key, expected, text));
    };
    let ns = u64::try_from(timestamp.as_nanosecond()).ok();
    let ns = ns.filter(|ns| *ns <= LATEST_NS);
    ns.ok_or_else(|| Problem::value(key, "a time between the years 1970 and 2262", text))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    let time = text.as_bytes().get(DATE..)?;
    let has_offset = time
        .iter()
        .any(|byte| matches!(byte, b'+' | b'-' | b'Z' | b'z'));
    match has_offset {
        true => PARSER.parse_timestamp(text).ok(),
        false => {
            let civil = PARSER.parse_datetime(text).ok()?;
            TimeZone::UTC.to_timestamp(civil).ok()
        }
    }
}
