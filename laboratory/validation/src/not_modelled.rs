//! Messages on deployments that are not modelled, for servers that have run; the library's own messages
//! advise on a command line. They leave out the numbers of single requests, so that similar rows are
//! counted together.

use std::collections::BTreeSet;

use rooflut::sim::Rejection;
use rooflut::{Error, ErrorKind, ResolveError};
use rooflut_roofline::Subject;

const GIB: f64 = (1_u64 << 30) as f64;

pub(super) fn deployment(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Kernel { part, error } => format!("{part}: {}", kernel(error)),
        ErrorKind::DoesNotFit { needed_bytes, usable_bytes } => format!(
            "the model does not fit: weights, activations and one KV block need {:.1} GiB per GPU, of \
             which {:.1} GiB are usable; offloading is not modelled",
            needed_bytes / GIB,
            usable_bytes / GIB
        ),
        ErrorKind::Invalid(invalid) => invalid.of(Subject::Itself).to_string(),
        _ => error.to_string(),
    }
}

fn kernel(error: &ResolveError) -> String {
    match error {
        ResolveError::NoTable { set, operation } => {
            format!("the tables of {} have no {operation}", set.name())
        }
        ResolveError::NoGemmDtype { set, shape } => {
            let entries = set.gemm().into_iter().flat_map(|table| table.entries());
            let known: BTreeSet<&str> = entries.map(|entry| entry.shape.dtype.name()).collect();
            let known: Vec<&str> = known.into_iter().collect();
            format!("the tables of {} have no gemm of {}, only of {}", set.name(), shape.dtype, known.join(", "))
        }
        ResolveError::NoAttentionDtype { set, operation, dtype, kv_dtype } => {
            format!("the tables of {} have no {operation} of {dtype} with {kv_dtype} KV", set.name())
        }
        ResolveError::TooManyRanks { set, ranks, most, .. } => {
            format!("{ranks} GPUs are not modelled, the tables of {} end at {most}", set.name())
        }
        ResolveError::NoPeak { set, dtype } => {
            let gpu = set.gpu().name.as_str();
            format!("the data sheet of {gpu} has no peak for {dtype}")
        }
        ResolveError::UnevenHeads { q_heads, kv_heads, tp, .. } => {
            format!("{q_heads} query heads and {kv_heads} KV heads on {tp} GPUs are not modelled")
        }
        other => other.to_string(),
    }
}

pub(super) fn request(rejection: &Rejection) -> String {
    match rejection {
        Rejection::TooLong { max_model_len, .. } => {
            format!("prompt and output are longer than max_model_len ({max_model_len})")
        }
        Rejection::TooManyBlocks { kv_blocks, .. } => {
            format!("a request needs more than the {kv_blocks} KV blocks")
        }
        Rejection::TooLate { .. } => "a request arrives later than the clock can tell".to_owned(),
        other => other.to_string(),
    }
}
