//! Resolved lookups of all operations.

use rooflut::ResolveError;
use rooflut::hardware::OperationKind;
use rooflut::op::{
    AllReduce, DecodeAttention, DeltaDecode, DeltaPrefill, Estimate, Gather, Gemm, MlaDecode,
    MlaPrefill, Moe, PrefillAttention, WindowDecode, WindowPrefill,
};
use rooflut::table::TableSet;
use rooflut_roofline::operation::Codes;

/// A resolved lookup.
pub(crate) enum Handle {
    Gemm(Gemm),
    Prefill(PrefillAttention),
    Decode(DecodeAttention),
    AllReduce(AllReduce),
    Gather(Gather),
    Moe(Moe),
    WindowPrefill(WindowPrefill),
    WindowDecode(WindowDecode),
    MlaPrefill(MlaPrefill),
    MlaDecode(MlaDecode),
    DeltaPrefill(DeltaPrefill),
    DeltaDecode(DeltaDecode),
}

/// An argument of a lookup.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// Whether it may exceed 32 bits.
    pub(crate) is_long: bool,
}

const fn short(name: &'static str) -> Argument {
    Argument {
        name,
        is_long: false,
    }
}

const fn long(name: &'static str) -> Argument {
    Argument {
        name,
        is_long: true,
    }
}

impl Handle {
    /// Finds the rows that answer for a shape; `None` for an operation that has no lookup here.
    pub(crate) fn resolve(
        set: &TableSet,
        operation: OperationKind,
        codes: Codes,
    ) -> Option<Result<Handle, ResolveError>> {
        Some(match operation {
            OperationKind::Gemm => Gemm::resolve(set, codes.into()).map(Handle::Gemm),
            OperationKind::Prefill => {
                PrefillAttention::resolve(set, codes.into()).map(Handle::Prefill)
            }
            OperationKind::Decode => {
                DecodeAttention::resolve(set, codes.into()).map(Handle::Decode)
            }
            OperationKind::AllReduce => {
                AllReduce::resolve(set, codes.into()).map(Handle::AllReduce)
            }
            OperationKind::AllGather => Gather::all_gather(set, codes.into()).map(Handle::Gather),
            OperationKind::ReduceScatter => {
                Gather::reduce_scatter(set, codes.into()).map(Handle::Gather)
            }
            OperationKind::Moe => Moe::resolve(set, codes.into()).map(Handle::Moe),
            OperationKind::WindowPrefill => {
                WindowPrefill::resolve(set, codes.into()).map(Handle::WindowPrefill)
            }
            OperationKind::WindowDecode => {
                WindowDecode::resolve(set, codes.into()).map(Handle::WindowDecode)
            }
            OperationKind::MlaPrefill | OperationKind::DsaPrefill => {
                MlaPrefill::resolve(set, codes.into()).map(Handle::MlaPrefill)
            }
            OperationKind::MlaDecode | OperationKind::DsaDecode => {
                MlaDecode::resolve(set, codes.into()).map(Handle::MlaDecode)
            }
            OperationKind::DeltaPrefill => {
                DeltaPrefill::resolve(set, codes.into()).map(Handle::DeltaPrefill)
            }
            OperationKind::DeltaDecode => {
                DeltaDecode::resolve(set, codes.into()).map(Handle::DeltaDecode)
            }
            _ => return None,
        })
    }

    /// The arguments of a query, in the order of [`at`](Handle::at).
    pub(crate) fn arguments(&self) -> &'static [Argument] {
        match self {
            Handle::Gemm(_) => const { &[short("m")] },
            Handle::Moe(_) => const { &[short("tokens")] },
            Handle::AllReduce(_) | Handle::Gather(_) => const { &[long("bytes")] },
            Handle::DeltaDecode(_) => const { &[short("batch")] },
            Handle::Decode(_) | Handle::MlaDecode(_) => {
                const { &[short("batch"), long("kv_tokens")] }
            }
            Handle::WindowDecode(_) => const { &[short("batch"), short("kv_len")] },
            Handle::Prefill(_)
            | Handle::WindowPrefill(_)
            | Handle::MlaPrefill(_)
            | Handle::DeltaPrefill(_) => const { &[short("batch"), short("seq_len")] },
        }
    }

    /// Answers a query of one or two arguments; the second of one is not read.
    #[inline]
    pub(crate) fn at(&self, first: u64, second: u64) -> Estimate {
        // Arguments that are not long were read as 32 bits.
        let (short, second_short) = (first as u32, second as u32);
        match self {
            Handle::Gemm(gemm) => gemm.at(short),
            Handle::Moe(moe) => moe.at(short),
            Handle::AllReduce(all_reduce) => all_reduce.at(first),
            Handle::Gather(gather) => gather.at(first),
            Handle::DeltaDecode(delta) => delta.at(short),
            Handle::Decode(attention) => attention.at(short, second),
            Handle::MlaDecode(attention) => attention.at(short, second),
            Handle::WindowDecode(attention) => attention.at(short, second_short),
            Handle::Prefill(attention) => attention.at(short, second_short),
            Handle::WindowPrefill(attention) => attention.at(short, second_short),
            Handle::MlaPrefill(attention) => attention.at(short, second_short),
            Handle::DeltaPrefill(delta) => delta.at(short, second_short),
        }
    }
}
