//! Figures by kind of server.

use std::ops::Range;

use rooflut::sim::figures::{Digest, Stages, Summary, Totals};
use rooflut::sim::{Observer as _, RequestRecord, StepRecord};

use crate::kind::Group;

/// An observer that computes the figures of each group of equal servers.
#[derive(Debug)]
pub(crate) struct Groups {
    groups: Vec<Observed>,
    /// An empty digest.
    empty: Digest,
    /// Largest numbers of KV blocks of each replica.
    peaks: Vec<u32>,
}

#[derive(Debug)]
struct Observed {
    replicas: Range<u32>,
    kv_blocks: u32,
    digest: Digest,
    /// Requests whose prompts prefill servers computed.
    prefilled: u64,
}

/// Figures of a group of equal servers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GroupFigures {
    /// The figures, of the part of the run that those of the whole run are of. Latencies are those of the requests that
    /// end on these servers.
    pub summary: Summary,
    /// Requests that these servers served, or computed the prompts of.
    pub requests: u64,
}

impl Groups {
    pub(crate) fn new(groups: &[Group<'_>], empty: Digest) -> Groups {
        let observed = |group: &Group<'_>| Observed {
            replicas: group.replicas.clone(),
            kv_blocks: group.kind.config().kv_blocks.saturating_mul(group.replicas.len() as u32),
            digest: empty.clone(),
            prefilled: 0,
        };
        let peaks = vec![0; groups.last().map_or(0, |last| last.replicas.end as usize)];
        Groups { groups: groups.iter().map(observed).collect(), empty, peaks }
    }

    /// Forgets all so far but the peaks.
    pub(crate) fn restart(&mut self) {
        for group in &mut self.groups {
            group.digest = self.empty.clone();
            group.prefilled = 0;
        }
    }

    /// Counts a step, which belongs to the figures or to the peaks alone.
    pub(crate) fn step(&mut self, step: &StepRecord, is_counted: bool) {
        if let Some(peak) = self.peaks.get_mut(step.replica as usize) {
            *peak = step.kv_blocks_used.max(*peak);
        }
        if is_counted && let Some(group) = self.of(step.replica) {
            group.digest.step(step);
        }
    }

    pub(crate) fn finished(&mut self, index: usize, record: &RequestRecord) {
        let Some(timing) = record.timing() else {
            return;
        };
        if let Some(transfer) = &timing.kv_transfer
            && let Some(group) = self.of(transfer.prefill_replica)
        {
            group.prefilled += 1;
        }
        if let Some(group) = self.of(timing.replica) {
            group.digest.finished(index, record);
        }
    }

    /// Returns the figures between two times of the run that ended with `totals`.
    pub(crate) fn into_figures(self, totals: &Totals, [from_ns, to_ns]: [u64; 2]) -> Vec<GroupFigures> {
        let Groups { groups, peaks, .. } = self;
        let figures = groups.into_iter().map(|Observed { replicas, kv_blocks, digest, prefilled }| {
            let mut of_group = *totals;
            of_group.replicas = replicas.end - replicas.start;
            of_group.kv_blocks = kv_blocks;
            let own = peaks.get(replicas.start as usize..replicas.end as usize).unwrap_or_default();
            of_group.peak_kv_blocks = own.iter().sum();
            of_group.stages = Stages::default();
            let summary = digest.into_window(&of_group, from_ns, to_ns);
            GroupFigures { requests: prefilled + summary.completed, summary }
        });
        figures.collect()
    }

    fn of(&mut self, replica: u32) -> Option<&mut Observed> {
        self.groups.iter_mut().find(|group| group.replicas.contains(&replica))
    }
}
