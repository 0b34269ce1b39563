//! Mooncake traces (<https://github.com/kvcache-ai/Mooncake>, `FAST25-release/traces`).

use rooflut::sim::{Content, Request};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::builder::TraceBuilder;
use crate::cell::{Unit, time_ns, tokens};
use crate::error::{Key, Problem, TraceError};
use crate::format::Format;
use crate::json::Json;
use crate::trace::BLOCK_TOKENS;

/// Bytes of the shortest line of a request.
const SHORTEST_LINE: usize = r#"{"timestamp":0,"input_length":1,"output_length":1}"#.len();

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
}

/// Reads the requests of all records.
pub(crate) fn read(json: &Json<'_>) -> Result<TraceBuilder, TraceError> {
    let mut builder = TraceBuilder::for_lines(json.text().as_bytes(), SHORTEST_LINE);
    json.records(|text| {
        let record: Record<'_> = json.object(text)?;
        let required = |key, found| json.required((Format::Mooncake, text), key, found);
        let timestamp = required("timestamp", record.timestamp)?;
        let input_length = required("input_length", record.input_length)?;
        let output_length = required("output_length", record.output_length)?;
        let arrival_ns = time_ns("timestamp", timestamp, Unit::Milliseconds)
            .map_err(|problem| json.at(timestamp, problem))?;
        let prompt_tokens = tokens("input_length", input_length)
            .map_err(|problem| json.at(input_length, problem))?;
        let output_tokens = tokens("output_length", output_length)
            .map_err(|problem| json.at(output_length, problem))?;
        let content = match record.hash_ids {
            Some(ids) => trace_blocks(json, ids.get(), prompt_tokens, &mut builder.block_ids)?,
            None => Content::Unique,
        };
        builder.requests.push(
            Request::new(prompt_tokens, output_tokens)
                .at_ns(arrival_ns)
                .with_content(content),
        );
        Ok(())
    })?;
    Ok(builder)
}

/// Appends the ids of the blocks of a prompt to those of `all` prompts.
fn trace_blocks<'t>(
    json: &Json<'t>,
    ids: &'t str,
    prompt_tokens: u32,
    all: &mut Vec<u64>,
) -> Result<Content, TraceError> {
    let first = all.len();
    json.elements(ids, |index, text| {
        let id = text.parse::<u64>().map_err(|_| {
            let key = Key::element("hash_ids", index);
            json.at(text, Problem::value(key, "a whole number, 0 or more", text))
        })?;
        all.push(id);
        Ok(())
    })?;
    let count = all.len() - first;
    let max = prompt_tokens.div_ceil(BLOCK_TOKENS);
    if count > max as usize {
        let expected =
            format!("at most {max} of {BLOCK_TOKENS} tokens each (input_length {prompt_tokens})");
        let problem = Problem::value("hash_ids", expected, count.to_string());
        return Err(json.at(ids, problem));
    }
    match (u32::try_from(first), u32::try_from(count)) {
        (_, Ok(0)) => Ok(Content::Unique),
        (Ok(first), Ok(count)) => Ok(Content::TraceBlocks { first, count }),
        _ => Err(json.at(ids, Problem::TooManyIds)),
    }
}
