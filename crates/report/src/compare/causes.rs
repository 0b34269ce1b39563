//! Terms that differences consist of.

use serde::Serialize;

use super::figures::parts;
use super::read::{Figures, ReadReport};

/// A KV cache that is fuller than this is short.
const FULL: f64 = 0.95;
/// Batches that differ by less are about equal.
const EQUAL_BATCHES: f64 = 0.05;

/// A difference, and the terms that add up to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Cause {
    /// The figure that differs.
    pub figure: &'static str,
    /// The second report less the first, milliseconds.
    pub difference_ms: f64,
    /// Its terms, the largest first.
    pub terms: Vec<Term>,
}

/// A term of a difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Term {
    /// Its name.
    pub name: String,
    /// The second report less the first, milliseconds.
    pub difference_ms: f64,
}

/// Returns the differences of the mean end-to-end latency and of the mean step, as far as both reports have them.
pub(super) fn of(a: &Figures, b: &Figures) -> Vec<Cause> {
    let difference = |of: &dyn Fn(&Figures) -> Option<f64>| Some(of(b)? - of(a)?);
    let term = |name: &str, of: &dyn Fn(&Figures) -> Option<f64>| {
        Some(Term { name: name.to_owned(), difference_ms: difference(of)? })
    };
    let e2e = [
        term("queue", &|it| it.queue_ms.mean),
        term("prefill and API server", &Figures::prefill_ms),
        term("decode", &Figures::decode_ms),
    ];
    let of_parts = parts(a, b);
    // A part that only one step has takes no time in the other.
    let of_parts = of_parts.iter().map(|part| {
        term(part, &|it| {
            it.mean_step_ms?;
            Some(it.part_ms(part).unwrap_or(0.0))
        })
    });
    let cause = |figure, difference_ms: Option<f64>, terms: Vec<Option<Term>>| {
        let mut terms: Vec<Term> = terms.into_iter().flatten().collect();
        terms.sort_by(|a, b| b.difference_ms.abs().total_cmp(&a.difference_ms.abs()));
        terms.retain(|term| term.difference_ms != 0.0);
        Some(Cause { figure, difference_ms: difference_ms?, terms })
    };
    let causes = [
        cause("E2E mean", difference(&|it| it.e2e_ms.mean), e2e.into()),
        cause("mean step", difference(&|it| it.mean_step_ms), of_parts.collect()),
    ];
    causes.into_iter().flatten().collect()
}

/// Returns remarks on loads, queues, batches and memory that explain differences or limit what they mean.
pub(super) fn remarks(a: &ReadReport, b: &ReadReport) -> Vec<String> {
    let mut remarks = Vec::new();
    let differs = |key: &str| a.keys.get(key) != b.keys.get(key);
    if differs("load") || differs("requests") {
        remarks.push("the loads differ, so that the figures compare loads as well as servers".to_owned());
    }
    for (name, it) in [("A", &a.figures), ("B", &b.figures)] {
        if it.overloaded {
            remarks.push(format!(
                "{name} does not keep up with its load: its queue grows during the whole run, and so would its \
                 latencies with more requests"
            ));
        }
        let full = it.peak_kv_share().filter(|share| *share >= FULL);
        if let Some(share) = full {
            remarks.push(format!(
                "{name} fills {:.0} % of its {} KV blocks at the peak, so memory limits its batch ({} preemptions)",
                100.0 * share,
                it.kv_blocks,
                it.preemptions
            ));
        }
    }
    let batches = a.figures.batch_size.zip(b.figures.batch_size);
    if let Some((a, b)) = batches.filter(|(a, b)| (b.mean / a.mean - 1.0).abs() > EQUAL_BATCHES) {
        remarks.push(format!(
            "a step of A computes {:.1} requests on average, a step of B {:.1}: the step times belong to different \
             batches",
            a.mean, b.mean
        ));
    }
    remarks
}
