//! Figures of two reports.

use serde::Serialize;

use super::read::Figures;

/// A figure of two reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figure {
    /// Group of figures: `latency`, `served`, `step` or `server`.
    pub group: &'static str,
    /// Name, with the unit.
    pub name: String,
    /// The figure of the first report; null where it has none.
    pub a: Option<f64>,
    /// The figure of the second.
    pub b: Option<f64>,
    /// The second less the first.
    pub difference: Option<f64>,
    /// The difference in percent of the first.
    pub percent: Option<f64>,
}

impl Figure {
    fn new(group: &'static str, name: &str, [a, b]: [Option<f64>; 2]) -> Figure {
        let difference = a.zip(b).map(|(a, b)| b - a);
        let percent = difference.zip(a.filter(|a| *a != 0.0));
        Figure {
            group,
            name: name.to_owned(),
            a,
            b,
            difference,
            percent: percent.map(|(difference, a)| 100.0 * difference / a.abs()),
        }
    }
}

type Of = fn(&Figures) -> Option<f64>;

/// The figures before and after the parts of a step.
const BEFORE: [(&str, &str, Of); 15] = [
    ("latency", "TTFT mean ms", |it| it.ttft_ms.mean),
    ("latency", "  in the queue", |it| it.queue_ms.mean),
    ("latency", "  prefill, API server", Figures::prefill_ms),
    ("latency", "TTFT p99 ms", |it| it.ttft_ms.p99),
    ("latency", "TPOT mean ms", |it| it.tpot_ms.mean),
    ("latency", "ITL p99 ms", |it| it.itl_ms.p99),
    ("latency", "E2E mean ms", |it| it.e2e_ms.mean),
    ("latency", "E2E p99 ms", |it| it.e2e_ms.p99),
    ("served", "requests/s", |it| {
        Some(it.throughput.requests_per_s)
    }),
    ("served", "output tokens/s", |it| {
        Some(it.throughput.output_tokens_per_s)
    }),
    ("served", "within limits/s", |it| {
        Some(it.goodput?.requests_per_s)
    }),
    ("served", "rejected requests", |it| Some(it.rejected)),
    ("served", "USD per 1M output tokens", |it| {
        it.cost?.usd_per.million_output_tokens
    }),
    ("served", "Wh per 1M output, at most", |it| {
        it.energy_bound?.wh_per.million_output_tokens
    }),
    ("step", "mean step ms", |it| it.mean_step_ms),
];
const AFTER: [(&str, &str, Of); 6] = [
    ("server", "requests a step", |it| Some(it.batch_size?.mean)),
    ("server", "busy %", |it| Some(100.0 * it.busy_share)),
    ("server", "weights GB", |it| Some(it.weight_bytes / 1e9)),
    ("server", "KV cache, tokens", |it| {
        Some(it.kv_blocks * it.block_size)
    }),
    ("server", "KV cache at the peak %", |it| {
        Some(100.0 * it.peak_kv_share()?)
    }),
    ("server", "preemptions", |it| Some(it.preemptions)),
];

/// Returns the figures that one of two reports has.
pub(super) fn of(a: &Figures, b: &Figures) -> Vec<Figure> {
    let named =
        |(group, name, of): &(&'static str, &str, Of)| Figure::new(group, name, [a, b].map(of));
    let parts = parts(a, b).into_iter().map(|part| {
        let ms = [a, b].map(|it| it.part_ms(&part));
        Figure::new("step", &format!("  {part}"), ms)
    });
    let figures = BEFORE
        .iter()
        .map(named)
        .chain(parts)
        .chain(AFTER.iter().map(named));
    figures
        .filter(|figure| figure.a.is_some() || figure.b.is_some())
        .collect()
}

/// Returns the parts of a step that take time in one of two reports, in their order.
pub(super) fn parts(a: &Figures, b: &Figures) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figures in [a, b] {
        for name in figures.time_share_by_part.keys() {
            let takes_time = [a, b]
                .iter()
                .any(|it| it.part_ms(name).is_some_and(|ms| ms > 0.0));
            if takes_time && !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}
