//! BLIS's order of attention shapes by distance.

use std::cmp::Ordering;

use super::gemm_entries::square;
use rooflut::hardware::AttentionShape;

/// Orders shapes by Euclidean distance to `asked` on the three numbers, ties by name ("56-8-128").
pub(super) fn nearer(a: &AttentionShape, b: &AttentionShape, asked: &AttentionShape) -> Ordering {
    let distance = |shape: &AttentionShape| {
        let pairs = heads(shape).into_iter().zip(heads(asked));
        pairs.fold(0_u64, |sum, (x, y)| sum.saturating_add(square(x.abs_diff(y))))
    };
    let by_name = || {
        let pairs = heads(a).into_iter().zip(heads(b));
        pairs.fold(Ordering::Equal, |order, (x, y)| order.then(as_text(x, y)))
    };
    distance(a).cmp(&distance(b)).then_with(by_name)
}

/// Compares two numbers as text: "128" before "16".
fn as_text(x: u32, y: u32) -> Ordering {
    let digits = |value: u32| value.checked_ilog10().unwrap_or(0);
    let width = digits(x).max(digits(y));
    let left_aligned = |value: u32| u64::from(value) * 10_u64.pow(width - digits(value));
    left_aligned(x).cmp(&left_aligned(y)).then(digits(x).cmp(&digits(y)))
}

/// Returns the three numbers of an attention shape that the predecessors use.
pub(super) fn heads(shape: &AttentionShape) -> [u32; 3] {
    [shape.q_heads, shape.kv_heads, shape.head_dim]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_as_text() {
        for (x, y) in [(128, 16), (16, 2), (4, 40), (40, 40), (7, 64), (0, 1)] {
            let (left, right) = (std::format!("{x}"), std::format!("{y}"));
            assert_eq!(as_text(x, y), left.cmp(&right), "{x} {y}");
        }
    }
}
