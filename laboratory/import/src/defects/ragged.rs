//! Ragged grids: cells that were not measured, mostly large batches of long contexts.

use std::collections::BTreeSet;

use rooflut_codegen::MeasuredKernel;

use crate::kernel;
use crate::reading::Reading;

/// The missing cells of grids.
#[derive(Debug, PartialEq)]
pub(crate) struct Ragged {
    /// The number of grids.
    pub(crate) shapes: usize,
    /// The number of grids with missing cells.
    pub(crate) ragged: usize,
    /// The number of cells of all grids if they were full.
    pub(crate) cells: usize,
    /// The number of missing cells.
    pub(crate) missing: usize,
    /// The smallest missing cell, by the product of its coordinates.
    pub(crate) smallest: [u32; 2],
    /// The grid with the most missing cells.
    pub(crate) worst: MeasuredKernel,
}

/// Finds the missing cells of the grids of an operation with two axes. Each kernel occurs in `readings`
/// once.
pub(crate) fn ragged(readings: &[Reading]) -> Option<Ragged> {
    let mut rows: Vec<(MeasuredKernel, [u32; 2])> =
        readings.iter().map(|row| (kernel::shape(&row.kernel), row.kernel.point())).collect();
    rows.sort_unstable();
    let (mut shapes, mut ragged, mut cells, mut missing) = (0, 0, 0, 0);
    let mut smallest: Option<[u32; 2]> = None;
    let mut worst: Option<(usize, MeasuredKernel)> = None;
    for rows in rows.chunk_by(|a, b| a.0 == b.0) {
        let points: BTreeSet<[u32; 2]> = rows.iter().map(|(_, point)| *point).collect();
        let firsts: BTreeSet<u32> = points.iter().map(|[first, _]| *first).collect();
        let seconds: BTreeSet<u32> = points.iter().map(|[_, second]| *second).collect();
        let full = firsts.len() * seconds.len();
        let lacks = full - points.len();
        shapes += 1;
        cells += full;
        missing += lacks;
        let Some((shape, _)) = rows.first().filter(|_| lacks > 0) else {
            continue;
        };
        ragged += 1;
        if worst.is_none_or(|(most, _)| lacks > most) {
            worst = Some((lacks, *shape));
        }
        let all = firsts.iter().flat_map(|a| seconds.iter().map(|b| [*a, *b]));
        let holes = all.filter(|point| !points.contains(point));
        smallest = smallest.into_iter().chain(holes).min_by_key(|[a, b]| (u64::from(*a) * u64::from(*b), *a));
    }
    Some(Ragged { shapes, ragged, cells, missing, smallest: smallest?, worst: worst?.1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{decode, files};

    #[test]
    fn holes_are_counted_and_the_smallest_named() {
        let mut rows = Vec::new();
        for (batch, kv_len) in [(1, 512), (1, 1024), (1, 4096), (16, 512), (16, 1024), (64, 512)] {
            rows.push((decode(8, batch, kv_len), 10.0));
        }
        rows.push((decode(4, 1, 512), 10.0));
        let found = ragged(&files([&rows])).unwrap();
        assert_eq!((found.shapes, found.ragged), (2, 1));
        assert_eq!((found.cells, found.missing), (10, 3));
        // 16 x 4096, 64 x 1024 and 64 x 4096; the first two are equally large.
        assert_eq!(found.smallest, [16, 4096]);
        assert_eq!(found.worst, kernel::shape(&decode(8, 1, 1)));
    }

    #[test]
    fn full_grids_lack_nothing() {
        let rows: Vec<_> = [(1, 512), (1, 1024), (2, 512), (2, 1024)].map(|(b, l)| (decode(8, b, l), 1.0)).into();
        assert_eq!(ragged(&files([&rows])), None);
        assert_eq!(ragged(&[]), None);
    }
}
