//! Leave-one-out errors: how well a set predicts rows that it does not have.

use rooflut::hardware::{AttentionShape, OperationKind};
use rooflut::table::TableSet;
use rooflut_predecessors::leave_one_out::{self, LeftOut};
use rooflut_predecessors::lookup::Method;

use rooflut_inspect::Family;

/// Absolute errors of predicting rows that were left out, as shares of the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Errors {
    /// The number of rows with neighbours on all sides; others cannot be left out.
    pub(crate) rows: usize,
    /// The median error.
    pub(crate) median: f64,
    /// The 95th percentile of the errors.
    pub(crate) p95: f64,
}

/// Returns the errors of a family; `None` if no row has neighbours on all sides.
///
/// Each interior row is predicted by the code of lookups, without its row and column of the table
/// ([`rooflut_predecessors::leave_one_out`]); in ragged grids one measured corner is enough.
pub(crate) fn errors(set: &TableSet, family: &Family) -> Option<Errors> {
    let kernel = family.rows.first()?.kernel;
    let dtype = kernel.dtype();
    let method = Method::Efficiency;
    let own = kernel.shape::<AttentionShape>();
    let same = |shape: &AttentionShape| (own.dtype, own.kv_dtype) == (shape.dtype, shape.kv_dtype);
    let left_out = match family.operation {
        OperationKind::Gemm => leave_one_out::gemm(set, dtype, method),
        OperationKind::Prefill => leave_one_out::prefill(set, method, same),
        OperationKind::Decode => leave_one_out::decode(set, method, same),
        OperationKind::AllReduce | OperationKind::AllGather | OperationKind::ReduceScatter => {
            leave_one_out::collective(set, family.operation)
        }
        OperationKind::Moe => leave_one_out::moe(set, |shape| shape.dtype == dtype),
        _ => return None,
    };
    let all = [left_out.full, left_out.ragged].concat();
    Some(Errors { rows: all.len(), median: LeftOut::quantile(&all, 0.5)?, p95: LeftOut::quantile(&all, 0.95)? })
}

#[cfg(test)]
mod tests {
    use rooflut::table::sets;
    use rooflut_inspect::Inspection;

    use super::*;

    #[test]
    fn errors_are_those_of_leave_one_out() {
        let inspection = Inspection::of(&sets::H100);
        let percent = |error: f64| (error * 1000.0).round() / 10.0;
        for (name, rows, median, p95) in [
            ("gemm bf16", 588, 3.1, 14.6),
            ("prefill bf16", 554, 2.6, 11.9),
            ("allreduce", 63, 1.1, 12.3),
            ("moe bf16", 664, 2.5, 11.3),
        ] {
            let family = inspection.families.iter().find(|family| family.name == name);
            let found = errors(&inspection.set, family.unwrap()).unwrap();
            assert_eq!((found.rows, percent(found.median), percent(found.p95)), (rows, median, p95));
        }
    }
}
