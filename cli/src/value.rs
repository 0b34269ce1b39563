//! Parsers of argument values.

use rooflut::engine::{self, EngineStack};
use rooflut::hardware::Dtype;
use rooflut::step::{Chunk, DecodeGroup};
use rooflut_codegen::OperationKind;
use rooflut_nearest::{hint, nearest};
use rooflut_traces::{Condition, Format};

/// The formats of KV caches.
const KV_DTYPES: [Dtype; 2] = [Dtype::Bf16, Dtype::Fp8];

/// Parses a format of the KV cache.
pub(crate) fn kv_dtype(text: &str) -> Result<Dtype, String> {
    let found = text.parse().ok().filter(|dtype| KV_DTYPES.contains(dtype));
    found.ok_or_else(|| format!("expected one of {}", KV_DTYPES.map(Dtype::name).join(", ")))
}

/// Parses the name of an engine stack.
pub(crate) fn engine(text: &str) -> Result<&'static EngineStack, String> {
    engine::find(text).ok_or_else(|| {
        let names = engine::stacks::ALL.into_iter().map(|stack| stack.name);
        let hint = hint(&nearest(text, names));
        format!("unknown engine{hint}; `rooflut engines` lists all")
    })
}

/// Parses the name of an operation.
pub(crate) fn operation(text: &str) -> Result<OperationKind, String> {
    OperationKind::from_name(text).ok_or_else(|| {
        format!(
            "expected one of {}",
            OperationKind::ALL.map(OperationKind::name).join(", ")
        )
    })
}

/// Parses requests per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("expected a positive, finite number of requests per second".to_owned()),
    }
}

/// Parses a share of a GPU's memory, above 0.
pub(crate) fn utilization(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number above 0 and at most 1".to_owned()),
    }
}

/// Parses a share, 0 and 1 included.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

/// Parses a bandwidth in GB/s.
pub(crate) fn bandwidth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(bandwidth) if bandwidth > 0.0 && bandwidth.is_finite() => Ok(bandwidth),
        _ => Err("expected a positive number of GB/s".to_owned()),
    }
}

const HOUR_US: f64 = 3.6e9;

/// Parses a latency in microseconds.
pub(crate) fn latency_us(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(latency) if (0.0..=HOUR_US).contains(&latency) => Ok(latency),
        _ => Err("expected microseconds, at least 0 and at most an hour".to_owned()),
    }
}

/// Parses the stages of pipeline parallelism.
pub(crate) fn pipeline(text: &str) -> Result<u32, String> {
    only_one(
        text,
        "pipeline parallelism is not modelled; --tp divides a model over the GPUs of one node",
    )
}

/// Parses the ranks of data parallelism.
pub(crate) fn data_parallel(text: &str) -> Result<u32, String> {
    only_one(
        text,
        "attention on each rank with experts shared by all ranks is not modelled; replicas of a whole model \
         are `rooflut run --replicas`",
    )
}

fn only_one(text: &str, why_not_more: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(1) => Ok(1),
        Ok(count) if count > 1 => Err(why_not_more.to_owned()),
        _ => Err("expected 1".to_owned()),
    }
}

/// Parses `NEW[@CONTEXT]`, a prompt chunk whose last token is sampled.
pub(crate) fn chunk(text: &str) -> Result<Chunk, String> {
    let (new, context) = text.split_once('@').unwrap_or((text, "0"));
    let lengths = positive(new).zip(context.parse::<u32>().ok());
    lengths
        .and_then(|(new, context)| Chunk::last(new, context.checked_add(new)?).ok())
        .ok_or_else(|| {
            "expected NEW[@CONTEXT], new tokens (at least 1) and tokens already cached, as in 512 \
             or 512@2048"
                .to_owned()
        })
}

/// Parses `REQUESTSxKV`: requests of one KV length.
pub(crate) fn decode_group(text: &str) -> Result<DecodeGroup, String> {
    text.split_once(['x', 'X'])
        .and_then(|(requests, kv_len)| {
            DecodeGroup::uniform(requests.parse().ok()?, kv_len.parse().ok()?).ok()
        })
        .ok_or_else(|| {
            "expected REQUESTSxKV, both at least 1: requests and the KV length of each with its new \
             token, as in 64x1000"
                .to_owned()
        })
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&value| value > 0)
}

/// Parses `COLUMN=VALUE`, a condition on the rows of a trace.
pub(crate) fn condition(text: &str) -> Result<Condition, String> {
    match text.split_once('=') {
        Some((column, value)) if !column.is_empty() => Ok(Condition {
            column: column.to_owned(),
            value: value.to_owned(),
        }),
        _ => Err("expected COLUMN=VALUE, as in experiment=first".to_owned()),
    }
}

/// Parses the name of a trace format.
pub(crate) fn trace_format(text: &str) -> Result<Format, String> {
    let names = Format::ALL.map(Format::name).join(", ");
    Format::from_name(text).ok_or_else(|| format!("expected one of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_groups_are_read_as_documented() {
        assert_eq!(chunk("512").ok(), Chunk::prompt(512).ok());
        assert_eq!(chunk("64@1000").ok(), Chunk::last(64, 1064).ok());
        assert_eq!(decode_group("64x1000").unwrap().kv_tokens(), 64_000);
        for wrong in ["", "0", "-1", "5@", "@5", "5@-1", "1.5", "1@4294967295"] {
            assert!(chunk(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "64", "0x5", "5x0", "x", "5x-1", "5x5x5"] {
            assert!(decode_group(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kv_cache_is_bf16_or_fp8() {
        assert_eq!(kv_dtype("fp8"), Ok(Dtype::Fp8));
        for wrong in ["int8", "fp8_block", "nvfp4", ""] {
            assert_eq!(kv_dtype(wrong), Err("expected one of bf16, fp8".to_owned()));
        }
    }

    #[test]
    fn engines_are_found_by_name_and_similar_names_suggested() {
        assert_eq!(engine("vllm-0.11.0").unwrap().name, "vllm-0.11.0");
        let message = engine("vllm-0.15").unwrap_err();
        assert!(
            message.starts_with("unknown engine (nearest: vllm-0.15.1"),
            "{message}"
        );
        assert_eq!(
            engine("zzz").unwrap_err(),
            "unknown engine; `rooflut engines` lists all"
        );
    }

    #[test]
    fn rates_that_are_not_positive_numbers_are_rejected() {
        for wrong in ["0", "-1", "NaN", "inf", "fast", ""] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        assert!(rate("0.5").is_ok());
    }
}
