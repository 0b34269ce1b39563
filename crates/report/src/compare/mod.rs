//! Two reports side by side.

mod causes;
mod figures;
mod read;
mod settings;

pub use causes::{Cause, Term};
pub use figures::Figure;
pub use read::ReadReport;
pub use settings::Setting;

use serde::Serialize;

/// Two reports side by side: what was given, what was predicted, and which terms the differences consist of.
///
/// ```
/// use rooflut_report::compare::{Comparison, ReadReport};
/// let error = ReadReport::read(b"{\"model\": \"llama-3.1-8b\"}").unwrap_err();
/// assert!(error.to_string().contains("missing field `gpu`"), "{error}");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Comparison {
    /// Settings that differ.
    pub settings: Vec<Setting>,
    /// Figures of both, in the order of a report.
    pub figures: Vec<Figure>,
    /// Differences with their terms.
    pub causes: Vec<Cause>,
    /// Remarks on queues, batches and memory.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// Compares two reports.
    pub fn of(a: &ReadReport, b: &ReadReport) -> Comparison {
        Comparison {
            settings: settings::differing(a, b),
            figures: figures::of(&a.figures, &b.figures),
            causes: causes::of(&a.figures, &b.figures),
            remarks: causes::remarks(a, b),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report(queue: f64, step: f64) -> Value {
        let mean = |ms: f64| json!({"mean": ms, "p50": null, "p90": null, "p95": null, "p99": null});
        json!({
            "model": "m", "gpu": "g", "gpus": 2, "tp": 2, "weight_bytes": 1e9,
            "load": {"kind": "poisson", "requests_per_s": 5.0},
            "ttft_ms": mean(queue + 30.0), "tpot_ms": mean(step), "itl_ms": mean(step),
            "e2e_ms": mean(queue + 30.0 + 100.0 * step), "queue_ms": mean(queue), "overloaded": false,
            "throughput": {"requests_per_s": 4.0, "output_tokens_per_s": 400.0, "total_tokens_per_s": 900.0},
            "rejected": 0, "preemptions": 0, "mean_step_ms": step, "busy_share": 0.5,
            "batch_size": {"mean": 8.0}, "kv_blocks": 100, "kv_blocks_peak": 20, "block_size": 16,
            "time_share_by_part": {"qkv": 0.25, "down": 0.75, "moe": 0.0},
        })
    }

    fn read(report: &Value) -> ReadReport {
        ReadReport::read(report.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn terms_add_up_to_the_difference_and_the_largest_comes_first() {
        let comparison = Comparison::of(&read(&report(10.0, 8.0)), &read(&report(50.0, 4.0)));
        assert!(comparison.settings.is_empty() && comparison.remarks.is_empty());
        let causes = comparison.causes.iter();
        let causes: Vec<_> = causes
            .map(|cause| {
                let terms = cause.terms.iter().map(|term| (term.name.as_str(), term.difference_ms));
                (cause.difference_ms, terms.collect::<Vec<_>>())
            })
            .collect();
        let expected =
            [(-360.0, vec![("decode", -400.0), ("queue", 40.0)]), (-4.0, vec![("down", -3.0), ("qkv", -1.0)])];
        assert_eq!(causes, expected);
        let names = comparison.figures.iter().filter(|figure| figure.is_term);
        let names: Vec<&str> = names.map(|figure| figure.name.as_str()).collect();
        // Parts that take no time in either are left out.
        assert_eq!(names, ["queue", "prefill and API server", "qkv", "down"]);
    }

    #[test]
    fn what_differs_is_named_key_by_key() {
        let (a, mut b) = (report(10.0, 8.0), report(10.0, 8.0));
        b["tp"] = json!(4);
        b["load"] = json!({"kind": "closed_loop", "users": 3});
        b["overloaded"] = json!(true);
        b["kv_blocks_peak"] = json!(100);
        b["batch_size"]["mean"] = json!(16.0);
        let comparison = Comparison::of(&read(&a), &read(&b));
        let keys: Vec<&str> = comparison.settings.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["tp", "load.kind", "load.requests_per_s", "load.users"]);
        let starts = ["the loads differ", "B does not keep up", "B fills 100 %", "a step of A computes 8.0"];
        assert_eq!(comparison.remarks.len(), starts.len());
        for (remark, start) in comparison.remarks.iter().zip(starts) {
            assert!(remark.starts_with(start), "{remark}");
        }
        assert!(comparison.causes.iter().all(|cause| cause.terms.is_empty()));
    }

    #[test]
    fn other_json_is_refused() {
        let refused = |json: &str| ReadReport::read(json.as_bytes()).unwrap_err().to_string();
        assert!(refused("[1]").contains("found another JSON value than an object"));
        assert!(refused("{\"model\":").starts_with("expected JSON: "));
        let newer = json!({"schema_version": 99}).to_string();
        assert!(refused(&newer).contains("expected schema_version 1, found 99"));
        let mut wrong = report(1.0, 1.0);
        wrong["gpus"] = json!("two");
        assert!(refused(&wrong.to_string()).starts_with("expected the report of a run: invalid type"));
    }
}
