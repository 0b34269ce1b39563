//! The limits of a server that keep requests waiting.

use crate::sim::{Observer, SimConfig, StepRecord};

/// An observer that measures for how long each limit of the servers holds requests back.
///
/// Cost: three comparisons per step. It keeps no list.
///
/// ```
/// use rooflut::sim::figures::LimitTimes;
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::{Request, SimConfig, Simulator};
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Steady;
/// # impl LatencyModel for Steady {
/// #     fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
/// #         Seconds(0.01)
/// #     }
/// # }
/// # let model = Steady;
/// let config = SimConfig::new(8_192, 27_000).with_max_num_seqs(2);
/// let mut times = LimitTimes::new(&config);
/// let requests = [Request::new(512, 100); 4];
/// Simulator::try_new(model, config)?.serve(&mut RequestList::new(&requests), &mut times);
/// // Two requests wait while the others run: half of the time.
/// let shares = times.shares().expect("there were steps");
/// assert!((shares.max_num_seqs - 0.5).abs() < 0.01);
/// assert_eq!((shares.max_num_batched_tokens, shares.kv_cache), (0.0, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LimitTimes {
    max_num_seqs: u32,
    budget: u64,
    slots: u64,
    busy_ns: u64,
    seqs_ns: u64,
    tokens_ns: u64,
    kv_ns: u64,
}

/// Shares of the time during which steps ran, from 0 to 1. The shares can overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitShares {
    /// `max_num_seqs` requests ran, and others waited.
    pub max_num_seqs: f64,
    /// The step had as many tokens as `max_num_batched_tokens` allows.
    pub max_num_batched_tokens: f64,
    /// The KV cache had too few free blocks for a waiting request, or for a running request, which was preempted.
    pub kv_cache: f64,
}

impl LimitTimes {
    /// Creates an observer of servers with these limits that has seen no step.
    pub fn new(config: &SimConfig) -> LimitTimes {
        LimitTimes {
            max_num_seqs: config.max_num_seqs,
            budget: config.max_num_batched_tokens.into(),
            slots: config.draft_slots().into(),
            busy_ns: 0,
            seqs_ns: 0,
            tokens_ns: 0,
            kv_ns: 0,
        }
    }

    /// Returns the times together with those of other servers; their limits may differ.
    #[must_use]
    pub const fn plus(self, other: LimitTimes) -> LimitTimes {
        LimitTimes {
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            seqs_ns: self.seqs_ns.saturating_add(other.seqs_ns),
            tokens_ns: self.tokens_ns.saturating_add(other.tokens_ns),
            kv_ns: self.kv_ns.saturating_add(other.kv_ns),
            ..self
        }
    }

    /// Returns the shares; `None` if no step took time.
    pub fn shares(&self) -> Option<LimitShares> {
        let share = |ns: u64| ns as f64 / self.busy_ns as f64;
        (self.busy_ns > 0).then(|| LimitShares {
            max_num_seqs: share(self.seqs_ns),
            max_num_batched_tokens: share(self.tokens_ns),
            kv_cache: share(self.kv_ns),
        })
    }
}

impl Observer for LimitTimes {
    fn wants_steps(&self) -> bool {
        true
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let add = |ns: &mut u64, is_bound: bool| {
            let more = if is_bound { step.duration_ns } else { 0 };
            *ns = ns.saturating_add(more);
        };
        add(&mut self.busy_ns, true);
        let is_full = step.waiting > 0 && step.running >= self.max_num_seqs;
        add(&mut self.seqs_ns, is_full);
        let requests = u64::from(step.prefill_chunks) + u64::from(step.decode_requests);
        let tokens = u64::from(step.prefill_tokens) + u64::from(step.decode_requests) + u64::from(step.drafted_tokens);
        // A request needs a token beside its slots.
        let taken = tokens + (requests + 1) * self.slots;
        add(&mut self.tokens_ns, taken >= self.budget);
        add(&mut self.kv_ns, step.kv_cache_full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(config: &SimConfig, steps: &[StepRecord]) -> Option<LimitShares> {
        let mut times = LimitTimes::new(config);
        steps.iter().for_each(|step| times.step(step));
        times.shares()
    }

    #[test]
    fn each_limit_counts_while_it_holds_requests_back() {
        let config = SimConfig::new(8_192, 100).with_max_num_seqs(8).with_max_num_batched_tokens(64);
        let step = |duration_ns, running, waiting| StepRecord {
            duration_ns,
            running,
            waiting,
            decode_requests: running,
            ..StepRecord::default()
        };
        let chunk = StepRecord { prefill_chunks: 1, prefill_tokens: 57, ..step(20, 7, 0) };
        let blocked = StepRecord { kv_cache_full: true, ..step(5, 7, 3) };
        // Only the first of these is bound: no request waits, one arrived during the step, a token is left.
        let steps = [
            step(50, 8, 2),
            step(10, 8, 0),
            step(10, 7, 1),
            StepRecord { prefill_tokens: 56, duration_ns: 5, ..chunk },
            chunk,
            blocked,
        ];
        let expected = LimitShares { max_num_seqs: 0.5, max_num_batched_tokens: 0.2, kv_cache: 0.05 };
        assert_eq!(shares(&config, &steps), Some(expected));
        assert_eq!(shares(&config, &[]), None);
    }
}
