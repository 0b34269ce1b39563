//! Tile classes of 8-bit and 4-bit GEMM kernels, which are chosen by the number of rows.

use crate::constants::{MEDIUM_TILE_ROWS, SMALL_TILE_ROWS};
use crate::hardware::Dtype;
use crate::table::{Bracket, Curve, Position, Reading};

/// Reads a GEMM's curve at `m` rows, within a tile class if the dtype has them.
#[inline(always)] // 40 instructions of a lookup's 270: it hands over structs.
#[allow(clippy::inline_always)]
pub(super) fn read_gemm(curve: &Curve<'_>, tile_steps: bool, m: f64, ln_m: f64) -> Reading {
    let mut bracket = curve.axis().locate_ln(m, ln_m);
    if tile_steps && bracket.position == Position::Between {
        bracket = within_tile_class(bracket, m, curve.axis().values());
    }
    curve.read_at(bracket)
}

/// Returns whether kernels of this dtype change their tile with m. Latencies of per-tensor fp8 and nvfp4 are flat
/// within a tile class; `bench_data/constants.toml` gives the ends of the classes.
pub(super) fn has_tile_steps(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Fp8 | Dtype::Nvfp4)
}

/// Drops the neighbour that belongs to another tile class than `m`, if one of the two does.
fn within_tile_class(bracket: Bracket, m: f64, values: &[u32]) -> Bracket {
    let class = |m: f64| {
        [SMALL_TILE_ROWS, MEDIUM_TILE_ROWS]
            .iter()
            .filter(|&&edge| m > edge)
            .count()
    };
    let class_of = |index: usize| values.get(index).map(|&value| class(f64::from(value)));
    let own = Some(class(m));
    match (class_of(bracket.lo) == own, class_of(bracket.hi) == own) {
        (true, false) => Bracket {
            weight: 0.0,
            ..bracket
        },
        (false, true) => Bracket {
            weight: 1.0,
            ..bracket
        },
        _ => bracket,
    }
}
