//! Per-request reports of inference-perf.

use crate::support::{message, shapes, trace, trace_as};
use rooflut_traces::{Format, LeftOut};

/// As version 0.2 writes it.
pub(crate) const OLD: &str = r#"[
  {
    "start_time": 1200.5, "end_time": 1203.0, "request": "{\"prompt\": \"a\"}", "response": "b",
    "info": {"input_tokens": 100, "output_tokens": 10, "output_token_times": [1200.6, 1200.7]},
    "error": null
  },
  {
    "start_time": 1200.0, "end_time": 1203.0, "request": "c", "response": null,
    "info": {"input_tokens": 200, "output_tokens": 0, "output_token_times": []},
    "error": {"error_type": "TimeoutError", "error_msg": "too slow"}
  },
  {
    "start_time": 1200.25, "end_time": 1203.0, "request": "d", "response": "e",
    "info": {"input_tokens": 300, "output_tokens": 30, "output_token_times": []},
    "error": null
  }
]
"#;

/// As version 0.7 writes it, one per line.
pub(crate) const NEW: &str = r#"{"start_time": 7, "info": {"request_metrics": {"text": {"input_tokens": 5}}, "response_metrics": {"output_tokens": 6, "response_chunks": ["x"]}, "input_tokens": 4}, "error": null}
{"start_time": 8, "computed_metrics": {"input_tokens": 7, "output_tokens": 8}, "error": null}
{"start_time": 8, "info": null, "error": {"error_type": "x"}}
"#;

#[test]
fn both_ways_to_write_tokens_are_read() {
    let old = trace(OLD).unwrap();
    assert_eq!(old.format, Format::InferencePerf);
    assert_eq!(shapes(&old), [(250, 100, 10), (0, 300, 30)]);
    assert_eq!(old.left_out, [(LeftOut::Error, 1)]);
    let new = trace(NEW).unwrap();
    assert_eq!(
        (new.format, shapes(&new)),
        (Format::InferencePerf, vec![(0, 5, 6), (1000, 7, 8)])
    );
    assert_eq!(new.left_out, [(LeftOut::Error, 1)]);
}

#[test]
fn summaries_are_refused() {
    let expected = ": expected one object per request, found a summary; use \
                    per_request_lifecycle_metrics.json, which inference-perf writes with per_request: true";
    assert_eq!(
        message(r#"{"load_summary": {"count": 5}, "successes": {}, "failures": {}}"#),
        expected
    );
}

#[test]
fn mistakes_are_named() {
    let refused = |from: &str, to: &str| message(&OLD.replacen(from, to, 1));
    assert_eq!(
        refused("1200.5", "\"noon\""),
        ":3: start_time: expected seconds, 0 or more, found \"\"noon\"\"; correct this line"
    );
    assert_eq!(
        refused("300", "-300"),
        ":14: info.input_tokens: expected a whole number of tokens, found \"-300\"; correct this line"
    );
    assert_eq!(
        refused("\"output_tokens\": 30", "\"tokens\": 30"),
        ":12: no key info.output_tokens, found start_time, end_time, request, response, info, error; \
         expected start_time, info, error"
    );
    assert_eq!(
        refused("start_time", "start"),
        ":2: no key start_time; rename start if it is in seconds"
    );
    assert_eq!(
        refused(
            "{\"input_tokens\": 300, \"output_tokens\": 30, \"output_token_times\": []}",
            "5"
        ),
        ":14: expected other JSON: invalid type: integer `5`, expected an object; correct it"
    );
    assert_eq!(
        trace_as(Format::InferencePerf, "[5]").unwrap_err(),
        ":1: record: expected an object, found \"5\"; correct this line"
    );
    let failures = r#"{"start_time": 8, "info": null, "error": {"error_type": "x"}}"#;
    assert_eq!(
        message(failures),
        ": expected a request that was served, found none: 1 failed with an error; use another file"
    );
}
