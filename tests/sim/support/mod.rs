//! A made-up latency model that remembers what it was asked.

use std::cell::RefCell;

use rooflut::sim::{SimConfig, Simulator};
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// A step takes `step_ns`, and more for what is in it, in whole nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Linear {
    pub(crate) step_ns: u64,
    pub(crate) prefill_token_ns: u64,
    pub(crate) decode_request_ns: u64,
    pub(crate) kv_token_ns: u64,
    /// Every batch asked for, in order.
    pub(crate) batches: RefCell<Vec<Batch>>,
}

/// A copy of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) prefill: Vec<Chunk>,
    pub(crate) decode: Vec<DecodeGroup>,
}

impl Linear {
    /// 1000 ns a step, 10 ns a prompt token, 100 ns a decoding request, 1 ns a token of its KV.
    pub(crate) fn mixed() -> Linear {
        Linear {
            step_ns: 1_000,
            prefill_token_ns: 10,
            decode_request_ns: 100,
            kv_token_ns: 1,
            ..Linear::default()
        }
    }
}

/// A server whose limits are known to be sound.
#[expect(clippy::unwrap_used, reason = "test code outside of a test function")]
#[allow(dead_code, reason = "not every test has a single server")]
pub(crate) fn simulator(model: &Linear, config: SimConfig) -> Simulator<&Linear> {
    Simulator::try_new(model, config).unwrap()
}

impl LatencyModel for Linear {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        self.batches.borrow_mut().push(Batch {
            prefill: batch.prefill.to_vec(),
            decode: batch.decode.to_vec(),
        });
        let ns = self.step_ns
            + self.prefill_token_ns * batch.prefill_tokens()
            + self.decode_request_ns * batch.decode_requests()
            + self.kv_token_ns * batch.decode_kv_tokens();
        Seconds(ns as f64 / 1e9)
    }
}
