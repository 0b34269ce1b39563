//! Columns `mfu` that are rounded to 0, as three decimals round small kernels.

use crate::reading::Reading;

/// Returns the number of readings with an `mfu`, and with an `mfu` of 0.
pub(crate) fn zeros(readings: &[Reading]) -> (usize, usize) {
    let with_mfu = readings.iter().filter_map(|row| row.mfu);
    let zeros = with_mfu.clone().filter(|mfu| mfu.value == 0.0);
    (with_mfu.count(), zeros.count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{files, gemm};
    use crate::reading::Rounded;

    #[test]
    fn zeros_are_counted_among_those_that_have_an_mfu() {
        let mut rows = files([&[(gemm(64, 1), 9.0), (gemm(64, 8), 9.0), (gemm(64, 16), 9.0)]]);
        let mfu = |value| {
            Some(Rounded {
                value,
                half_unit: 0.0005,
            })
        };
        rows[0].mfu = mfu(0.0);
        rows[1].mfu = mfu(0.001);
        assert_eq!(zeros(&rows), (2, 1));
    }
}
