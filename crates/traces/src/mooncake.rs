//! Mooncake traces (<https://github.com/kvcache-ai/Mooncake>, `FAST25-release/traces`), AIPerf's dialect of
//! them (<https://github.com/ai-dynamo/aiperf>) and Qwen-Bailian's usage traces
//! (<https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon>).

use rooflut::sim::Request;
use rooflut_error::Error;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cell::{time_ns, tokens};
use crate::error::{contents, value};
use crate::format::Format;
use crate::input::Input;
use crate::json::{Json, Records};
use crate::rows::{Extra, Notes, Row, Rows};
use crate::text_id::{Kind, text_id};
use crate::unit::Unit;

#[derive(Deserialize)]
struct Record<'t> {
    #[serde(borrow)]
    timestamp: Option<&'t RawValue>,
    #[serde(borrow)]
    input_length: Option<&'t RawValue>,
    #[serde(borrow)]
    output_length: Option<&'t RawValue>,
    #[serde(borrow)]
    hash_ids: Option<&'t RawValue>,
    #[serde(borrow)]
    session_id: Option<&'t RawValue>,
    #[serde(borrow)]
    delay: Option<&'t RawValue>,
}

/// The requests of such a file.
pub(crate) struct Blocks {
    records: Records,
    format: Format,
    /// Whether no record has been read.
    at_start: bool,
}

impl Blocks {
    pub(crate) fn open(input: &Input, format: Format) -> Result<Blocks, Error> {
        Ok(Blocks { records: Records::open(input)?, format, at_start: true })
    }

    /// Returns the tokens of the block that an id stands for.
    pub(crate) fn tokens_per_id(format: Format) -> u32 {
        match format {
            Format::QwenBailian => 16,
            _ => 512,
        }
    }
}

impl Rows for Blocks {
    fn next(&mut self, notes: &mut Notes) -> Result<Option<Row>, Error> {
        let Some(json) = self.records.next()? else {
            return Ok(None);
        };
        let row = row(&json, self.format)?;
        if std::mem::take(&mut self.at_start) {
            let keys = json.keys();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let ignored = self.format.ignored(&keys);
            notes.ignored = ignored.map_err(|error| json.whole(error))?;
        }
        Ok(Some(row))
    }
}

fn row(json: &Json<'_>, format: Format) -> Result<Row, Error> {
    let record: Record<'_> = json.object()?;
    let unit = match format {
        Format::QwenBailian => Unit::Seconds,
        _ => Unit::Milliseconds,
    };
    let time = |key, text| time_ns(key, text, unit).map_err(|error| json.at(text, error));
    let count = |key, found| {
        let text = json.required(format, key, found)?;
        tokens(key, text).map_err(|error| json.at(text, error))
    };
    let turn = (format == Format::Mooncake).then_some((record.session_id, record.delay));
    let (session, delay) = turn.unwrap_or_default();
    let (arrival_ns, delay_ns) = match (record.timestamp, delay) {
        (None, Some(delay)) if session.is_some() => (0, Some(time("delay", delay.get())?)),
        (None, Some(delay)) => {
            return Err(json.at(
                delay.get(),
                contents("delay: expected a session_id beside it, found none; add one, or a timestamp"),
            ));
        }
        (timestamp, _) => {
            let timestamp = json.required(format, "timestamp", timestamp)?;
            (time("timestamp", timestamp)?, None)
        }
    };
    let request =
        Request::new(count("input_length", record.input_length)?, count("output_length", record.output_length)?);
    let request = request.at_ns(arrival_ns);
    let block_ids = match record.hash_ids {
        Some(ids) => block_ids(json, ids.get(), (format, request.prompt_tokens))?,
        None => Vec::new(),
    };
    let session = session.map(|id| text_id(Kind::Session, id.get().as_bytes()));
    if block_ids.is_empty() && session.is_none() {
        return Ok(request.into());
    }
    Ok(Row { request, extra: Some(Box::new(Extra { block_ids, session, delay_ns })) })
}

/// Reads the ids of the blocks of a prompt.
fn block_ids<'t>(json: &Json<'t>, list: &'t str, (format, prompt_tokens): (Format, u32)) -> Result<Vec<u64>, Error> {
    let ids = json.list("hash_ids", list, |key, text| {
        let id = text.parse::<u64>();
        id.map_err(|_| value(key, "a whole number, 0 or more", text))
    })?;
    let tokens = Blocks::tokens_per_id(format);
    let max = prompt_tokens.div_ceil(tokens);
    if ids.len() > max as usize {
        let expected = format!("at most {max} of {tokens} tokens each (input_length {prompt_tokens})");
        return Err(json.at(list, value("hash_ids", expected, &ids.len().to_string())));
    }
    Ok(ids)
}
