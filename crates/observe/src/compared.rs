//! A measured load beside its prediction.

use rooflut_error::Error;
use serde::Serialize;
use serde_json::Value;

use crate::distribution::Distribution;
use crate::json::contents;
use crate::measured::Measured;
use crate::run::Run;

/// Shares that differ by less are about equal.
const EQUAL: f64 = 0.05;

/// A measured load beside the report of `rooflut run` on the same load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Compared {
    /// Share of measurements that the intervals are meant to contain; null for a report without intervals.
    pub coverage: Option<f64>,
    /// Figures that both have.
    pub figures: Vec<Figure>,
    /// Terms of the difference of the mean E2E, predicted less measured, the largest first.
    pub terms: Vec<Term>,
    /// Differences between the two that may explain it.
    pub remarks: Vec<String>,
}

/// A figure, measured and predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Figure {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: &'static str,
    /// As measured.
    pub measured: f64,
    /// As predicted.
    pub predicted: f64,
    /// The prediction less the measurement in percent of the measurement.
    pub error_percent: f64,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether the measurement lies in the interval.
    pub is_inside: Option<bool>,
}

/// A term of a difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Term {
    /// Its name.
    pub name: &'static str,
    /// The prediction less the measurement, milliseconds.
    pub difference_ms: f64,
}

impl Measured {
    /// Compares a run with `report`, the JSON of `rooflut run --json`.
    ///
    /// # Errors
    /// No run of this index, and a report without figures.
    pub fn compared(&self, run: usize, report: &Value) -> Result<Compared, Error> {
        let run = self
            .runs
            .get(run)
            .ok_or_else(|| contents("expected a load with figures, found none; add the result of a benchmark"))?;
        let predicted = |path: &str| report.pointer(path).and_then(Value::as_f64);
        let figures: Vec<Figure> = figures(run, &predicted).collect();
        if figures.is_empty() {
            return Err(contents(
                "expected the report of a run, found none of its figures; write it with `rooflut run --json`",
            ));
        }
        Ok(Compared {
            coverage: predicted("/interval/coverage"),
            figures,
            terms: self.terms(run, &predicted),
            remarks: self.remarks(run, &predicted),
        })
    }

    /// Splits the difference of the mean E2E as far as both tell.
    fn terms(&self, run: &Run, predicted: &dyn Fn(&str) -> Option<f64>) -> Vec<Term> {
        let term = |name, measured: Option<f64>, predicted: Option<f64>| {
            Some(Term { name, difference_ms: predicted? - measured? })
        };
        let less = |a: Option<f64>, b: Option<f64>| Some(a? - b?);
        let queue = (self.metrics.get("queue_ms").copied(), predicted("/queue_ms/mean"));
        let ttft = (run.ttft_ms.mean, predicted("/ttft_ms/mean"));
        let first = match queue {
            (Some(_), Some(_)) => [
                term("queue", queue.0, queue.1),
                term("prompts and API server", less(ttft.0, queue.0), less(ttft.1, queue.1)),
            ],
            _ => [term("time to first token", ttft.0, ttft.1), None],
        };
        let decode = (less(run.e2e_ms.mean, ttft.0), less(predicted("/e2e_ms/mean"), ttft.1));
        // Tokens after the first, at the measured time of each; the rest is the time of each.
        let per_request =
            || Some(predicted("/throughput/output_tokens_per_s")? / predicted("/throughput/requests_per_s")?);
        let tokens = less(per_request(), run.load.output_tokens.mean);
        let by_tokens = tokens.zip(run.tpot_ms.mean).map(|(tokens, tpot)| tokens * tpot);
        let decode_term =
            |name, share: Option<f64>| Some(Term { name, difference_ms: less(decode.1, decode.0)? - share? });
        let rest = match by_tokens {
            Some(by_tokens) => [
                Some(Term { name: "length of the answers", difference_ms: by_tokens }),
                decode_term("time per output token", Some(by_tokens)),
            ],
            None => [decode_term("time after the first token", Some(0.0)), None],
        };
        let mut terms: Vec<Term> = first.into_iter().chain(rest).flatten().collect();
        terms.retain(|term| term.difference_ms != 0.0);
        terms.sort_by(|a, b| b.difference_ms.abs().total_cmp(&a.difference_ms.abs()));
        terms
    }

    /// Returns differences of the load and of the server that explain others, the largest first.
    fn remarks(&self, run: &Run, predicted: &dyn Fn(&str) -> Option<f64>) -> Vec<String> {
        let metric = |name: &str| self.metrics.get(name).copied();
        let fact = |name: &str| self.facts.get(name).and_then(|fact| fact.value.as_f64());
        let hits = metric("prefix_hit_rate");
        let pairs = [
            ("requests per second", run.requests_per_s, predicted("/throughput/requests_per_s")),
            ("KV blocks", fact("kv_blocks"), predicted("/kv_blocks")),
            ("requests in flight", run.load.concurrency, predicted("/running_mean")),
            (
                "prefix hits, % of prompt tokens",
                hits.map(|share| 100.0 * share),
                predicted("/prefix_cache_hit_rate").map(|share| 100.0 * share),
            ),
            ("preemptions", metric("preemptions"), predicted("/preemptions")),
        ];
        let mut differing: Vec<(f64, String)> = pairs
            .into_iter()
            .filter_map(|(name, measured, predicted)| {
                let (measured, predicted) = measured.zip(predicted)?;
                let share = (predicted - measured).abs() / measured.max(predicted);
                (share > EQUAL).then(|| (share, format!("{name}: {measured:.1} measured, {predicted:.1} predicted")))
            })
            .collect();
        differing.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        differing.into_iter().map(|(_, text)| text).collect()
    }
}

fn figures<'f>(run: &'f Run, predicted: &'f dyn Fn(&str) -> Option<f64>) -> impl Iterator<Item = Figure> + 'f {
    let latencies = run.latencies().into_iter().flat_map(move |(key, figures)| {
        let Distribution { mean, p50, p90, p95, p99, .. } = *figures;
        let named = [("mean", mean), ("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99)];
        named.into_iter().filter_map(move |(name, measured)| {
            let label = format!("{} {name}", key.trim_end_matches("_ms").to_uppercase());
            figure(label, "ms", measured?, &format!("{key}/{name}"), &format!("{key}/{name}"), predicted)
        })
    });
    let rates = [
        ("requests", run.requests_per_s, "requests_per_s"),
        ("output tokens", run.output_tokens_per_s, "output_tokens_per_s"),
    ];
    let rates = rates.into_iter().filter_map(move |(name, measured, key)| {
        figure(name.to_owned(), "1/s", measured?, &format!("throughput/{key}"), key, predicted)
    });
    latencies.chain(rates)
}

fn figure(
    name: String,
    unit: &'static str,
    measured: f64,
    path: &str,
    interval: &str,
    of_report: &dyn Fn(&str) -> Option<f64>,
) -> Option<Figure> {
    let predicted = of_report(&format!("/{path}")).filter(|_| measured > 0.0)?;
    let [low, high] = ["low", "high"].map(|end| of_report(&format!("/interval/{interval}/{end}")));
    let is_inside = low.zip(high).map(|(low, high)| (low..=high).contains(&measured));
    let error_percent = 100.0 * (predicted / measured - 1.0);
    Some(Figure { name, unit, measured, predicted, error_percent, low, high, is_inside })
}
