//! All-reduce.

use rooflut::table::Class;

use super::{Answer, at_best, axis, neighbours};
use crate::support::tables::Tables;

/// Answers with the slowdown of the measured number of ranks, or the next larger.
pub(crate) fn allreduce(tables: &Tables, ranks: u32, bytes: u64) -> Answer {
    let bytes = (bytes as f64).max(1.0);
    let measured = axis(tables.allreduce.iter().map(|row| row.shape.ranks));
    let matched = measured.into_iter().find(|&other| other >= f64::from(ranks)).unwrap();
    let of_ranks = || tables.allreduce.iter().filter(|row| f64::from(row.shape.ranks) == matched);
    let reference = |bytes: f64| tables.t0("allreduce") + bytes / tables.gpu.link;
    let row = |bytes: f64| of_ranks().find(|row| f64::from(row.amount) == bytes);
    let ln_slowdown = |bytes: f64| (row(bytes).unwrap().us * 1e-6 / reference(bytes)).ln();
    let (lower, upper, share, place) = neighbours(&axis(of_ranks().map(|row| row.amount)), bytes);
    let ln_slowdown = (1.0 - share) * ln_slowdown(lower) + share * ln_slowdown(upper);
    let seconds = reference(bytes) * ln_slowdown.exp();
    if matched == f64::from(ranks) {
        Answer::new(row(bytes).map_or(seconds, |row| row.us * 1e-6), place, 0.0)
    } else {
        Answer::new(seconds, at_best(place, Class::Transferred), 0.0)
    }
}
