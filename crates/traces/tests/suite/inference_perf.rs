//! Per-request reports of inference-perf.

use crate::support::{shapes, trace};
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
    assert_eq!((new.format, shapes(&new)), (Format::InferencePerf, vec![(0, 5, 6), (1000, 7, 8)]));
    assert_eq!(new.left_out, [(LeftOut::Error, 1)]);
}
