//! Names of keys in other programs.

/// Flags of `vllm serve` and the keys that take the same values. They are read in place of these keys and flags.
pub const ALIASES: [(&str, &str); 7] = [
    ("tensor-parallel-size", "tp"),
    ("pipeline-parallel-size", "pp"),
    ("data-parallel-size", "dp"),
    ("enable-expert-parallel", "expert_parallel"),
    ("kv-cache-dtype", "kv_dtype"),
    ("scheduling-policy", "policy"),
    ("num-gpu-blocks-override", "kv_blocks"),
];

/// Flags of other programs and the keys that come closest in meaning. Messages about unknown names suggest the key.
pub(crate) const MEANINGS: [(&str, &str); 50] = [
    // Load generators.
    ("request-rate", "rate"),
    ("qps", "rate"),
    ("rps", "rate"),
    ("concurrency", "users"),
    ("max-concurrency", "users"),
    ("num-users", "users"),
    ("num-prompts", "requests"),
    ("num-requests", "requests"),
    ("duration", "requests"),
    ("warmup", "warm_up"),
    ("num-warmups", "warm_up"),
    ("input", "prompt"),
    ("input-len", "prompt"),
    ("input-length", "prompt"),
    ("input-tokens", "prompt"),
    ("isl", "prompt"),
    ("prompt-len", "prompt"),
    ("prompt-tokens", "prompt"),
    ("random-input-len", "prompt"),
    ("output-len", "output"),
    ("output-length", "output"),
    ("output-tokens", "output"),
    ("osl", "output"),
    ("max-tokens", "output"),
    ("random-output-len", "output"),
    ("dataset", "trace"),
    ("dataset-path", "trace"),
    ("slo", "goodput"),
    ("timeout", "patience"),
    ("max-retries", "retries"),
    // Servers.
    ("gpus", "tp"),
    ("num-gpus", "tp"),
    ("device", "gpu"),
    ("hardware", "gpu"),
    ("quantization", "dtype"),
    ("instances", "replicas"),
    ("num-replicas", "replicas"),
    ("servers", "replicas"),
    ("batch-size", "max_num_seqs"),
    ("max-batch-size", "max_num_seqs"),
    ("context-length", "max_model_len"),
    ("async-scheduling", "scheduling"),
    ("enable-prefix-caching", "prefix_caching"),
    ("no-enable-prefix-caching", "prefix_caching"),
    ("no-scheduler-reserve-full-isl", "scheduler_reserve_full_isl"),
    ("num-speculative-tokens", "draft_tokens"),
    ("speculative-model", "draft_model"),
    // Outputs.
    ("out", "requests_out"),
    ("output-file", "requests_out"),
    ("output-json", "json"),
];

/// Returns the key that a name of [`ALIASES`] stands for. Words are joined by `-` or `_`.
pub(crate) fn aliased(name: &str) -> Option<&'static str> {
    key_of(name, &ALIASES)
}

/// Returns the key that is meant by a name of another program. Words are joined by `-` or `_`.
///
/// ```
/// use rooflut_scenario::meant_by;
/// assert_eq!(meant_by("request_rate"), Some("rate"));
/// assert_eq!(meant_by("tensor-parallel-size"), Some("tp"));
/// assert_eq!(meant_by("rate"), None);
/// ```
pub fn meant_by(name: &str) -> Option<&'static str> {
    key_of(name, &MEANINGS).or_else(|| aliased(name))
}

fn key_of(name: &str, keys: &[(&str, &'static str)]) -> Option<&'static str> {
    let name = name.replace('_', "-");
    keys.iter().find(|(other, _)| *other == name).map(|(_, key)| *key)
}
