//! The per-request report of inference-perf (<https://github.com/kubernetes-sigs/inference-perf>).

use rooflut::sim::Request;
use rooflut_error::Error;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::cell::{time_ns, tokens};
use crate::error::contents;
use crate::format::Format;
use crate::input::Input;
use crate::json::{Json, Records};
use crate::left_out::LeftOut;
use crate::rows::{Notes, Row, Rows};
use crate::unit::Unit;

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

/// The requests of such a report.
pub(crate) struct Report(Records);

impl Report {
    pub(crate) fn open(input: &Input) -> Result<Report, Error> {
        Records::open(input).map(Report)
    }
}

impl Rows for Report {
    fn next(&mut self, notes: &mut Notes) -> Result<Option<Row>, Error> {
        while let Some(json) = self.0.next()? {
            let record: Record<'_> = json.object()?;
            if record.is_summary() {
                return Err(contents(
                    "expected one object per request, found a summary; use per_request_lifecycle_metrics.json, which \
                     inference-perf writes with per_request: true",
                ));
            }
            if record.error.is_none() {
                return Ok(Some(request(&json, &record)?.into()));
            }
            notes.left_out.count(LeftOut::Error);
        }
        Ok(None)
    }
}

fn request<'t>(json: &Json<'t>, record: &Record<'t>) -> Result<Request, Error> {
    let required = |key, found| json.required(Format::InferencePerf, key, found);
    let start_time = required("start_time", record.start_time)?;
    let count = |key, found| {
        let text = required(key, found)?;
        tokens(key, text).map_err(|error| json.at(text, error))
    };
    let arrival_ns = time_ns("start_time", start_time, Unit::Seconds).map_err(|error| json.at(start_time, error))?;
    Ok(Request::new(
        count("info.input_tokens", record.input_tokens())?,
        count("info.output_tokens", record.output_tokens())?,
    )
    .at_ns(arrival_ns))
}
