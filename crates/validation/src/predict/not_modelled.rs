//! Messages on deployments that are not modelled, for servers that have run; the library's own messages
//! advise on a command line. They leave out the numbers of single requests, so that similar rows are
//! counted together.

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};

use rooflut::ResolveError;
use rooflut::model::MemoryError;
use rooflut::sim::{Rejection, SimError};
use rooflut::step::ModelError;

const GIB: f64 = (1_u64 << 30) as f64;

pub(super) fn step(f: &mut Formatter<'_>, error: &ModelError) -> Result {
    match error {
        ModelError::Spec(error) => error.fmt(f),
        ModelError::Kernel { part, error } => {
            write!(f, "{part}: ")?;
            kernel(f, error)
        }
        other => other.fmt(f),
    }
}

fn kernel(f: &mut Formatter<'_>, error: &ResolveError) -> Result {
    match error {
        ResolveError::NoTable { set, operation } => {
            write!(f, "the tables of {} have no {operation}", set.name())
        }
        ResolveError::NoGemmDtype { set, shape } => {
            let entries = set.gemm().into_iter().flat_map(|table| table.entries());
            let known: BTreeSet<&str> = entries.map(|entry| entry.shape.dtype.name()).collect();
            let known: Vec<&str> = known.into_iter().collect();
            write!(
                f,
                "the tables of {} have no gemm of {}, only of {}",
                set.name(),
                shape.dtype,
                known.join(", ")
            )
        }
        ResolveError::NoAttentionDtype {
            set,
            operation,
            dtype,
            kv_dtype,
        } => write!(
            f,
            "the tables of {} have no {operation} of {dtype} with {kv_dtype} KV",
            set.name()
        ),
        ResolveError::TooManyRanks { set, ranks, most } => write!(
            f,
            "{ranks} GPUs are not modelled, the tables of {} end at {most}",
            set.name()
        ),
        ResolveError::NoPeak { set, dtype } => {
            write!(
                f,
                "the data sheet of {} has no peak for {dtype}",
                set.gpu().name.as_str()
            )
        }
        ResolveError::UnevenHeads {
            q_heads,
            kv_heads,
            tp,
            ..
        } => write!(
            f,
            "{q_heads} query heads and {kv_heads} KV heads on {tp} GPUs are not modelled"
        ),
        other => other.fmt(f),
    }
}

pub(super) fn memory(f: &mut Formatter<'_>, error: &MemoryError) -> Result {
    match error {
        MemoryError::DoesNotFit {
            needed_bytes,
            usable_bytes,
        } => write!(
            f,
            "the model does not fit: weights, activations and one KV block need {:.1} GiB per GPU, of \
             which {:.1} GiB are usable; offloading is not modelled",
            needed_bytes / GIB,
            usable_bytes / GIB
        ),
        MemoryError::Spec(error) => error.fmt(f),
        other => other.fmt(f),
    }
}

pub(super) fn server(f: &mut Formatter<'_>, error: &SimError) -> Result {
    match error {
        SimError::BudgetBelowSequences {
            max_num_batched_tokens,
            max_num_seqs,
            ..
        } => write!(
            f,
            "max_num_batched_tokens ({max_num_batched_tokens}) below max_num_seqs ({max_num_seqs}) is \
             not modelled"
        ),
        other => other.fmt(f),
    }
}

pub(super) fn request(f: &mut Formatter<'_>, rejection: &Rejection) -> Result {
    match rejection {
        Rejection::TooLong { max_model_len, .. } => write!(
            f,
            "prompt and output are longer than max_model_len ({max_model_len})"
        ),
        Rejection::TooManyBlocks { kv_blocks, .. } => {
            write!(f, "a request needs more than the {kv_blocks} KV blocks")
        }
        Rejection::TooLate { .. } => {
            write!(f, "a request arrives later than the clock can tell")
        }
        other => other.fmt(f),
    }
}
