//! What must hold for every trace that can be read.

use rooflut::sim::{Content, SimConfig};
use rooflut_traces::{Condition, Format, Options, Trace, read};

/// Reads `bytes`, with and without a condition, and checks what comes of it.
pub fn trace(bytes: &[u8], format: Option<Format>) {
    let condition = [Condition {
        column: "Model".to_owned(),
        value: "a".to_owned(),
    }];
    for conditions in [&[][..], &condition] {
        match read(bytes, &Options { format, conditions }) {
            Ok(trace) => check(&trace),
            Err(error) => {
                let message = error.to_string();
                assert!(!message.contains(char::is_control), "{message:?}");
                let lines = bytes
                    .iter()
                    .filter(|byte| matches!(byte, b'\n' | b'\r'))
                    .count();
                assert!(
                    error
                        .line
                        .is_none_or(|line| (1..=1 + lines as u64).contains(&line))
                );
            }
        }
    }
}

fn check(trace: &Trace) {
    assert!(!trace.requests.is_empty());
    for request in &trace.requests {
        assert!(request.arrival_ns <= SimConfig::LAST_ARRIVAL_NS);
        assert!(request.cached_prompt_tokens <= request.prompt_tokens);
        match request.content {
            Content::Listed { first, count } => {
                assert!(u64::from(first) + u64::from(count) <= trace.listed_ids.len() as u64);
            }
            Content::Texts { prefix_tokens, .. } => assert!(prefix_tokens <= request.prompt_tokens),
            Content::Unique => {}
        }
    }
}
