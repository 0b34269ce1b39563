//! The work of one step, and its results for requests.

use alloc::vec::Vec;
use core::slice;

use crate::sim::observer::StepRecord;
use crate::sim::schedule::running::Admitted;
use crate::sim::schedule::sequence::Sequence;
use crate::step::{Chunk, DecodeGroup, StepBatch};

/// A scheduled step. Requests are identified by their indices.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Number of the step, counted from 1.
    number: u64,
    chunks: Vec<Chunk>,
    /// Decoding requests.
    pub(crate) decode: DecodeGroup,
    /// Decoding requests by their number of drafted tokens, with speculative decoding.
    verifying: Vec<DecodeGroup>,
    /// Number of drafted tokens that are verified.
    pub(crate) drafted: u32,
    /// Number of decoding requests that the step in flight completes, or that were cancelled since.
    pub(crate) overrun: u32,
    /// Number of accepted drafted tokens.
    pub(crate) accepted: u32,
    /// Number of output tokens of requests that verify drafts.
    pub(crate) yielded: u32,
    /// Requests that verify drafts, and the number of their output tokens.
    pub(crate) verified: Vec<(usize, u32)>,
    /// Requests that are preempted for this step.
    pub(crate) preempted: Vec<usize>,
    /// Whether a waiting request was not admitted for lack of free blocks.
    pub(crate) kv_cache_full: bool,
    /// Requests that were preempted for an empty plan that this one replaces.
    pub(crate) preempted_before: Vec<usize>,
    /// Requests between two tokens that are preempted, or left out of this step.
    pub(crate) interrupted: Vec<usize>,
    /// Requests that were preempted after a token and have their next one.
    pub(crate) resumed: Vec<usize>,
    /// Decoding requests that were left out of the step before.
    pub(crate) late: Vec<usize>,
    /// Requests with their first token.
    pub(crate) first_tokens: Vec<(usize, Admitted)>,
    /// Requests with their last token.
    pub(crate) finished: Vec<(usize, Admitted)>,
}

impl Plan {
    /// Creates an empty plan.
    pub(crate) fn new() -> Plan {
        Plan {
            number: 0,
            chunks: Vec::new(),
            decode: DecodeGroup::EMPTY,
            verifying: Vec::new(),
            drafted: 0,
            overrun: 0,
            accepted: 0,
            yielded: 0,
            verified: Vec::new(),
            preempted: Vec::new(),
            kv_cache_full: false,
            preempted_before: Vec::new(),
            interrupted: Vec::new(),
            resumed: Vec::new(),
            late: Vec::new(),
            first_tokens: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Clears the plan and sets its number.
    pub(crate) fn reset(&mut self, number: u64) {
        self.clear();
        self.number = number;
    }

    /// Removes all work and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.chunks.clear();
        self.decode = DecodeGroup::EMPTY;
        self.verifying.clear();
        self.drafted = 0;
        self.overrun = 0;
        self.accepted = 0;
        self.yielded = 0;
        self.verified.clear();
        self.preempted.clear();
        self.kv_cache_full = false;
        self.preempted_before.clear();
        self.interrupted.clear();
        self.resumed.clear();
        self.late.clear();
        self.first_tokens.clear();
        self.finished.clear();
    }

    /// Returns the number of the step.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether there is nothing to compute.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.decode.requests == 0
    }

    /// Returns whether a prompt is computed.
    pub(crate) fn has_chunks(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Returns the work for the latency model: each chunk, and one group of the decoding requests with the same number
    /// of drafted tokens.
    pub(crate) fn batch(&self) -> StepBatch<'_> {
        StepBatch {
            prefill: &self.chunks,
            decode: match (self.decode.requests, self.verifying.as_slice()) {
                (0, _) => &[],
                (_, []) => slice::from_ref(&self.decode),
                (_, verifying) => verifying,
            },
        }
    }

    /// Adds a chunk of a prompt.
    pub(crate) fn add_chunk(&mut self, chunk: Chunk) {
        self.chunks.push(chunk);
    }

    /// Adds a request that verifies `drafted` tokens and has `computed` tokens in the cache, of which layers with a
    /// window or chunks do not read `outside_tokens`.
    pub(crate) fn verify(&mut self, computed: u32, drafted: u32, outside_tokens: u64) {
        let kv_tokens = u64::from(computed) + 1 + u64::from(drafted);
        self.decode.requests += 1;
        self.decode.kv_tokens += kv_tokens;
        self.decode.outside_tokens += outside_tokens;
        match self.verifying.iter_mut().find(|of| of.drafted == drafted) {
            Some(group) => {
                group.requests += 1;
                group.kv_tokens += kv_tokens;
                group.outside_tokens += outside_tokens;
            }
            None => self.verifying.push(DecodeGroup { requests: 1, kv_tokens, drafted, outside_tokens }),
        }
    }

    /// Returns the decoding requests if nothing else happens: no prefill, draft, last or late token,
    /// preemption, lack of blocks or cancelled request.
    pub(crate) fn only_decodes(&self) -> Option<DecodeGroup> {
        let nothing_else = self.chunks.is_empty()
            && self.verifying.is_empty()
            && self.finished.is_empty()
            && self.preempted.is_empty()
            && self.preempted_before.is_empty()
            && !self.kv_cache_full
            && self.overrun == 0
            && self.late.is_empty();
        (nothing_else && self.decode.requests > 0).then_some(self.decode)
    }

    /// Returns the record of the step.
    pub(crate) fn record(&self, start_ns: u64, duration_ns: u64) -> StepRecord {
        let batch = self.batch();
        StepRecord {
            start_ns,
            duration_ns,
            prefill_chunks: self.chunks.len() as u32,
            prefill_tokens: batch.prefill_tokens() as u32,
            decode_requests: self.decode.requests,
            kv_tokens: self.decode.kv_tokens,
            overrun_requests: self.overrun,
            drafted_tokens: self.drafted,
            accepted_tokens: self.accepted,
            yielded_tokens: self.yielded,
            late_decodes: self.late.len() as u32,
            preempted: (self.preempted_before.len() + self.preempted.len()) as u32,
            kv_cache_full: self.kv_cache_full || !self.preempted.is_empty(),
            ..StepRecord::default()
        }
    }

    /// Drops the results of a request that was cancelled after the step was scheduled: it is computed all the same.
    pub(crate) fn drop_results(&mut self, cancelled: &Sequence) {
        let index = cancelled.index;
        let ends_prompt = self.first_tokens.iter().any(|(of, _)| *of == index) || self.resumed.contains(&index);
        self.first_tokens.retain(|(of, _)| *of != index);
        self.finished.retain(|(of, _)| *of != index);
        for indices in [&mut self.interrupted, &mut self.resumed, &mut self.late] {
            indices.retain(|of| *of != index);
        }
        if let Some(place) = self.verified.iter().position(|(of, _)| *of == index) {
            let (_, yielded) = self.verified.remove(place);
            let (drafted, accepted) = cancelled.drafts_in(self.number);
            self.overrun += 1;
            self.drafted -= drafted;
            self.accepted -= accepted;
            self.yielded = self.yielded.saturating_sub(yielded);
        } else if !ends_prompt && self.decode.requests > 0 && self.verifying.is_empty() {
            self.overrun += cancelled.decoded_in_flight(self.number + 1).yielded;
        }
    }

    /// Turns the plan into step `number`, which only decodes.
    pub(crate) fn set_decodes(&mut self, number: u64, decode: DecodeGroup) {
        self.reset(number);
        self.decode = decode;
    }
}
