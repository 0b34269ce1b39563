//! Reads a file of any kind.

use std::borrow::Cow;
use std::io::ErrorKind;

use rooflut_error::{Error, Whole};
use rooflut_traces::{Input, Measurement};

use crate::contents::Contents;
use crate::json::{self, contents};
use crate::requests::Room;
use crate::{aiperf, guidellm, inference_perf, inferencex, log, metrics, sglang, steps, vllm};

/// Maximum size of a compressed file, MiB: it is in memory beside its text.
const MAX_COMPRESSED: usize = 64;

/// Returns the bytes of a file of this kind, of which few may decompress to many.
fn decompressed(bytes: &[u8], kind: Whole) -> Result<Cow<'_, [u8]>, Error> {
    if !Input::is_compressed(bytes) {
        return Ok(bytes.into());
    }
    if bytes.len() > MAX_COMPRESSED << 20 {
        return Err(contents(format!(
            "expected at most {MAX_COMPRESSED} MiB of compressed data, found {} MiB; decompress the file",
            bytes.len().div_ceil(1 << 20)
        )));
    }
    let read = Input::from(bytes).reader().and_then(|reader| kind.read(reader));
    read.map(Cow::from).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => contents(error.to_string()),
        _ => contents(format!("cannot decompress: {error}; fetch the file again")),
    })
}

/// Reads a file of any kind.
pub(crate) fn read(bytes: &[u8]) -> Result<(Measurement, Contents), Error> {
    let text = decompressed(bytes, Whole::Measured)?;
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
        Measurement::Metrics => metrics::read(lines(&text)?)?,
        Measurement::VllmLog => log::read(lines(&text)?)?,
        Measurement::Steps => steps::read(&text)?,
        of_json => {
            let (values, mut room) = (json::values(&text)?, Room::default());
            match of_json {
                Measurement::VllmBench => vllm::read(values, &mut room)?,
                Measurement::SglangBench => sglang::read(values, &mut room)?,
                Measurement::GuideLlm => guidellm::read(values, &mut room)?,
                Measurement::AiPerf | Measurement::GenAiPerf => aiperf::read(kind, values)?,
                Measurement::AiPerfRequests => aiperf::read_requests(values, &mut room)?,
                Measurement::InferenceX => inferencex::read(values, &mut room)?,
                Measurement::InferencePerf => inference_perf::read(values)?,
                Measurement::InferencePerfRequests => inference_perf::read_requests(values, &mut room)?,
                other => {
                    return Err(contents(format!("found a {other}, which this version does not read; leave it out")));
                }
            }
        }
    };
    Ok((kind, found))
}

fn lines(text: &[u8]) -> Result<&str, Error> {
    str::from_utf8(text).map_err(|_| rooflut_error::not_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_that_decompress_to_many_are_refused() {
        // A frame of zstd whose blocks repeat a byte 128 KiB times.
        let frame = |blocks: u32| {
            let block = |number| {
                let header = u32::from(number == blocks) | 1 << 1 | 1 << (17 + 3);
                [&header.to_le_bytes()[..3], b" ".as_slice()].concat()
            };
            let head = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
            [head].into_iter().chain((1..=blocks).map(block)).flatten().collect::<Vec<u8>>()
        };
        let frame_of_4_mib = frame(32);
        let text = decompressed(&frame_of_4_mib, Whole::Scenario).unwrap();
        assert_eq!(text.len(), 4 << 20);
        let refused = decompressed(&frame(33), Whole::Scenario).unwrap_err();
        assert_eq!(refused.to_string(), "expected at most 4 MiB, found more; is it a scenario?");
    }
}
