//! Kernels that tables answer for.

use rooflut::ResolveError;
use rooflut::hardware::{
    AllReduceShape, AttentionShape, DeltaShape, GatherShape, GemmShape, MlaShape, MoeShape,
    WindowShape,
};
use rooflut::op::{
    AllReduce, DecodeAttention, DeltaDecode, DeltaPrefill, Estimate, Gather, Gemm, MlaDecode,
    MlaPrefill, Moe, PrefillAttention, WindowDecode, WindowPrefill,
};
use rooflut::table::TableSet;
use serde::Deserialize;

use crate::error::Failure;

/// A kernel and its shape, named as in table sets.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kernel {
    Gemm(GemmShape),
    Prefill(AttentionShape),
    Decode(AttentionShape),
    PrefillWindow(WindowShape),
    DecodeWindow(WindowShape),
    Moe(MoeShape),
    #[serde(rename = "allreduce")]
    AllReduce(AllReduceShape),
    #[serde(rename = "allgather")]
    AllGather(GatherShape),
    #[serde(rename = "reducescatter")]
    ReduceScatter(GatherShape),
    MlaPrefill(MlaShape),
    MlaDecode(MlaShape),
    DeltaPrefill(DeltaShape),
    DeltaDecode(DeltaShape),
}

/// A kernel that was found in a table.
pub(crate) enum Lookup {
    Gemm(Gemm),
    Prefill(PrefillAttention),
    Decode(DecodeAttention),
    PrefillWindow(WindowPrefill),
    DecodeWindow(WindowDecode),
    Moe(Moe),
    AllReduce(AllReduce),
    Gather(Gather),
    MlaPrefill(MlaPrefill),
    MlaDecode(MlaDecode),
    DeltaPrefill(DeltaPrefill),
    DeltaDecode(DeltaDecode),
}

impl Kernel {
    pub(crate) fn resolve(self, set: &TableSet) -> Result<Lookup, ResolveError> {
        Ok(match self {
            Kernel::Gemm(shape) => Lookup::Gemm(Gemm::resolve(set, shape)?),
            Kernel::Prefill(shape) => Lookup::Prefill(PrefillAttention::resolve(set, shape)?),
            Kernel::Decode(shape) => Lookup::Decode(DecodeAttention::resolve(set, shape)?),
            Kernel::PrefillWindow(shape) => {
                Lookup::PrefillWindow(WindowPrefill::resolve(set, shape)?)
            }
            Kernel::DecodeWindow(shape) => Lookup::DecodeWindow(WindowDecode::resolve(set, shape)?),
            Kernel::Moe(shape) => Lookup::Moe(Moe::resolve(set, shape)?),
            Kernel::AllReduce(shape) => Lookup::AllReduce(AllReduce::resolve(set, shape)?),
            Kernel::AllGather(shape) => Lookup::Gather(Gather::all_gather(set, shape)?),
            Kernel::ReduceScatter(shape) => Lookup::Gather(Gather::reduce_scatter(set, shape)?),
            Kernel::MlaPrefill(shape) => Lookup::MlaPrefill(MlaPrefill::resolve(set, shape)?),
            Kernel::MlaDecode(shape) => Lookup::MlaDecode(MlaDecode::resolve(set, shape)?),
            Kernel::DeltaPrefill(shape) => Lookup::DeltaPrefill(DeltaPrefill::resolve(set, shape)?),
            Kernel::DeltaDecode(shape) => Lookup::DeltaDecode(DeltaDecode::resolve(set, shape)?),
        })
    }
}

impl Lookup {
    /// Returns the estimate for a batch and a size, as `rooflut_lookup_at` describes them.
    #[inline]
    pub(crate) fn at(&self, batch: u32, size: u64) -> Result<Estimate, Failure> {
        Ok(match self {
            Lookup::Gemm(kernel) => kernel.at(alone(batch, size)?),
            Lookup::Moe(kernel) => kernel.at(alone(batch, size)?),
            Lookup::AllReduce(kernel) => kernel.at(without_batch(batch, size)?),
            Lookup::Gather(kernel) => kernel.at(without_batch(batch, size)?),
            Lookup::Prefill(kernel) => kernel.at(positive(batch)?, length(size)?),
            Lookup::PrefillWindow(kernel) => kernel.at(positive(batch)?, length(size)?),
            Lookup::DecodeWindow(kernel) => kernel.at(positive(batch)?, length(size)?),
            Lookup::MlaPrefill(kernel) => kernel.at(positive(batch)?, length(size)?),
            Lookup::DeltaPrefill(kernel) => kernel.at(positive(batch)?, length(size)?),
            Lookup::Decode(kernel) => kernel.at(positive(batch)?, kv_tokens(batch, size)?),
            Lookup::MlaDecode(kernel) => kernel.at(positive(batch)?, kv_tokens(batch, size)?),
            Lookup::DeltaDecode(kernel) => match size {
                0 => kernel.at(positive(batch)?),
                found => return Err(Failure::value("size", "0 for this kernel", found)),
            },
        })
    }
}

#[inline]
fn positive(batch: u32) -> Result<u32, Failure> {
    match batch {
        0 => Err(Failure::value("batch", "at least 1 request", 0)),
        batch => Ok(batch),
    }
}

#[inline]
fn length(size: u64) -> Result<u32, Failure> {
    match u32::try_from(size) {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(Failure::value("size", "1 to 4294967295", size)),
    }
}

#[inline]
fn kv_tokens(batch: u32, size: u64) -> Result<u64, Failure> {
    match size >= u64::from(batch) {
        true => Ok(size),
        false => Err(Failure::value(
            "size",
            format_args!("at least {batch} KV tokens, one for each request"),
            size,
        )),
    }
}

#[inline]
fn without_batch(batch: u32, size: u64) -> Result<u64, Failure> {
    match (batch, size) {
        (0, 1..) => Ok(size),
        (0, _) => Err(Failure::value("size", "at least 1", 0)),
        _ => Err(Failure::value("batch", "0 for this kernel", batch)),
    }
}

#[inline]
fn alone(batch: u32, size: u64) -> Result<u32, Failure> {
    without_batch(batch, size).and_then(length)
}
