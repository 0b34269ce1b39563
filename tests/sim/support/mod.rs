//! A made-up latency model that remembers what it was asked, and an observer that remembers what it saw.
#![allow(dead_code, reason = "not every test crate uses all of it")]

use std::cell::RefCell;

use rooflut::sim::{Observer, Outcome, Progress, Request, RequestRecord, SimConfig, Simulator, StepRecord};
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// A step takes `step_ns`, and more for what is in it, in whole nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Linear {
    pub(crate) step_ns: u64,
    pub(crate) prefill_token_ns: u64,
    pub(crate) decode_request_ns: u64,
    pub(crate) kv_token_ns: u64,
    /// Pipeline stages, which take equal parts of a step; 0 is one.
    pub(crate) stages: u32,
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
        Linear { step_ns: 1_000, prefill_token_ns: 10, decode_request_ns: 100, kv_token_ns: 1, ..Linear::default() }
    }
}

/// A server whose limits are known to be sound.
pub(crate) fn simulator(model: &Linear, config: SimConfig) -> Simulator<&Linear> {
    Simulator::try_new(model, config).unwrap()
}

impl LatencyModel for Linear {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        self.batches.borrow_mut().push(Batch { prefill: batch.prefill.to_vec(), decode: batch.decode.to_vec() });
        let outside: u64 = batch.decode.iter().map(DecodeGroup::outside_tokens).sum();
        let ns = self.step_ns
            + self.prefill_token_ns * batch.prefill_tokens()
            + self.decode_request_ns * batch.decode_requests()
            + self.kv_token_ns * (batch.decode_kv_tokens() - outside);
        Seconds(ns as f64 / 1e9)
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        let stages = self.stages.max(1);
        let stage = self.total_time(batch) * (1.0 / f64::from(stages));
        (0..stages).for_each(|_| run(stage));
    }
}

pub(crate) fn request(arrival_ns: u64, prompt_tokens: u32, output_tokens: u32) -> Request {
    Request::new(prompt_tokens, output_tokens).at_ns(arrival_ns)
}

/// An observer that keeps everything.
#[derive(Default)]
pub(crate) struct Seen {
    /// Requests and their outcomes, as reported.
    outcomes: Vec<(usize, Outcome)>,
    pub(crate) steps: Vec<StepRecord>,
    /// Tokens of all batches.
    pub(crate) tokens: u64,
    /// Gaps between consecutive tokens of a request.
    pub(crate) gaps_ns: Vec<u64>,
    pub(crate) progress: Vec<Progress>,
}

impl Seen {
    /// The outcomes of `requests` requests, of which each has one.
    pub(crate) fn outcomes(&self, requests: usize) -> Vec<Outcome> {
        let mut outcomes = self.outcomes.clone();
        outcomes.sort_by_key(|(index, _)| *index);
        let indices = outcomes.iter().map(|(index, _)| *index);
        assert!(indices.eq(0..requests), "{outcomes:?}");
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

impl Observer for Seen {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        self.tokens += batch.tokens();
    }

    fn step(&mut self, step: &StepRecord) {
        let others = step.late_decodes + step.overrun_requests;
        let in_time = (step.decode_requests - others) as usize;
        self.gaps_ns.extend(std::iter::repeat_n(step.duration_ns, in_time));
        self.steps.push(*step);
    }

    fn resumed(&mut self, _: usize, gap_ns: u64) {
        self.gaps_ns.push(gap_ns);
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.outcomes.push((index, record.outcome));
    }

    fn progress(&mut self, progress: &Progress) {
        self.progress.push(*progress);
    }
}
