//! First rows of files that timed the warm-up: the first launch loads the kernel.

use rooflut_codegen::MeasuredKernel;

use crate::kernel;
use crate::reading::Reading;

/// The least ratio of the time of a first row to that of the rows after it, which do more work.
const EXCESS: f64 = 1.3;
/// The number of rows that a first row is compared with.
const NEXT: usize = 3;
/// The least number of files of an operation for which the majority decides about all.
const FILES: usize = 3;
/// The number of other shapes that show the time of the first point on a warm GPU.
const PEERS: usize = 3;

/// Returns the indices of readings that timed the warm-up. `readings` are those of one operation in the
/// order of files and rows; `first_rows` has the number of the first row of each file.
///
/// Such a row takes over 1.3 times as long as the fastest of the next three of its shape that do more work,
/// also relative to other shapes of the file at this point (a GEMM of one row may be slower than one of
/// eight). If most of at least three files begin so, all of them do: in the others, more work hides the
/// warm-up.
pub(crate) fn warm_ups(readings: &[Reading], first_rows: &[u64]) -> Vec<usize> {
    let mut firsts = Vec::new();
    let mut found = Vec::new();
    let mut start = 0;
    for rows in readings.chunk_by(|a, b| a.file == b.file) {
        let first = rows.first();
        if first.is_some_and(|first| first_rows.get(first.file) == Some(&first.number)) {
            firsts.push(start);
            if is_warm_up(rows) {
                found.push(start);
            }
        }
        start += rows.len();
    }
    if firsts.len() >= FILES && found.len() * 2 > firsts.len() { firsts } else { found }
}

/// Whether the first of the rows of a file timed the warm-up.
fn is_warm_up(rows: &[Reading]) -> bool {
    let Some((first, others)) = rows.split_first() else {
        return false;
    };
    let shape = kernel::shape(&first.kernel);
    let next: Vec<&Reading> = others
        .iter()
        .filter(|row| kernel::shape(&row.kernel) == shape && is_more(&row.kernel, &first.kernel))
        .take(NEXT)
        .collect();
    let Some(least) = least(next.iter().map(|row| row.latency_us)) else {
        return false;
    };
    let excess = first.latency_us / least;
    let points: Vec<[u32; 2]> = next.iter().map(|row| row.kernel.point()).collect();
    let usual = usual_excess(others, shape, first.kernel.point(), &points);
    excess > EXCESS * usual.unwrap_or(1.0).max(1.0)
}

/// Returns the median, over other shapes of the file, of the time at `point` relative to the fastest of
/// `next`.
fn usual_excess(rows: &[Reading], shape: MeasuredKernel, point: [u32; 2], next: &[[u32; 2]]) -> Option<f64> {
    let mut at: Vec<(MeasuredKernel, bool, f64)> = rows
        .iter()
        .filter_map(|row| {
            let (other, here) = (kernel::shape(&row.kernel), row.kernel.point());
            let counts = other != shape && (here == point || next.contains(&here));
            counts.then_some((other, here == point, row.latency_us))
        })
        .collect();
    at.sort_by_key(|(shape, ..)| *shape);
    let mut excesses: Vec<f64> = at
        .chunk_by(|a, b| a.0 == b.0)
        .filter_map(|rows| {
            let times = |first: bool| {
                let of = rows.iter().filter(move |(_, at_first, _)| *at_first == first);
                least(of.map(|(.., latency_us)| *latency_us))
            };
            Some(times(true)? / times(false)?)
        })
        .collect();
    excesses.sort_by(f64::total_cmp);
    excesses.get(excesses.len() / 2).copied().filter(|_| excesses.len() >= PEERS)
}

/// Whether a kernel of the same shape does more work.
fn is_more(kernel: &MeasuredKernel, than: &MeasuredKernel) -> bool {
    let ([a, b], [first, second]) = (kernel.point(), than.point());
    a >= first && b >= second && (a, b) != (first, second)
}

fn least(times: impl Iterator<Item = f64>) -> Option<f64> {
    times.min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{decode, files, gemm};

    #[test]
    fn a_first_row_that_takes_longer_than_more_work_is_a_warm_up() {
        let rows = files([&[(decode(8, 1, 256), 38.5), (decode(8, 1, 512), 23.0), (decode(8, 1, 1024), 23.5)]]);
        assert_eq!(warm_ups(&rows, &[2]), [0]);
        // Not the first row of its file, because a malformed row precedes it.
        assert_eq!(warm_ups(&rows, &[1]), [0; 0]);
    }

    #[test]
    fn noise_is_no_warm_up() {
        let rows = files([&[(decode(8, 1, 256), 23.5), (decode(8, 1, 512), 22.0)]]);
        assert_eq!(warm_ups(&rows, &[2]), [0; 0]);
        assert_eq!(warm_ups(&[], &[]), [0; 0]);
    }

    #[test]
    fn a_point_that_is_slow_for_every_shape_is_no_warm_up() {
        let mut rows = Vec::new();
        for n in [1024, 2048, 4096, 8192] {
            rows.extend([(gemm(n, 1), 30.0), (gemm(n, 8), 12.0), (gemm(n, 16), 12.5)]);
        }
        assert_eq!(warm_ups(&files([&rows]), &[2]), [0; 0]);
        rows[0].1 = 60.0;
        assert_eq!(warm_ups(&files([&rows]), &[2]), [0]);
    }

    #[test]
    fn where_most_files_begin_with_a_warm_up_all_do() {
        let cold: &[_] = &[(decode(8, 1, 256), 38.5), (decode(8, 1, 512), 23.0)];
        let hidden: &[_] = &[(decode(32, 1, 1024), 37.7), (decode(32, 1, 4096), 38.4)];
        let rows = files([cold, hidden, cold]);
        assert_eq!(warm_ups(&rows, &[2, 2, 2]), [0, 2, 4]);
        let rows = files([cold, hidden, hidden]);
        assert_eq!(warm_ups(&rows, &[2, 2, 2]), [0]);
    }
}
