//! Results of vLLM's serving benchmark.

use crate::support::{message, shapes, trace, trace_as};
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
    assert_eq!(
        (trace.format, trace.arrivals),
        (Format::Vllm, ArrivalSource::Recorded)
    );
    assert_eq!(
        shapes(&trace),
        [(250, 100, 10), (0, 200, 20), (2000, 400, 40)]
    );
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
    let arrivals: Vec<u64> = trace
        .requests
        .iter()
        .map(|request| request.arrival_ns)
        .collect();
    assert!(arrivals.is_sorted() && arrivals[0] > 0, "{arrivals:?}");
    // vLLM stretches them to 4 requests / 10 per second.
    assert!(arrivals[3].abs_diff(400_000_000) <= 1, "{arrivals:?}");
    assert_eq!(crate::support::trace(&text), Ok(trace));
    for same in ["\"burstiness\": 1,", ""] {
        let text = text.replace("\"burstiness\": 1.0,", same);
        assert_eq!(
            crate::support::trace(&text).unwrap().arrivals,
            ArrivalSource::Poisson { requests_per_s }
        );
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
    let sglang = infinite
        .replace("\"inf\"", "Infinity")
        .replace("0.24", "NaN")
        .replace("\"b\"", "\"\\\"Infinity, NaN\"");
    assert_eq!(trace(&sglang), expected);
    assert_eq!(
        message(&sglang.replace("[100,", "[NaN,")),
        ":5: input_lens[0]: expected a whole number of tokens, found \"\"-\"\"; correct this line"
    );
}

#[test]
fn arrivals_that_nothing_tells_are_refused() {
    let refused = |from: &str, to: &str| message(&without_start_times().replace(from, to));
    let infinite = without_start_times().replace("10.0", "\"inf\"");
    let closed = message(&infinite.replace("null", "8"));
    assert_eq!(
        closed,
        ":1: expected start_times, which newer versions of vllm bench serve save, or arrivals that follow \
         request_rate, found request_rate \"inf\" with max_concurrency 8; run vLLM's or SGLang's benchmark with \
         --request-rate alone"
    );
    assert!(
        refused("\"burstiness\": 1.0", "\"burstiness\": 0.5").contains("found burstiness 0.5;")
    );
    assert!(refused("\"backend\"", "\"ramp_up_strategy\"").contains("found a ramp-up strategy;"));
    assert!(refused("request_rate", "rate").contains("found neither;"));
    for wrong in ["0", "-1", "\"fast\"", "null"] {
        let message = refused("10.0", wrong);
        assert!(
            message.starts_with(":1: ") && message.contains("request"),
            "{message}"
        );
    }
    for (rate, problem) in [
        (
            "0",
            "request_rate: expected requests per second, or \"inf\", found \"0\"",
        ),
        (
            "1e-300",
            "request_rate: expected a rate at which requests arrive within 9223372036 seconds",
        ),
    ] {
        let message = refused("10.0", rate);
        assert!(message.starts_with(&format!(":1: {problem}")), "{message}");
    }
}

#[test]
fn results_without_details_are_refused() {
    let text = r#"{"request_rate": 10.0, "total_input_tokens": 5, "request_throughput": 0.24}"#;
    assert_eq!(
        message(text),
        ": expected input_lens and output_lens, found a result without details; run vllm bench serve \
         with --save-result --save-detailed, or SGLang's bench_serving with --output-details"
    );
}

#[test]
fn mistakes_are_named() {
    let refused = |from: &str, to: &str| message(&SAMPLE.replacen(from, to, 1));
    assert_eq!(
        refused("300", "3.5"),
        ":5: input_lens[2]: expected a whole number of tokens, found \"3.5\"; correct this line"
    );
    assert_eq!(
        refused("20, 0,", "20, null,"),
        ":6: output_lens[2]: expected a whole number of tokens, found \"null\"; correct this line"
    );
    assert_eq!(
        refused("5002.25", "-1"),
        ":9: start_times[3]: expected seconds, 0 or more, found \"-1\"; correct this line"
    );
    for (from, found) in [("0, 40]", "3"), ("40]", "5")] {
        let to = if found == "3" { "40]" } else { "40, 50]" };
        assert_eq!(
            refused(from, to),
            format!(
                ":6: output_lens: expected 4 elements as in input_lens, found {found}; correct the file"
            )
        );
    }
    assert_eq!(
        refused("[10, 20, 0, 40]", "0"),
        ":6: expected other JSON: invalid type: integer `0`, expected a list; correct it"
    );
    assert_eq!(
        refused("\"output_lens\"", "\"output_len\""),
        ":1: no key output_lens; rename output_len?"
    );
    assert_eq!(
        message(&format!("{SAMPLE}{SAMPLE}")),
        ":13: expected one result, found several (--append-result); split the file"
    );
    assert_eq!(
        message(&SAMPLE.replace("[10, 20, 0, 40]", "[0, 0, 0, 0]")),
        ": expected a request that was served, found none: 4 failed, 0 output tokens; use another file"
    );
    let empty = r#"{"input_lens": [], "output_lens": [], "request_rate": 1}"#;
    assert_eq!(
        message(empty),
        ": no requests; expected one JSON object with input_lens, output_lens[, start_times]"
    );
    assert_eq!(
        trace_as(Format::Vllm, " ").unwrap_err(),
        ": the file is empty; expected one JSON object with input_lens, output_lens[, start_times]"
    );
}
