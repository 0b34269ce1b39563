//! How well rows that are left out are predicted.

use rooflut::hardware::{AttentionShape, OperationKind};
use rooflut::op::compat::Method;
use rooflut::op::leave_one_out::{self, LeftOut};
use rooflut::table::TableSet;

use crate::family::Family;

/// Absolute errors of lookups of rows that were left out, as shares of what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Rows with neighbours on all sides, which are those that can be left out.
    pub rows: usize,
    /// The error in the middle.
    pub median: f64,
    /// The error that 95 % of them do not exceed.
    pub p95: f64,
}

/// The errors of a family; `None` where no row has neighbours on all sides.
///
/// The code that answers queries predicts each interior row without its row and column of the table
/// ([`rooflut::op::leave_one_out`]); in ragged grids one measured corner is enough.
pub fn errors(set: &TableSet, family: &Family) -> Option<Errors> {
    let kernel = family.rows.first()?.kernel;
    let dtype = kernel.dtype();
    let method = Method::Efficiency;
    let own = kernel.shape::<AttentionShape>();
    let same = |shape: &AttentionShape| (own.dtype, own.kv_dtype) == (shape.dtype, shape.kv_dtype);
    let left_out = match family.operation {
        OperationKind::Gemm => leave_one_out::gemm(set, dtype, method),
        OperationKind::Prefill => leave_one_out::prefill_of(set, method, same),
        OperationKind::Decode => leave_one_out::decode_of(set, method, same),
        OperationKind::AllReduce => leave_one_out::allreduce(set),
        OperationKind::Moe => leave_one_out::moe_of(set, |shape| shape.dtype == dtype),
        _ => return None,
    };
    let all = [left_out.full, left_out.ragged].concat();
    Some(Errors {
        rows: all.len(),
        median: LeftOut::quantile(&all, 0.5)?,
        p95: LeftOut::quantile(&all, 0.95)?,
    })
}
