//! The scheduling rules of an engine, by version.

/// The rules for forming batches and using KV blocks, as far as versions of vLLM differ.
///
/// The named functions are in `vllm/v1/core/sched/scheduler.py`, unless another file is named.
///
/// ```
/// use rooflut::engine::{Scheduling, stacks};
/// assert_eq!(stacks::VLLM_0_15_1.rules.scheduling, Scheduling::OneStepAhead);
/// assert!(stacks::VLLM_0_33_0.rules.scheduler_reserve_full_isl);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SchedulingRules {
    /// The time when the batch of a step is fixed (`async_scheduling`; `EngineCore.step` and `step_with_batch_queue`,
    /// `vllm/v1/engine/core.py`).
    pub scheduling: Scheduling,
    /// Whether steps that verify drafts can be fixed one step ahead, too (`VllmConfig.__post_init__`,
    /// `vllm/config/vllm.py`).
    pub draft_scheduling: DraftScheduling,
    /// Time that the engine sleeps after a schedule without work while requests are unfinished, in nanoseconds
    /// (`EngineCoreProc._process_engine_step`, `vllm/v1/engine/core.py`): none in 0.11, 1 ms in 0.15.
    pub empty_schedule_sleep_ns: u64,
    /// Fate of the token of a request that is preempted in the step that scheduled the request (`schedule`, policy
    /// `priority`).
    pub victim_token: VictimToken,
    /// The index of the pass over the running requests after a request before it was preempted (`schedule`, policy
    /// `priority`).
    pub victim_index: VictimIndex,
    /// The pass over the running requests after one that preempts itself (`schedule`, policy `priority`; first come,
    /// first served, nothing runs after it).
    pub self_preemption: SelfPreemption,
    /// The chunks of a prompt while no other request runs or waits (`schedule`).
    pub lone_prefill: LonePrefill,
    /// Whether a request is admitted only if the blocks of its whole prompt are free, not only the blocks of its first
    /// chunk (`scheduler_reserve_full_isl`; `KVCacheManager.allocate_slots`, `vllm/v1/core/kv_cache_manager.py`): on
    /// from 0.19 on.
    pub scheduler_reserve_full_isl: bool,
    /// The order of reusing freed blocks (`BlockPool.free_blocks`, `vllm/v1/core/block_pool.py`).
    pub freed_blocks: FreedBlocks,
    /// Fate of a request whose prompt and `max_tokens` exceed `max_model_len` (`get_max_tokens` of the API server,
    /// `vllm/entrypoints/serve/utils/api_utils.py`; up to 0.15 `_validate_input` is before it, up to 0.25
    /// `TokenizeParams.max_input_tokens`, `vllm/renderers/params.py`).
    pub beyond_max_model_len: BeyondMaxModelLen,
    /// Whether each scheduled request takes one more slot of the token budget if a draft model drafts
    /// (`SpeculativeConfig.max_num_new_slots_for_drafting`, `vllm/config/speculative.py`): it does in 0.33.
    pub draft_slot: bool,
    /// Whether the blocks into which a draft model writes are reserved at admission already, not only while a request
    /// runs (`num_lookahead_tokens` in `schedule`): they are from 0.24 on.
    pub admission_lookahead: bool,
    /// Whether a request with all but one token cached verifies placeholders of drafts in the step that admits the
    /// request, if the step has no chunk of a running request (`pad_spec_decode` in `schedule`). All placeholders are
    /// rejected.
    pub pad_spec_decode: PadSpecDecode,
    /// Whether a draft model also drafts after each part of a prompt (`update_draft_token_ids`). The step with the last
    /// part verifies these drafts, and all are rejected. True up to 0.15 with synchronous scheduling; 0.33 ignores the
    /// drafts.
    pub chunk_drafts: bool,
    /// Whether full blocks can be found when the step that filled them has ended, with speculative decoding, not only
    /// when the next step is scheduled (`cache_blocks` in `update_from_output`): true in 0.33, and for every engine
    /// that schedules one step ahead.
    pub cache_sampled_tokens: bool,
    /// Whether the last block of a prefix hit is computed again if an MTP layer drafts, because the layer needs the
    /// hidden state of the token before its first token (`use_eagle` in `find_longest_cache_hit`,
    /// `vllm/v1/core/single_type_kv_cache_manager.py`): true up to 0.25.
    pub mtp_drops_block: bool,
    /// Whether KV blocks behind a window are kept while a step in flight may read them (`num_in_flight_tokens` in
    /// `KVCacheManager.allocate_slots`): they are in 0.33.
    pub window_in_flight: bool,
    /// Whether layers with chunked attention have their own KV cache groups, instead of sharing a group that keeps all
    /// tokens with all other layers (`VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE`, `vllm/envs.py`): they have
    /// in 0.15.
    pub chunked_groups: bool,
}

/// The time when the batch of a step is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Scheduling {
    /// When the previous step has ended (vLLM 0.11).
    ///
    /// An arrival during step s joins step s+1: a short prompt gets its first token after about 1.5 steps.
    Synchronous,
    /// When the previous step starts (vLLM 0.15).
    ///
    /// An arrival during step s joins step s+2: a short prompt gets its first token after about 2.5 steps. A request
    /// that finishes in step s is left out of step s+1, because its length is known, but the request holds its slot and
    /// its blocks until step s has ended. Step s+2 is the first step that can use the slot and the blocks. If no batch
    /// could be fixed for step s+1, the engine is idle when step s ends and immediately starts a step with the requests
    /// that have arrived.
    #[default]
    OneStepAhead,
}

crate::names!(Scheduling {
    Synchronous => "sync",
    OneStepAhead => "async",
});

/// Whether steps that verify drafts can be fixed one step ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DraftScheduling {
    /// They cannot (vLLM 0.11).
    Synchronous,
    /// They are with an EAGLE or MTP head, as all steps of the engine; not with a draft model of another kind, and not
    /// with n-grams (vLLM 0.15 to 0.25).
    HeadsAhead,
    /// They are, as all steps of the engine (vLLM 0.33).
    Ahead,
}

crate::names!(DraftScheduling {
    Synchronous => "sync",
    HeadsAhead => "async-heads",
    Ahead => "async",
});

/// Fate of the token of a request that is preempted in the step that scheduled the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VictimToken {
    /// The step computes it all the same, and its budget stays spent (vLLM 0.11).
    Computed,
    /// It is taken out of the step, and its budget is given back (from vLLM 0.15 on).
    TakenBack,
}

crate::names!(VictimToken {
    Computed => "computed",
    TakenBack => "taken-back",
});

/// The index of the pass over the running requests after a request before it was preempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VictimIndex {
    /// The index stays, so the pass skips one request (vLLM 0.11).
    Stays,
    /// The index moves back if the victim had a token in the step, else the pass skips one request (vLLM 0.12 to
    /// 0.25).
    MovesIfScheduled,
    /// It moves back (vLLM 0.33).
    Moves,
}

crate::names!(VictimIndex {
    Stays => "stays",
    MovesIfScheduled => "moves-if-scheduled",
    Moves => "moves",
});

/// The pass over the running requests after one that preempts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SelfPreemption {
    /// The requests after it have no token in the step (vLLM 0.11 to 0.25).
    EndsPass,
    /// The pass continues with the request after it (vLLM 0.33).
    Continues,
}

crate::names!(SelfPreemption {
    EndsPass => "ends-pass",
    Continues => "continues",
});

/// The chunks of a prompt while no other request runs or waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LonePrefill {
    /// At most `long_prefill_token_threshold` tokens, as always (vLLM 0.11 to 0.25).
    Threshold,
    /// The token budget of the step (vLLM 0.33).
    Budget,
}

crate::names!(LonePrefill {
    Threshold => "threshold",
    Budget => "budget",
});

/// The order of reusing freed KV blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FreedBlocks {
    /// All freed blocks join the end of the queue (vLLM 0.11 to 0.22).
    Last,
    /// Blocks without contents that a lookup could find are reused first; other blocks join the end of the queue (from
    /// vLLM 0.24 on).
    UncachedFirst,
}

crate::names!(FreedBlocks {
    Last => "last",
    UncachedFirst => "uncached-first",
});

/// Fate of a request whose prompt and `max_tokens` exceed `max_model_len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BeyondMaxModelLen {
    /// The API server rejects it (vLLM 0.11 to 0.25).
    Reject,
    /// Its output ends at `max_model_len`; a prompt that leaves no room for a token is rejected (vLLM 0.33).
    Truncate,
}

crate::names!(BeyondMaxModelLen {
    Reject => "reject",
    Truncate => "truncate",
});

/// Whether a request with all but one token cached verifies placeholders of drafts in the step that admits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PadSpecDecode {
    /// It does not (vLLM up to 0.24).
    Never,
    /// It does in steps with running requests. Its placeholders may reach `max_model_len`; where they exceed it, the
    /// request waits for a step without running requests (vLLM 0.25).
    WithRunning,
    /// It does in all steps, unless its placeholders and the token after them exceed `max_model_len` (vLLM 0.33).
    Always,
}

crate::names!(PadSpecDecode {
    Never => "never",
    WithRunning => "with-running",
    Always => "always",
});
