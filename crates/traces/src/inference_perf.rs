//! The per-request report of inference-perf (<https://github.com/kubernetes-sigs/inference-perf>).

use rooflut::sim::Request;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::builder::TraceBuilder;
use crate::cell::{Unit, time_ns, tokens};
use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::json::Json;
use crate::left_out::LeftOut;

/// A request. Versions differ in the keys of the token counts.
#[derive(Deserialize)]
struct Record<'t> {
    #[serde(borrow)]
    start_time: Option<&'t RawValue>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    info: Option<Info<'t>>,
    #[serde(borrow)]
    computed_metrics: Option<Tokens<'t>>,
    /// Keys of a summary.
    load_summary: Option<IgnoredAny>,
    successes: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Info<'t> {
    #[serde(borrow)]
    input_tokens: Option<&'t RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'t RawValue>,
    #[serde(borrow)]
    request_metrics: Option<RequestMetrics<'t>>,
    #[serde(borrow)]
    response_metrics: Option<Tokens<'t>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RequestMetrics<'t> {
    #[serde(borrow)]
    text: Option<Tokens<'t>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Tokens<'t> {
    #[serde(borrow)]
    input_tokens: Option<&'t RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'t RawValue>,
}

impl<'t> Record<'t> {
    fn input_tokens(&self) -> Option<&'t RawValue> {
        let info = self.info.as_ref();
        let text = info.and_then(|info| info.request_metrics.as_ref()?.text.as_ref());
        let computed = self.computed_metrics.as_ref();
        text.and_then(|text| text.input_tokens)
            .or(info.and_then(|info| info.input_tokens))
            .or(computed.and_then(|computed| computed.input_tokens))
    }

    fn output_tokens(&self) -> Option<&'t RawValue> {
        let info = self.info.as_ref();
        let response = info.and_then(|info| info.response_metrics.as_ref());
        let computed = self.computed_metrics.as_ref();
        response
            .and_then(|response| response.output_tokens)
            .or(info.and_then(|info| info.output_tokens))
            .or(computed.and_then(|computed| computed.output_tokens))
    }

    fn is_summary(&self) -> bool {
        self.start_time.is_none() && (self.load_summary.is_some() || self.successes.is_some())
    }
}

/// Reads the requests of all records.
pub(crate) fn read(json: &Json<'_>) -> Result<TraceBuilder, TraceError> {
    let mut builder = TraceBuilder::default();
    json.records(|text| {
        let record: Record<'_> = json.object(text)?;
        if record.is_summary() {
            let format = Format::InferencePerf;
            return Err(Problem::NoDetails { format }.into());
        }
        if record.error.is_some() {
            builder.left_out.count(LeftOut::Error);
            return Ok(());
        }
        builder.requests.push(request(json, text, &record)?);
        Ok(())
    })?;
    Ok(builder)
}

fn request<'t>(json: &Json<'t>, text: &str, record: &Record<'t>) -> Result<Request, TraceError> {
    let required = |key, found| json.required((Format::InferencePerf, text), key, found);
    let start_time = required("start_time", record.start_time)?;
    let count = |key, found| {
        let text = required(key, found)?;
        tokens(key, text).map_err(|problem| json.at(text, problem))
    };
    let arrival_ns = time_ns("start_time", start_time, Unit::Seconds)
        .map_err(|problem| json.at(start_time, problem))?;
    Ok(Request::new(
        count("info.input_tokens", record.input_tokens())?,
        count("info.output_tokens", record.output_tokens())?,
    )
    .at_ns(arrival_ns))
}
