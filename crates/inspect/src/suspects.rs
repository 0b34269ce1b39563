//! Suspects: rows that agree with their neighbours, and not with other shapes, formats or the link.

use std::collections::BTreeMap;

use rooflut::hardware::{AttentionShape, OperationKind};

use crate::family::Family;
use crate::row::Row;

/// Least ratio of latencies for a suspect: of a decode row and of a row with at least as much work.
pub const UNSPLIT: f64 = 2.0;
/// Least ratio of smallest latencies for a suspect: of a family and of its peers.
pub const EAGER: f64 = 5.0;
/// Share of a family that is launch bound if its smallest call is: rows of less than this many times its latency.
pub const LAUNCH_BOUND: f64 = 2.5;
/// Least ratio of the latency of a collective to its reference time, to be a suspect.
pub const HOST: f64 = 4.0;

/// Why rows are suspects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Decode attention takes at least [`UNSPLIT`] times as long as with as many heads or more, at the same batch and
    /// length: the kernel does not split the KV entries of a request over the SMs.
    Unsplit,
    /// The smallest call takes at least [`EAGER`] times as long as with another format, or in another kind of the same
    /// layer: the call was timed without a CUDA graph, so its launches count.
    Eager,
    /// Large messages take at least [`HOST`] times as long as the link: the GPUs of this host have no peer-to-peer
    /// access.
    Host,
}

/// Rows that another shape, another format or the link contradicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// Why they are suspects.
    pub cause: Cause,
    /// The indices of the rows in the family, the farthest first. Each comes with the latency to compare with, in
    /// microseconds.
    pub rows: Vec<(usize, f64)>,
}

/// Compares a family with itself and with its peers among `families`, and returns the suspects.
pub fn suspects(families: &[Family], family: &Family) -> Vec<Suspect> {
    let found =
        [(Cause::Unsplit, unsplit(family)), (Cause::Eager, eager(families, family)), (Cause::Host, host(family))];
    let found = found.into_iter().filter(|(_, rows)| !rows.is_empty());
    let sorted = found.map(|(cause, mut rows)| {
        let ratio = |&(row, us): &(usize, f64)| family.rows.get(row).map_or(0.0, |row| row.latency_us / us);
        rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        Suspect { cause, rows }
    });
    sorted.collect()
}

/// Returns the decode rows that take longer than those of as many heads or more at the same point.
fn unsplit(family: &Family) -> Vec<(usize, f64)> {
    if family.operation != OperationKind::Decode {
        return Vec::new();
    }
    let heads = |row: &Row| {
        let shape = row.kernel.shape::<AttentionShape>().local();
        [shape.head_dim, shape.kv_heads, shape.q_heads]
    };
    let mut points = BTreeMap::<[u32; 2], Vec<(usize, &Row)>>::new();
    for (place, row) in family.rows.iter().enumerate() {
        points.entry(row.point).or_default().push((place, row));
    }
    let mut found = Vec::new();
    for rows in points.values() {
        for &(place, row) in rows {
            let own = heads(row);
            let more = rows.iter().filter(|(_, other)| heads(other).iter().zip(own).all(|(other, own)| *other >= own));
            let least = more.map(|(_, other)| other.latency_us).min_by(f64::total_cmp);
            found.extend(least.filter(|us| row.latency_us >= UNSPLIT * us).map(|us| (place, us)));
        }
    }
    found
}

/// Returns the launch-bound rows of a family whose smallest call takes longer than that of its peers.
fn eager(families: &[Family], family: &Family) -> Vec<(usize, f64)> {
    let smallest = |family: &Family| {
        let latencies = family.rows.iter().map(|row| row.latency_us);
        latencies.min_by(f64::total_cmp)
    };
    let peers = families.iter().filter(|peer| kind(peer.operation) == kind(family.operation));
    let (Some(own), Some(peer)) = (smallest(family), peers.filter_map(smallest).min_by(f64::total_cmp)) else {
        return Vec::new();
    };
    let is_launch_bound = |row: &Row| own >= EAGER * peer && row.latency_us < LAUNCH_BOUND * own;
    let rows = family.rows.iter().enumerate().filter(|(_, row)| is_launch_bound(row));
    rows.map(|(place, _)| (place, peer)).collect()
}

/// Returns the operation whose launches an operation has about as many of: sparse latent attention counts as latent.
fn kind(operation: OperationKind) -> OperationKind {
    match operation {
        OperationKind::DsaPrefill => OperationKind::MlaPrefill,
        OperationKind::DsaDecode => OperationKind::MlaDecode,
        other => other,
    }
}

/// Returns the rows of collectives that move messages at a fraction of the link's rate, among ranks of which the
/// largest message does.
fn host(family: &Family) -> Vec<(usize, f64)> {
    use OperationKind::{AllGather, AllReduce, ReduceScatter};
    if ![AllReduce, AllGather, ReduceScatter].contains(&family.operation) {
        return Vec::new();
    }
    let references = family.rows.iter().map(|row| row.reference_us);
    let launch = references.min_by(f64::total_cmp).unwrap_or_default();
    let is_slow = |row: &Row| row.latency_us >= HOST * row.reference_us && row.reference_us >= 2.0 * launch;
    let last = |row: &Row| {
        let same = family.rows.iter().filter(|other| other.shape == row.shape);
        same.max_by_key(|other| other.point)
    };
    let rows = family.rows.iter().enumerate().filter(|(_, row)| is_slow(row) && last(row).is_some_and(is_slow));
    rows.map(|(place, row)| (place, row.reference_us)).collect()
}
