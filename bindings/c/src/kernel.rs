//! Kernels that tables answer for.

use rooflut::ResolveError;
use rooflut::hardware::{
    AllReduceShape, AttentionShape, DeltaShape, GatherShape, GemmShape, MlaShape, MoeShape,
};
use rooflut::op::{
    AllReduce, DecodeAttention, DeltaDecode, DeltaPrefill, Estimate, Gather, Gemm, MlaDecode,
    MlaPrefill, Moe, PrefillAttention,
};
use rooflut::table::TableSet;
use serde::Deserialize;

use crate::error::{Code, Failure};

/// A kernel and its shape.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kernel {
    Gemm(GemmShape),
    Prefill(AttentionShape),
    Decode(AttentionShape),
    Moe(MoeShape),
    AllReduce(AllReduceShape),
    AllGather(GatherShape),
    ReduceScatter(GatherShape),
    MlaPrefill(MlaShape),
    MlaDecode(MlaShape),
    DeltaPrefill(DeltaShape),
    DeltaDecode(DeltaShape),
}

/// A kernel that was found in a table.
pub(crate) enum Resolved {
    Gemm(Gemm),
    Prefill(PrefillAttention),
    Decode(DecodeAttention),
    Moe(Moe),
    AllReduce(AllReduce),
    Gather(Gather),
    MlaPrefill(MlaPrefill),
    MlaDecode(MlaDecode),
    DeltaPrefill(DeltaPrefill),
    DeltaDecode(DeltaDecode),
}

impl Kernel {
    pub(crate) fn resolve(self, set: &TableSet) -> Result<Resolved, ResolveError> {
        Ok(match self {
            Kernel::Gemm(shape) => Resolved::Gemm(Gemm::resolve(set, shape)?),
            Kernel::Prefill(shape) => Resolved::Prefill(PrefillAttention::resolve(set, shape)?),
            Kernel::Decode(shape) => Resolved::Decode(DecodeAttention::resolve(set, shape)?),
            Kernel::Moe(shape) => Resolved::Moe(Moe::resolve(set, shape)?),
            Kernel::AllReduce(shape) => Resolved::AllReduce(AllReduce::resolve(set, shape)?),
            Kernel::AllGather(shape) => Resolved::Gather(Gather::all_gather(set, shape)?),
            Kernel::ReduceScatter(shape) => Resolved::Gather(Gather::reduce_scatter(set, shape)?),
            Kernel::MlaPrefill(shape) => Resolved::MlaPrefill(MlaPrefill::resolve(set, shape)?),
            Kernel::MlaDecode(shape) => Resolved::MlaDecode(MlaDecode::resolve(set, shape)?),
            Kernel::DeltaPrefill(shape) => {
                Resolved::DeltaPrefill(DeltaPrefill::resolve(set, shape)?)
            }
            Kernel::DeltaDecode(shape) => Resolved::DeltaDecode(DeltaDecode::resolve(set, shape)?),
        })
    }
}

impl Resolved {
    /// Returns the estimate for a batch and a size, as `rooflut_lookup_at` describes them.
    #[inline]
    pub(crate) fn at(&self, batch: u32, size: u64) -> Result<Estimate, Failure> {
        Ok(match self {
            Resolved::Gemm(kernel) => kernel.at(alone(batch, size)?),
            Resolved::Moe(kernel) => kernel.at(alone(batch, size)?),
            Resolved::AllReduce(kernel) => kernel.at(without_batch(batch, size)?),
            Resolved::Gather(kernel) => kernel.at(without_batch(batch, size)?),
            Resolved::Prefill(kernel) => kernel.at(positive(batch)?, length(size)?),
            Resolved::MlaPrefill(kernel) => kernel.at(positive(batch)?, length(size)?),
            Resolved::DeltaPrefill(kernel) => kernel.at(positive(batch)?, length(size)?),
            Resolved::Decode(kernel) => kernel.at(positive(batch)?, kv_tokens(batch, size)?),
            Resolved::MlaDecode(kernel) => kernel.at(positive(batch)?, kv_tokens(batch, size)?),
            Resolved::DeltaDecode(kernel) => match size {
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
        _ => Err(Failure::value("size", "1 to 4294967295 tokens", size)),
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
        (0, _) => Err(Failure::new(
            Code::Value,
            "size: expected at least 1, found 0",
        )),
        _ => Err(Failure::value("batch", "0 for this kernel", batch)),
    }
}

#[inline]
fn alone(batch: u32, size: u64) -> Result<u32, Failure> {
    without_batch(batch, size).and_then(length)
}
