//! Eager floors: below some size all kernels take as long as a launch from the host.

use rooflut_codegen::OperationKind;
use rooflut_roofline::Gpu;

use crate::kernel;
use crate::reading::Reading;

/// The shortest floor of launches from the host, microseconds. The floors of CUDA graphs are at 9 to 14 us
/// (attention), those of eager launches at 21 to 24 us.
const SHORTEST_US: f64 = 15.0;
/// The height of a floor, relative to the shortest latency of its shape.
const HEIGHT: f64 = 1.15;
/// The least ratio of the largest work to the smallest on a floor.
const SPREAD: f64 = 8.0;
/// The largest share of the time that the work explains.
const EXPLAINED: f64 = 0.5;
/// The least number of points on a floor.
const POINTS: usize = 3;

/// The rows at the floor.
#[derive(Debug, PartialEq)]
pub(crate) struct Floor {
    /// Indices of readings.
    pub(crate) rows: Vec<usize>,
    pub(crate) shortest_us: f64,
    pub(crate) longest_us: f64,
}

/// Finds the rows of one operation whose latency is that of an eager launch.
///
/// A shape has a floor if its shortest latency is at least 15 us, and the work of the three or more rows
/// within 15 % of it spans a factor of 8 and explains at most half of their time. The latency of the link
/// of an all-reduce has the same form: none is reported.
pub(crate) fn floor(readings: &[Reading], gpu: &Gpu) -> Option<Floor> {
    let mut rows: Vec<(&Reading, usize)> = readings.iter().zip(0..).collect();
    rows.sort_by_key(|(row, index)| (kernel::shape(&row.kernel), *index));
    let shapes = rows.chunk_by(|(a, _), (b, _)| kernel::shape(&a.kernel) == kernel::shape(&b.kernel));
    let mut at_floor: Vec<(usize, f64)> = shapes.flat_map(|rows| of_shape(rows, gpu)).collect();
    at_floor.sort_by_key(|(index, _)| *index);
    let latencies = || at_floor.iter().map(|(_, us)| *us);
    Some(Floor {
        shortest_us: latencies().min_by(f64::total_cmp)?,
        longest_us: latencies().max_by(f64::total_cmp)?,
        rows: at_floor.into_iter().map(|(index, _)| index).collect(),
    })
}

/// Returns the rows of a shape that are at its floor, with their latencies; none if it has no floor.
fn of_shape(rows: &[(&Reading, usize)], gpu: &Gpu) -> Vec<(usize, f64)> {
    let kernels = rows.iter().filter(|(row, _)| row.kernel.operation() != OperationKind::AllReduce);
    let shortest = kernels.map(|(row, _)| row.latency_us).min_by(f64::total_cmp);
    let Some(shortest) = shortest.filter(|us| *us >= SHORTEST_US) else {
        return Vec::new();
    };
    let bound_us = |row: &Reading| {
        let rates = gpu.rates(row.kernel.dtype());
        rates.map_or(f64::INFINITY, |rates| row.kernel.work().bound_s(&rates) * 1e6)
    };
    let at_floor: Vec<(usize, f64, f64)> = rows
        .iter()
        .map(|(row, index)| (*index, row.latency_us, bound_us(row)))
        .filter(|(_, us, bound)| *us <= HEIGHT * shortest && *bound <= EXPLAINED * us)
        .collect();
    let bounds = || at_floor.iter().map(|(.., bound)| *bound);
    let least = bounds().min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
    let most = bounds().max_by(f64::total_cmp).unwrap_or(0.0);
    if at_floor.len() >= POINTS && most >= SPREAD * least {
        at_floor.into_iter().map(|(index, us, _)| (index, us)).collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defects::made_up::{GPU, decode, files};

    fn rows(latencies: [f64; 5]) -> Vec<Reading> {
        let lengths = [512, 1024, 4096, 8192, 65_536];
        let rows: Vec<_> = lengths.into_iter().zip(latencies).collect();
        files([&rows.iter().map(|(kv_len, us)| (decode(8, 1, *kv_len), *us)).collect::<Vec<_>>()])
    }

    #[test]
    fn a_plateau_of_launches_is_a_floor() {
        let floor = floor(&rows([22.0, 23.0, 21.5, 23.5, 120.0]), &GPU).unwrap();
        assert_eq!(floor.rows, [0, 1, 2, 3]);
        assert_eq!((floor.shortest_us, floor.longest_us), (21.5, 23.5));
    }

    #[test]
    fn graphs_and_times_that_grow_have_no_floor() {
        assert_eq!(floor(&rows([11.0, 11.5, 11.2, 12.0, 120.0]), &GPU), None);
        assert_eq!(floor(&rows([22.0, 30.0, 45.0, 60.0, 120.0]), &GPU), None);
        // Two points are not a plateau, however far apart.
        let two = rows([22.0, 45.0, 45.0, 22.5, 120.0]);
        assert_eq!(floor(&two, &GPU), None);
        assert_eq!(floor(&[], &GPU), None);
    }
}
