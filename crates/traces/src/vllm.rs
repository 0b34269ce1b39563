//! The result of `vllm bench serve --save-result --save-detailed`, which SGLang's `bench_serving
//! --output-details` writes, too.

use std::{mem, vec};

use rooflut::sim::Request;
use rooflut::sim::load::Arrivals;
use rooflut::units::Seconds;
use rooflut_error::{Error, Whole};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::arrival_source::ArrivalSource;
use crate::cell::{time_ns, tokens};
use crate::error::{Shown, contents, empty, failure, value};
use crate::format::Format;
use crate::input::Input;
use crate::json::{Json, Records};
use crate::left_out::LeftOut;
use crate::quoted::quote_infinities;
use crate::rows::{Notes, Row, Rows};
use crate::unit::{LATEST_NS, Unit};

#[derive(Deserialize)]
struct Record<'t> {
    #[serde(borrow)]
    input_lens: Option<&'t RawValue>,
    #[serde(borrow)]
    output_lens: Option<&'t RawValue>,
    #[serde(borrow)]
    start_times: Option<&'t RawValue>,
    #[serde(borrow)]
    request_rate: Option<&'t RawValue>,
    #[serde(borrow)]
    burstiness: Option<&'t RawValue>,
    #[serde(borrow)]
    max_concurrency: Option<&'t RawValue>,
    ramp_up_strategy: Option<IgnoredAny>,
    /// A key that results without details have, too.
    request_throughput: Option<IgnoredAny>,
}

/// The requests of such a result.
pub(crate) struct Results {
    requests: vec::IntoIter<Request>,
    /// Requests without output, until they are reported.
    failed: u64,
    pub(crate) arrivals: ArrivalSource,
}

impl Results {
    /// Reads the one result of a file.
    pub(crate) fn open(input: &Input) -> Result<Results, Error> {
        // Few bytes may decompress to many.
        let mut text = input.reader().and_then(|file| Whole::Measured.read(file)).map_err(failure)?;
        quote_infinities(&mut text);
        let mut records = Records::in_memory(input, text);
        let results = match records.next()? {
            Some(json) => result(&json)?,
            None => return Err(empty(Format::Vllm)),
        };
        match records.next()? {
            Some(json) => {
                Err(json.whole(contents("expected one result, found several (--append-result); split the file")))
            }
            None => Ok(results),
        }
    }
}

impl Rows for Results {
    fn next(&mut self, notes: &mut Notes) -> Result<Option<Row>, Error> {
        for _ in 0..mem::take(&mut self.failed) {
            notes.left_out.count(LeftOut::NoOutput);
        }
        Ok(self.requests.next().map(Row::from))
    }
}

fn result<'t>(json: &Json<'t>) -> Result<Results, Error> {
    let record: Record<'t> = json.object()?;
    if record.input_lens.is_none() && record.request_throughput.is_some() {
        return Err(contents(
            "expected input_lens and output_lens, found a result without details; run vllm bench serve with \
             --save-result --save-detailed, or SGLang's bench_serving with --output-details",
        ));
    }
    let required = |key, found| json.required(Format::Vllm, key, found);
    let input_lens = required("input_lens", record.input_lens)?;
    let output_lens = required("output_lens", record.output_lens)?;
    let prompts = json.list("input_lens", input_lens, |key, text| tokens(key, text))?;
    let outputs = json.list("output_lens", output_lens, |key, text| tokens(key, text))?;
    check_length(json, ("output_lens", output_lens), outputs.len(), &prompts)?;
    let lengths = prompts.iter().zip(outputs);
    let requests = lengths.map(|(prompt, output)| Request::new(*prompt, output));
    let mut requests: Vec<Request> = requests.collect();
    let arrivals = match record.start_times.map(RawValue::get) {
        Some(list) => {
            let times = json.list("start_times", list, |key, text| time_ns(key, text, Unit::Seconds))?;
            check_length(json, ("start_times", list), times.len(), &prompts)?;
            for (request, arrival_ns) in requests.iter_mut().zip(times) {
                request.arrival_ns = arrival_ns;
            }
            ArrivalSource::Recorded
        }
        None => {
            let source = record.arrivals().map_err(|error| json.whole(error))?;
            draw(source, &mut requests).map_err(|error| json.whole(error))?;
            source
        }
    };
    let all = requests.len();
    requests.retain(|request| request.output_tokens > 0);
    Ok(Results { failed: (all - requests.len()) as u64, requests: requests.into_iter(), arrivals })
}

/// Checks that a list has an element for each prompt.
fn check_length(
    json: &Json<'_>,
    (list, text): (&'static str, &str),
    found: usize,
    prompts: &[u32],
) -> Result<(), Error> {
    let expected = prompts.len();
    let error =
        || contents(format!("{list}: expected {expected} elements as in input_lens, found {found}; correct the file"));
    if found == expected { Ok(()) } else { Err(json.at(text, error())) }
}

impl Record<'_> {
    /// Returns how the requests of a result without start times arrived.
    fn arrivals(&self) -> Result<ArrivalSource, Error> {
        let no_arrivals = |found: &str| {
            contents(format!(
                "expected start_times, which newer versions of vllm bench serve save, or arrivals that follow \
                 request_rate, found {}; run vLLM's or SGLang's benchmark with --request-rate alone",
                Shown(found)
            ))
        };
        if self.ramp_up_strategy.is_some() {
            return Err(no_arrivals("a ramp-up strategy"));
        }
        let Some(rate) = self.request_rate.map(RawValue::get) else {
            return Err(no_arrivals("neither"));
        };
        if rate == "\"inf\"" {
            return match self.max_concurrency.map(RawValue::get) {
                None => Ok(ArrivalSource::AtOnce),
                Some(limit) => Err(no_arrivals(&format!("request_rate \"inf\" with max_concurrency {limit}"))),
            };
        }
        let burstiness = self.burstiness.map_or("1.0", RawValue::get);
        if burstiness.parse() != Ok(1.0_f64) {
            return Err(no_arrivals(&format!("burstiness {burstiness}")));
        }
        match rate.parse::<f64>() {
            Ok(requests_per_s) if requests_per_s > 0.0 => Ok(ArrivalSource::Poisson { requests_per_s }),
            _ => Err(value("request_rate", "requests per second, or \"inf\"", rate)),
        }
    }
}

/// Draws arrivals that were not recorded.
fn draw(source: ArrivalSource, requests: &mut [Request]) -> Result<(), Error> {
    let ArrivalSource::Poisson { requests_per_s } = source else {
        return Ok(());
    };
    // vLLM stretches its gaps so that the last request is sent at requests / rate. The last arrival at
    // 1 request per second gives the factor.
    let span_s = requests.len() as f64 / requests_per_s;
    let too_slow = || {
        let expected = format!("a rate at which requests arrive within {} seconds", LATEST_NS / 1_000_000_000);
        value("request_rate", expected, &requests_per_s.to_string())
    };
    let series = || Arrivals::try_poisson(1.0, 0).map_err(|_| too_slow());
    let last = series()?.take(requests.len()).last().unwrap_or(1).max(1);
    let stretch = span_s / Seconds::from_us(last as f64 / 1e3).0;
    for (request, arrival_ns) in requests.iter_mut().zip(series()?) {
        request.arrival_ns = Seconds(arrival_ns as f64 * 1e-9 * stretch).to_nanos();
        if request.arrival_ns > LATEST_NS {
            return Err(too_slow());
        }
    }
    Ok(())
}
