//! `rooflut lookup`: one kernel in the tables.

use std::collections::BTreeSet;
use std::iter;

use rooflut::ResolveError;
use rooflut::hardware::{
    AllReduceShape, AttentionShape, DeltaShape, Dtype, GatherShape, GemmShape, MlaShape,
    OperationKind,
};
use rooflut::op::{
    self, AllReduce, Collective, DecodeAttention, DeltaDecode, DeltaPrefill, Estimate, Gather,
    Gemm, MlaDecode, MlaPrefill, Moe, PrefillAttention,
};
use rooflut::table::{Axis, Curve, ErrorGroup, Grid, TableSet, sets};
use rooflut_nearest::either;
use rooflut_roofline::operation::Codes;

use crate::args::{Kernel, LookupArgs, Prompts, Requests};
use crate::error::Error;
use crate::fields::{self, Fields};
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
        Kernel::Moe { ref shape, .. } => {
            let (experts, top_k) = (shape.experts, shape.top_k);
            if top_k > experts {
                return Err(format!(
                    "--top-k: expected at most --experts {experts}, found {top_k}"
                ));
            }
            divides("--experts", experts, "--ep", shape.ep)?;
            divides("--intermediate", shape.intermediate, "--tp", shape.tp)
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
        Kernel::Gemm { k, n, m, dtype } => {
            let shape = GemmShape { dtype, k, n };
            let gemm = Gemm::resolve(set, shape)?;
            let query = Query::new(OperationKind::Gemm, shape, [("m", m.into())]);
            Ok(query.answer(set, gemm.at(m), gemm.errors(), gemm.matched()))
        }
        Kernel::Prefill { ref shape, prompts } => {
            let shape = AttentionShape::from(shape);
            let attention = PrefillAttention::resolve(set, shape)?;
            let estimate = attention.at(prompts.batch, prompts.seq_len);
            let query = Query::new(OperationKind::Prefill, shape, prompts.point());
            Ok(query.answer(set, estimate, attention.errors(), attention.matched()))
        }
        Kernel::Decode {
            ref shape,
            requests,
        } => {
            let shape = AttentionShape::from(shape);
            let attention = DecodeAttention::resolve(set, shape)?;
            let estimate = attention.at(requests.batch, requests.kv_tokens());
            let query = Query::new(OperationKind::Decode, shape, requests.point());
            Ok(query.answer(
                set,
                estimate,
                attention.errors(),
                alone(attention.matched()),
            ))
        }
        Kernel::Allreduce(message) => {
            let shape = AllReduceShape {
                ranks: message.ranks,
            };
            let resolved = AllReduce::resolve(set, shape)?;
            Ok(collective(
                set,
                OperationKind::AllReduce,
                &resolved,
                shape,
                message.bytes,
            ))
        }
        Kernel::Allgather(message) => {
            let shape = GatherShape {
                ranks: message.ranks,
            };
            let resolved = Gather::all_gather(set, shape)?;
            Ok(collective(
                set,
                OperationKind::AllGather,
                &resolved,
                shape,
                message.bytes,
            ))
        }
        Kernel::Reducescatter(message) => {
            let shape = GatherShape {
                ranks: message.ranks,
            };
            let resolved = Gather::reduce_scatter(set, shape)?;
            Ok(collective(
                set,
                OperationKind::ReduceScatter,
                &resolved,
                shape,
                message.bytes,
            ))
        }
        Kernel::Moe {
            ref shape,
            tokens,
            dtype,
        } => {
            let shape = shape.of(dtype);
            let moe = Moe::resolve(set, shape)?;
            let query = Query::new(OperationKind::Moe, shape, [("tokens", tokens.into())]);
            Ok(query.answer(set, moe.at(tokens), moe.errors(), moe.matched()))
        }
        Kernel::MlaPrefill { ref shape, prompts } => {
            mla_prefill(set, shape.of(Dtype::Bf16), prompts)
        }
        Kernel::MlaDecode {
            ref shape,
            requests,
        } => mla_decode(set, shape.of(shape.kv_dtype), requests),
        Kernel::DsaPrefill { ref shape, prompts } => mla_prefill(set, shape.into(), prompts),
        Kernel::DsaDecode {
            ref shape,
            requests,
        } => mla_decode(set, shape.into(), requests),
        Kernel::Delta {
            ref shape,
            batch,
            seq_len,
        } => delta(set, shape.into(), batch, seq_len),
    }
}

fn collective<S: Copy + Into<Codes>>(
    set: &TableSet,
    operation: OperationKind,
    resolved: &Collective<S>,
    shape: S,
    bytes: u64,
) -> Answer {
    let query = Query::new(operation, shape, [("bytes", bytes)]);
    query.answer(
        set,
        resolved.at(bytes),
        resolved.errors(),
        alone(resolved.matched()),
    )
}

fn mla_prefill(set: &TableSet, shape: MlaShape, prompts: Prompts) -> Result<Answer, ResolveError> {
    let layer = MlaPrefill::resolve(set, shape)?;
    let operation = match shape.indexer {
        None => OperationKind::MlaPrefill,
        Some(_) => OperationKind::DsaPrefill,
    };
    let estimate = layer.at(prompts.batch, prompts.seq_len);
    let query = Query::new(operation, shape, prompts.point());
    Ok(query.answer(set, estimate, layer.errors(), layer.matched()))
}

fn mla_decode(set: &TableSet, shape: MlaShape, requests: Requests) -> Result<Answer, ResolveError> {
    let layer = MlaDecode::resolve(set, shape)?;
    let operation = match shape.indexer {
        None => OperationKind::MlaDecode,
        Some(_) => OperationKind::DsaDecode,
    };
    let estimate = layer.at(requests.batch, requests.kv_tokens());
    let query = Query::new(operation, shape, requests.point());
    Ok(query.answer(set, estimate, layer.errors(), layer.matched()))
}

fn delta(
    set: &TableSet,
    shape: DeltaShape,
    batch: u32,
    seq_len: Option<u32>,
) -> Result<Answer, ResolveError> {
    let Some(seq_len) = seq_len else {
        let kernel = DeltaDecode::resolve(set, shape)?;
        let query = Query::new(OperationKind::DeltaDecode, shape, [("batch", batch.into())]);
        return Ok(query.answer(
            set,
            kernel.at(batch),
            kernel.errors(),
            alone(kernel.matched()),
        ));
    };
    let kernel = DeltaPrefill::resolve(set, shape)?;
    let query = Query::new(
        OperationKind::DeltaPrefill,
        shape,
        Prompts { batch, seq_len }.point(),
    );
    Ok(query.answer(
        set,
        kernel.at(batch, seq_len),
        kernel.errors(),
        alone(kernel.matched()),
    ))
}

/// The only measured shape that answers.
fn alone<S>(shape: S) -> impl Iterator<Item = op::Neighbour<S>> {
    iter::once(op::Neighbour { shape, share: 1.0 })
}

/// A point of a kernel: a shape, and the names and values of the axes.
struct Query {
    operation: OperationKind,
    shape: Codes,
    point: Vec<(&'static str, u64)>,
}

impl Query {
    fn new(
        operation: OperationKind,
        shape: impl Into<Codes>,
        point: impl Into<Vec<(&'static str, u64)>>,
    ) -> Query {
        Query {
            operation,
            shape: shape.into(),
            point: point.into(),
        }
    }

    /// Returns the answer with the points around the query of each of the `matched` shapes.
    fn answer<S: Into<Codes>>(
        &self,
        set: &TableSet,
        estimate: Estimate,
        errors: ErrorGroup,
        matched: impl Iterator<Item = op::Neighbour<S>>,
    ) -> Answer {
        let mut neighbours = Vec::new();
        let matched = matched.map(|op::Neighbour { shape, share }| {
            let codes = shape.into();
            let key = fields::shape(self.operation, codes);
            neighbours.extend(self.around(set, &key, codes).into_iter().flatten());
            Matched { key, share }
        });
        let matched = matched.collect();
        let shape = fields::shape(self.operation, self.shape);
        let point = self.point.iter();
        Answer {
            operation: self.operation.name(),
            set: set.clone(),
            query: point.fold(shape, |query, (axis, value)| query.and(axis, *value)),
            estimate,
            errors,
            matched,
            neighbours,
        }
    }

    /// Returns the points of a measured shape that are next to the query.
    fn around(&self, set: &TableSet, key: &Fields, shape: Codes) -> Option<Vec<Neighbour>> {
        let table = set.table(self.operation)?;
        Some(match *self.point.as_slice() {
            [(axis, x)] => on_curve(key, axis, table.typed().find(&shape)?.points, x),
            [(_, batch), (axis, length)] => on_grid(
                key,
                axis,
                table.typed().find(&shape)?.points,
                [batch, length],
            ),
            _ => return None,
        })
    }
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
    [batch, length]: [u64; 2],
) -> Vec<Neighbour> {
    let columns = grid.length().around(length as f64);
    let cells = grid.batch().around(batch as f64).flat_map(|row| {
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
