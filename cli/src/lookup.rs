//! `rooflut lookup`: one kernel in the tables.

use std::collections::BTreeSet;

use rooflut::ResolveError;
use rooflut::hardware::{
    AllReduceShape, AttentionShape, DeltaShape, Dtype, GatherShape, GemmShape, Indexer, MlaShape,
    MoeShape, OperationKind,
};
use rooflut::op::{
    self, AllReduce, Collective, DecodeAttention, DeltaDecode, DeltaPrefill, Gather, Gemm,
    MlaDecode, MlaPrefill, Moe, PrefillAttention,
};
use rooflut::table::{Axis, Curve, Grid, TableSet, sets};
use rooflut_nearest::either;
use rooflut_roofline::operation::Codes;

use crate::args::{AttentionArgs, CollectiveArgs, DsaArgs, Kernel, LookupArgs, MlaArgs};
use crate::error::Error;
use crate::fields::{self, Fields, attention_key, gemm_key, moe_key};
use crate::lookup_output::{Answer, Matched, Neighbour};
use crate::table_set;

/// Looks the kernel up and answers with the text to print.
pub(crate) fn run(args: &LookupArgs) -> Result<String, Error> {
    let set = table_set::find(args.set()?)?;
    check(&args.kernel).map_err(Error::new)?;
    let answer = ask(&args.kernel, &set).map_err(|error| refusal(&args.kernel, error))?;
    let coverage = args.interval;
    args.strict
        .check(answer.estimate.provenance)
        .map_err(Error::uncertain)?;
    if args.json {
        answer.json(coverage)
    } else {
        Ok(answer.text(coverage))
    }
}

/// Refuses shapes that cannot be.
fn check(kernel: &Kernel) -> Result<(), String> {
    let divides = |name: &str, value: u32, by: &str, divisor: u32| match value % divisor {
        0 => Ok(()),
        _ => Err(format!(
            "{name}: expected a multiple of {by} {divisor}, found {value}"
        )),
    };
    match *kernel {
        Kernel::Prefill { ref shape, .. } | Kernel::Decode { ref shape, .. } => {
            divides("--q-heads", shape.q_heads, "--kv-heads", shape.kv_heads)?;
            divides("--q-heads", shape.q_heads, "--tp", shape.tp)?;
            if shape.tp > shape.kv_heads {
                divides("--tp", shape.tp, "--kv-heads", shape.kv_heads)
            } else {
                divides("--kv-heads", shape.kv_heads, "--tp", shape.tp)
            }
        }
        Kernel::Moe { experts, top_k, .. } if top_k > experts => Err(format!(
            "--top-k: expected at most --experts {experts}, found {top_k}"
        )),
        Kernel::Moe {
            experts,
            intermediate,
            tp,
            ep,
            ..
        } => {
            divides("--experts", experts, "--ep", ep)?;
            divides("--intermediate", intermediate, "--tp", tp)
        }
        Kernel::MlaPrefill { ref shape, .. } | Kernel::MlaDecode { ref shape, .. } => {
            divides("--q-heads", shape.q_heads, "--tp", shape.tp)
        }
        Kernel::DsaPrefill { ref shape, .. } | Kernel::DsaDecode { ref shape, .. } => {
            divides("--q-heads", shape.layer.q_heads, "--tp", shape.layer.tp)
        }
        Kernel::Gemm { .. }
        | Kernel::Allreduce(_)
        | Kernel::Allgather(_)
        | Kernel::Reducescatter(_)
        | Kernel::Delta { .. } => Ok(()),
    }
}

/// Returns the error with the built-in sets that can answer, where the GPU is the reason.
fn refusal(kernel: &Kernel, error: ResolveError) -> Error {
    let can_answer = |set: &&&TableSet| ask(kernel, set).is_ok();
    let sets = sets::ALL.iter().filter(can_answer).map(|set| set.name());
    let sets: Vec<&str> = sets.collect();
    match error {
        ResolveError::NoPeak { .. } if !sets.is_empty() => {
            Error::new(format!("{error}, or --gpu {}", either(&sets)))
        }
        error => error.into(),
    }
}

fn ask(kernel: &Kernel, set: &TableSet) -> Result<Answer, ResolveError> {
    match *kernel {
        Kernel::Gemm { k, n, m, dtype } => gemm(set, GemmShape { dtype, k, n }, m),
        Kernel::Prefill {
            ref shape,
            batch,
            seq_len,
        } => prefill(set, shape.into(), batch, seq_len),
        Kernel::Decode {
            ref shape,
            batch,
            kv_len,
        } => decode(set, shape.into(), batch, kv_len),
        Kernel::Allreduce(CollectiveArgs { ranks, bytes }) => {
            let shape = AllReduceShape { ranks };
            collective(
                set,
                OperationKind::AllReduce,
                AllReduce::resolve,
                shape,
                bytes,
            )
        }
        Kernel::Allgather(CollectiveArgs { ranks, bytes }) => {
            let shape = GatherShape { ranks };
            collective(
                set,
                OperationKind::AllGather,
                Gather::all_gather,
                shape,
                bytes,
            )
        }
        Kernel::Reducescatter(CollectiveArgs { ranks, bytes }) => {
            let shape = GatherShape { ranks };
            collective(
                set,
                OperationKind::ReduceScatter,
                Gather::reduce_scatter,
                shape,
                bytes,
            )
        }
        Kernel::Moe {
            experts,
            top_k,
            hidden,
            intermediate,
            tp,
            ep,
            matrices,
            tokens,
            dtype,
        } => {
            let shape = MoeShape {
                dtype,
                experts,
                top_k,
                hidden,
                intermediate,
                tp,
                ep,
                matrices,
            };
            moe(set, shape, tokens)
        }
        Kernel::MlaPrefill {
            ref shape,
            batch,
            seq_len,
        } => mla_prefill(set, shape.of(Dtype::Bf16), batch, seq_len),
        Kernel::MlaDecode {
            ref shape,
            batch,
            kv_len,
        } => mla_decode(set, shape.of(shape.kv_dtype), batch, kv_len),
        Kernel::DsaPrefill {
            ref shape,
            batch,
            seq_len,
        } => mla_prefill(set, shape.into(), batch, seq_len),
        Kernel::DsaDecode {
            ref shape,
            batch,
            kv_len,
        } => mla_decode(set, shape.into(), batch, kv_len),
        Kernel::Delta {
            kernel,
            k_heads,
            v_heads,
            head_dim,
            batch,
            seq_len,
        } => {
            let shape = DeltaShape {
                kernel,
                k_heads,
                v_heads,
                head_dim,
            };
            match seq_len {
                Some(seq_len) => delta_prefill(set, shape, batch, seq_len),
                None => delta_decode(set, shape, batch),
            }
        }
    }
}

/// The measured shapes that answer, and the points near the query that `near` finds in the table of each.
fn blended<S: Copy>(
    matched: impl Iterator<Item = op::Neighbour<S>>,
    key: impl Fn(S) -> Fields,
    near: impl Fn(&Fields, S) -> Option<Vec<Neighbour>>,
) -> (Vec<Matched>, Vec<Neighbour>) {
    let mut neighbours = Vec::new();
    let matched = matched.map(|op::Neighbour { shape, share }| {
        let key = key(shape);
        neighbours.extend(near(&key, shape).into_iter().flatten());
        Matched { key, share }
    });
    (matched.collect(), neighbours)
}

fn gemm(set: &TableSet, shape: GemmShape, m: u32) -> Result<Answer, ResolveError> {
    let gemm = Gemm::resolve(set, shape)?;
    let (matched, neighbours) = blended(gemm.matched(), gemm_key, |key, shape| {
        Some(on_curve(
            key,
            "m",
            set.gemm()?.find(&shape)?.points,
            m.into(),
        ))
    });
    Ok(Answer {
        operation: "gemm",
        set: set.clone(),
        query: gemm_key(shape).and("m", m),
        estimate: gemm.at(m),
        errors: gemm.errors(),
        matched,
        neighbours,
    })
}

fn prefill(
    set: &TableSet,
    shape: AttentionShape,
    batch: u32,
    seq_len: u32,
) -> Result<Answer, ResolveError> {
    let attention = PrefillAttention::resolve(set, shape)?;
    let (matched, neighbours) = blended(attention.matched(), attention_key, |key, shape| {
        let points = set.prefill()?.find(&shape)?.points;
        Some(on_grid(key, "seq_len", points, [batch, seq_len]))
    });
    Ok(Answer {
        operation: "prefill",
        set: set.clone(),
        query: attention_key(shape)
            .and("batch", batch)
            .and("seq_len", seq_len),
        estimate: attention.at(batch, seq_len),
        errors: attention.errors(),
        matched,
        neighbours,
    })
}

fn decode(
    set: &TableSet,
    shape: AttentionShape,
    batch: u32,
    kv_len: u32,
) -> Result<Answer, ResolveError> {
    let attention = DecodeAttention::resolve(set, shape)?;
    let key = attention_key(attention.matched());
    Ok(Answer {
        operation: "decode",
        set: set.clone(),
        query: attention_key(shape)
            .and("batch", batch)
            .and("kv_len", kv_len),
        estimate: attention.at(batch, u64::from(batch) * u64::from(kv_len)),
        errors: attention.errors(),
        neighbours: on_grid(&key, "kv_len", attention.grid(), [batch, kv_len]),
        matched: vec![Matched { key, share: 1.0 }],
    })
}

fn collective<S: Copy + Into<Codes>>(
    set: &TableSet,
    operation: OperationKind,
    resolve: fn(&TableSet, S) -> Result<Collective<S>, ResolveError>,
    shape: S,
    bytes: u64,
) -> Result<Answer, ResolveError> {
    let resolved = resolve(set, shape)?;
    let key = fields::shape(operation, resolved.matched().into());
    Ok(Answer {
        operation: operation.name(),
        set: set.clone(),
        query: fields::shape(operation, shape.into()).and("bytes", bytes),
        estimate: resolved.at(bytes),
        errors: resolved.errors(),
        neighbours: on_curve(&key, "bytes", resolved.curve(), bytes),
        matched: vec![Matched { key, share: 1.0 }],
    })
}

fn moe(set: &TableSet, shape: MoeShape, tokens: u32) -> Result<Answer, ResolveError> {
    let moe = Moe::resolve(set, shape)?;
    let (matched, neighbours) = blended(moe.matched(), moe_key, |key, shape| {
        let points = set.moe()?.find(&shape)?.points;
        Some(on_curve(key, "tokens", points, tokens.into()))
    });
    Ok(Answer {
        operation: "moe",
        set: set.clone(),
        query: moe_key(shape).and("tokens", tokens),
        estimate: moe.at(tokens),
        errors: moe.errors(),
        matched,
        neighbours,
    })
}

fn mla_prefill(
    set: &TableSet,
    shape: MlaShape,
    batch: u32,
    seq_len: u32,
) -> Result<Answer, ResolveError> {
    let layer = MlaPrefill::resolve(set, shape)?;
    let (operation, table) = match shape.indexer {
        None => (OperationKind::MlaPrefill, set.mla_prefill()),
        Some(_) => (OperationKind::DsaPrefill, set.dsa_prefill()),
    };
    let key = |shape: MlaShape| fields::shape(operation, shape.into());
    let (matched, neighbours) = blended(layer.matched(), key, |key, shape| {
        let points = table.as_ref()?.find(&shape)?.points;
        Some(on_grid(key, "seq_len", points, [batch, seq_len]))
    });
    Ok(Answer {
        operation: operation.name(),
        set: set.clone(),
        query: key(shape).and("batch", batch).and("seq_len", seq_len),
        estimate: layer.at(batch, seq_len),
        errors: layer.errors(),
        matched,
        neighbours,
    })
}

fn mla_decode(
    set: &TableSet,
    shape: MlaShape,
    batch: u32,
    kv_len: u32,
) -> Result<Answer, ResolveError> {
    let layer = MlaDecode::resolve(set, shape)?;
    let (operation, table) = match shape.indexer {
        None => (OperationKind::MlaDecode, set.mla_decode()),
        Some(_) => (OperationKind::DsaDecode, set.dsa_decode()),
    };
    let key = |shape: MlaShape| fields::shape(operation, shape.into());
    let (matched, neighbours) = blended(layer.matched(), key, |key, shape| {
        let points = table.as_ref()?.find(&shape)?.points;
        Some(on_grid(key, "kv_len", points, [batch, kv_len]))
    });
    Ok(Answer {
        operation: operation.name(),
        set: set.clone(),
        query: key(shape).and("batch", batch).and("kv_len", kv_len),
        estimate: layer.at(batch, u64::from(batch) * u64::from(kv_len)),
        errors: layer.errors(),
        matched,
        neighbours,
    })
}

fn delta_prefill(
    set: &TableSet,
    shape: DeltaShape,
    batch: u32,
    seq_len: u32,
) -> Result<Answer, ResolveError> {
    let kernel = DeltaPrefill::resolve(set, shape)?;
    let key = fields::shape(OperationKind::DeltaPrefill, kernel.matched().into());
    Ok(Answer {
        operation: "delta_prefill",
        set: set.clone(),
        query: fields::shape(OperationKind::DeltaPrefill, shape.into())
            .and("batch", batch)
            .and("seq_len", seq_len),
        estimate: kernel.at(batch, seq_len),
        errors: kernel.errors(),
        neighbours: on_grid(&key, "seq_len", kernel.grid(), [batch, seq_len]),
        matched: vec![Matched { key, share: 1.0 }],
    })
}

fn delta_decode(set: &TableSet, shape: DeltaShape, batch: u32) -> Result<Answer, ResolveError> {
    let kernel = DeltaDecode::resolve(set, shape)?;
    let key = fields::shape(OperationKind::DeltaDecode, kernel.matched().into());
    Ok(Answer {
        operation: "delta_decode",
        set: set.clone(),
        query: fields::shape(OperationKind::DeltaDecode, shape.into()).and("batch", batch),
        estimate: kernel.at(batch),
        errors: kernel.errors(),
        neighbours: on_curve(&key, "batch", kernel.curve(), batch.into()),
        matched: vec![Matched { key, share: 1.0 }],
    })
}

/// The measured points next to `x`: those between which it lies; a point that it lies on, or the end
/// that it lies beyond, with the points beside that.
fn on_curve(key: &Fields, axis: &'static str, curve: Curve<'_>, x: u64) -> Vec<Neighbour> {
    let (first, last) = match curve.axis().around(x as f64).into_inner() {
        (on, end) if on == end => (on.saturating_sub(1), on + 1),
        between => between,
    };
    let points = curve.axis().values().iter().zip(curve.latency_us());
    let near = points.skip(first).take(last - first + 1);
    near.map(|(&value, &latency_us)| Neighbour {
        point: key.clone().and(axis, value),
        latency_us,
    })
    .collect()
}

/// The corners of the cell around (batch, length); in place of a hole the measured points that answer
/// for it.
fn on_grid(
    key: &Fields,
    length_name: &'static str,
    grid: Grid<'_>,
    [batch, length]: [u32; 2],
) -> Vec<Neighbour> {
    let columns = grid.length().around(f64::from(length));
    let cells = grid.batch().around(f64::from(batch)).flat_map(|row| {
        columns
            .clone()
            .flat_map(move |column| grid.answering_cells(row, column))
    });
    let value = |axis: Axis<'_>, place: usize| axis.values().get(place).copied().unwrap_or(0);
    let neighbour = |(row, column): (usize, usize)| {
        let point = key.clone().and("batch", value(grid.batch(), row));
        Some(Neighbour {
            point: point.and(length_name, value(grid.length(), column)),
            latency_us: grid.latency_us(row, column)?,
        })
    };
    // Two holes may have the same stand-ins.
    let cells: BTreeSet<(usize, usize)> = cells.collect();
    cells.into_iter().filter_map(neighbour).collect()
}

impl MlaArgs {
    /// The shape of one rank; attention is in `attn_dtype` if no other format is asked for.
    fn of(&self, attn_dtype: Dtype) -> MlaShape {
        MlaShape {
            dtype: self.dtype,
            attn_dtype: self.attn_dtype.unwrap_or(attn_dtype),
            kv_dtype: self.kv_dtype,
            q_heads: self.q_heads / self.tp,
            hidden: self.hidden,
            q_rank: self.q_rank,
            kv_rank: self.kv_rank,
            nope_dim: self.nope_dim,
            rope_dim: self.rope_dim,
            v_dim: self.v_dim,
            indexer: None,
        }
    }
}

impl From<&DsaArgs> for MlaShape {
    fn from(args: &DsaArgs) -> MlaShape {
        MlaShape {
            indexer: Some(Indexer {
                heads: args.index_heads,
                head_dim: args.index_dim,
                top_k: args.index_top_k,
            }),
            ..args.layer.of(Dtype::Bf16)
        }
    }
}

impl From<&AttentionArgs> for AttentionShape {
    fn from(args: &AttentionArgs) -> AttentionShape {
        AttentionShape {
            dtype: args.dtype,
            kv_dtype: args.kv_dtype,
            q_heads: args.q_heads,
            kv_heads: args.kv_heads,
            head_dim: args.head_dim,
            tp: args.tp,
        }
    }
}
