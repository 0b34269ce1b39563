//! Figures of two reports.

use std::collections::BTreeSet;

use rooflut::step::Part;
use serde::Serialize;

use super::read::Figures;

/// A figure of two reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figure {
    /// Group of figures: `latency`, `served`, `step` or `server`.
    pub group: &'static str,
    /// Name.
    pub name: String,
    /// Unit; empty for a count.
    pub unit: &'static str,
    /// Whether it is a term of the last figure that is none.
    pub is_term: bool,
    /// The figure of the first report; null where it has none.
    pub a: Option<f64>,
    /// The figure of the second.
    pub b: Option<f64>,
    /// The second less the first.
    pub difference: Option<f64>,
    /// The difference in percent of the first.
    pub percent: Option<f64>,
}

/// Name, unit and value of a figure.
type Named = (&'static str, &'static str, fn(&Figures) -> Option<f64>);

const TTFT: [Named; 1] = [("TTFT mean", "ms", |it| it.ttft_ms.mean)];
const TERMS_OF_TTFT: [Named; 2] =
    [("queue", "ms", |it| it.queue_ms.mean), ("prefill and API server", "ms", Figures::prefill_ms)];
const LATENCY: [Named; 5] = [
    ("TTFT p99", "ms", |it| it.ttft_ms.p99),
    ("TPOT mean", "ms", |it| it.tpot_ms.mean),
    ("ITL p99", "ms", |it| it.itl_ms.p99),
    ("E2E mean", "ms", |it| it.e2e_ms.mean),
    ("E2E p99", "ms", |it| it.e2e_ms.p99),
];
const SERVED: [Named; 6] = [
    ("requests", "1/s", |it| Some(it.throughput.requests_per_s)),
    ("output tokens", "1/s", |it| Some(it.throughput.output_tokens_per_s)),
    ("requests within limits", "1/s", |it| Some(it.goodput?.requests_per_s)),
    ("rejected requests", "", |it| Some(it.rejected)),
    ("cost of 1M output tokens", "USD", |it| it.cost?.usd_per.million_output_tokens),
    ("energy of these, at most", "Wh", |it| it.energy_bound?.wh_per.million_output_tokens),
];
const STEP: [Named; 1] = [("mean step", "ms", |it| it.mean_step_ms)];
const SERVER: [Named; 6] = [
    ("requests a step", "", |it| Some(it.batch_size?.mean)),
    ("busy", "%", |it| Some(100.0 * it.busy_share)),
    ("weights", "GB", |it| Some(it.weight_bytes / 1e9)),
    ("KV cache", "tokens", |it| Some(it.kv_blocks * it.block_size)),
    ("KV cache at the peak", "%", |it| Some(100.0 * it.peak_kv_share()?)),
    ("preemptions", "", |it| Some(it.preemptions)),
];

/// Returns the figures that one of two reports has.
pub(super) fn of(a: &Figures, b: &Figures) -> Vec<Figure> {
    let group = |group, is_term, all: &[Named]| {
        let figure = |(name, unit, of): &Named| Figure { is_term, unit, ..Figure::new(group, name, [a, b].map(of)) };
        all.iter().map(figure).collect::<Vec<_>>()
    };
    let parts = parts(a, b).into_iter().map(|part| {
        let ms = [a, b].map(|it| it.part_ms(&part));
        Figure::new("step", &part, ms)
    });
    let all = [
        group("latency", false, &TTFT),
        group("latency", true, &TERMS_OF_TTFT),
        group("latency", false, &LATENCY),
        group("served", false, &SERVED),
        group("step", false, &STEP),
        parts.collect(),
        group("server", false, &SERVER),
    ];
    let figures = all.into_iter().flatten();
    figures.filter(|figure| figure.a.is_some() || figure.b.is_some()).collect()
}

impl Figure {
    /// Returns a term in milliseconds.
    fn new(group: &'static str, name: &str, [a, b]: [Option<f64>; 2]) -> Figure {
        let difference = a.zip(b).map(|(a, b)| b - a);
        let percent = difference.zip(a.filter(|a| *a != 0.0));
        Figure {
            group,
            name: name.to_owned(),
            unit: "ms",
            is_term: true,
            a,
            b,
            difference,
            percent: percent.map(|(difference, a)| 100.0 * difference / a.abs()),
        }
    }
}

/// Returns the parts of a step that take time in one of two reports: in their order, then those of other versions.
pub(super) fn parts(a: &Figures, b: &Figures) -> Vec<String> {
    let known = || Part::ALL.into_iter().map(|part| part.name().to_owned());
    let found = [a, b].into_iter().flat_map(|it| it.time_share_by_part.keys());
    let others: BTreeSet<String> = found.cloned().collect();
    let others = others.into_iter().filter(|name| known().all(|part| part != *name));
    let takes_time = |name: &String| {
        let ms = |it: &Figures| it.part_ms(name).unwrap_or(0.0);
        ms(a) > 0.0 || ms(b) > 0.0
    };
    known().chain(others).filter(takes_time).collect()
}
