//! Reads a file of any kind.

use std::io::Read;

use rooflut_error::Error;
use rooflut_traces::{Input, Measurement};

use crate::contents::Contents;
use crate::json::{self, contents};
use crate::{aiperf, guidellm, inference_perf, inferencex, log, metrics, sglang, steps, vllm};

/// Reads a file of any kind.
pub(crate) fn read(bytes: &[u8]) -> Result<(Measurement, Contents), Error> {
    let mut text = Vec::new();
    let read = Input::from(bytes).reader().and_then(|mut reader| reader.read_to_end(&mut text));
    read.map_err(|error| contents(format!("cannot decompress: {error}; fetch the file again")))?;
    let kind = Measurement::detect(&text).map_err(|error| {
        // The recogniser is that of traces.
        error.map(|text| text.replacen("expected a trace,", "expected what was measured,", 1))
    })?;
    let kind = kind.ok_or_else(|| {
        contents(
            "expected the result of vllm bench serve, SGLang's bench_serving, GuideLLM, AIPerf, GenAI-Perf, \
             inference-perf or InferenceX, Prometheus metrics or the startup log of vLLM, or a CSV of steps, found another file; leave \
             it out",
        )
    })?;
    let found = match kind {
        Measurement::Metrics => metrics::read(&lines(&text)?)?,
        Measurement::VllmLog => log::read(&lines(&text)?)?,
        Measurement::Steps => steps::read(&text)?,
        of_json => {
            let values = json::values(&text)?;
            match of_json {
                Measurement::VllmBench => vllm::read(&values)?,
                Measurement::SglangBench => sglang::read(&values)?,
                Measurement::GuideLlm => guidellm::read(&values)?,
                Measurement::AiPerf | Measurement::GenAiPerf => aiperf::read(kind, &values)?,
                Measurement::AiPerfRequests => aiperf::read_requests(&values)?,
                Measurement::InferenceX => inferencex::read(&values)?,
                Measurement::InferencePerf => inference_perf::read(&values)?,
                Measurement::InferencePerfRequests => inference_perf::read_requests(&values)?,
                other => {
                    return Err(contents(format!("found a {other}, which this version does not read; leave it out")));
                }
            }
        }
    };
    Ok((kind, found))
}

fn lines(text: &[u8]) -> Result<String, Error> {
    String::from_utf8(text.to_vec()).map_err(|_| rooflut_error::not_text())
}
