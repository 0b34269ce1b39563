//! Results of vLLM's serving benchmark.

use crate::support::{shapes, trace};
use rooflut_traces::{ArrivalSource, Format, LeftOut};

pub(crate) const SAMPLE: &str = r#"{
  "date": "20251101-120000", "backend": "vllm", "num_prompts": 4,
  "request_rate": 10.0, "burstiness": 1.0, "max_concurrency": null,
  "duration": 12.5, "completed": 3, "request_throughput": 0.24,
  "input_lens": [100, 200, 300, 400],
  "output_lens": [10, 20, 0, 40],
  "ttfts": [0.05, 0.06, 0.0, 0.04],
  "itls": [[0.01, 0.01], [0.02], [], [0.01]],
  "start_times": [5000.5, 5000.25, 5000.0, 5002.25],
  "generated_texts": ["a \"quoted\" text", "b", "", "d"],
  "errors": ["", "", "Connection reset", ""]
}
"#;

fn without_start_times() -> String {
    SAMPLE.replace("start_times", "other_times")
}

#[test]
fn start_times_are_the_arrivals() {
    let trace = trace(SAMPLE).unwrap();
    assert_eq!((trace.format, trace.arrivals), (Format::Vllm, ArrivalSource::Recorded));
    assert_eq!(shapes(&trace), [(250, 100, 10), (0, 200, 20), (2000, 400, 40)]);
    let on_one_line = SAMPLE.replace('\n', " ");
    assert_eq!(crate::support::trace(&on_one_line).as_ref(), Ok(&trace));
    assert_eq!(trace.left_out, [(LeftOut::NoOutput, 1)]);
}

#[test]
fn without_start_times_they_follow_the_rate() {
    let text = without_start_times().replace("[10, 20, 0, 40]", "[10, 20, 30, 40]");
    let trace = trace(&text).unwrap();
    let requests_per_s = 10.0;
    assert_eq!(trace.arrivals, ArrivalSource::Poisson { requests_per_s });
    let arrivals: Vec<u64> = trace.requests.iter().map(|request| request.arrival_ns).collect();
    assert!(arrivals.is_sorted() && arrivals[0] > 0, "{arrivals:?}");
    // vLLM stretches them to 4 requests / 10 per second.
    assert!(arrivals[3].abs_diff(400_000_000) <= 1, "{arrivals:?}");
    assert_eq!(crate::support::trace(&text), Ok(trace));
    for same in ["\"burstiness\": 1,", ""] {
        let text = text.replace("\"burstiness\": 1.0,", same);
        assert_eq!(crate::support::trace(&text).unwrap().arrivals, ArrivalSource::Poisson { requests_per_s });
    }
}

#[test]
fn an_infinite_rate_sends_all_at_the_start() {
    let text = without_start_times().replace("10.0", "\"inf\"");
    let trace = trace(&text).unwrap();
    assert_eq!(trace.arrivals, ArrivalSource::AtOnce);
    assert_eq!(shapes(&trace), [(0, 100, 10), (0, 200, 20), (0, 400, 40)]);
}

#[test]
fn infinities_of_python_are_read() {
    let infinite = without_start_times().replace("10.0", "\"inf\"");
    let expected = trace(&infinite);
    // As SGLang writes it; texts stay as they are.
    let sglang =
        infinite.replace("\"inf\"", "Infinity").replace("0.24", "NaN").replace("\"b\"", "\"\\\"Infinity, NaN\"");
    assert_eq!(trace(&sglang), expected);
}
