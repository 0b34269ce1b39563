//! The keys of a scenario.

/// A key of a scenario, which is a flag of `rooflut run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Where it belongs.
    pub section: Section,
    /// Its name, with underscores.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: Kind,
}

impl Key {
    /// The flag without its leading dashes.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// What comes before the first table: the model, and what it runs on.
    Top,
    /// `[server]`: limits.
    Server,
    /// `[workload]`: what is asked, generated or of a trace.
    Workload,
    /// `[output]`: what is written.
    Output,
}

impl Section {
    /// The tables that have a name.
    pub const NAMED: [Section; 3] = [Section::Server, Section::Workload, Section::Output];

    /// Its name in the file; nothing for the top.
    pub fn name(self) -> &'static str {
        match self {
            Section::Top => "",
            Section::Server => "server",
            Section::Workload => "workload",
            Section::Output => "output",
        }
    }
}

/// What a value looks like in TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// An integer.
    Whole,
    /// An integer or a float.
    Number,
    /// A number, or text for more than that.
    NumberOrText,
    /// A list of numbers.
    Numbers,
    /// Text, or a list of texts.
    Texts,
    /// true or false.
    Switch,
}

impl Kind {
    /// What messages call it.
    pub fn expected(self) -> &'static str {
        match self {
            Kind::Text => "text in quotes",
            Kind::Whole => "a whole number",
            Kind::Number => "a number",
            Kind::NumberOrText => "a number, or text in quotes",
            Kind::Numbers => "a list of numbers, as in [0.8, 0.2]",
            Kind::Texts => "text in quotes, or a list of such",
            Kind::Switch => "true or false",
        }
    }
}

const fn key(section: Section, name: &'static str, kind: Kind) -> Key {
    Key {
        section,
        name,
        kind,
    }
}

/// Every key, in the order of the flags.
pub const KEYS: [Key; 50] = [
    key(Section::Top, "model", Kind::Text),
    key(Section::Top, "gpu", Kind::Text),
    key(Section::Top, "tables", Kind::Text),
    key(Section::Top, "tp", Kind::Whole),
    key(Section::Top, "pp", Kind::Whole),
    key(Section::Top, "dp", Kind::Whole),
    key(Section::Top, "dtype", Kind::Text),
    key(Section::Top, "kv_dtype", Kind::Text),
    key(Section::Top, "engine", Kind::Text),
    key(Section::Workload, "rate", Kind::Number),
    key(Section::Workload, "arrival", Kind::Text),
    key(Section::Workload, "burstiness", Kind::Number),
    key(Section::Workload, "users", Kind::Whole),
    key(Section::Workload, "requests", Kind::Whole),
    key(Section::Workload, "prompt", Kind::NumberOrText),
    key(Section::Workload, "output", Kind::NumberOrText),
    key(Section::Workload, "cached_prompt", Kind::Whole),
    key(Section::Workload, "prefixes", Kind::Text),
    key(Section::Workload, "turns", Kind::NumberOrText),
    key(Section::Workload, "think_time", Kind::NumberOrText),
    key(Section::Workload, "priorities", Kind::Numbers),
    key(Section::Workload, "seed", Kind::Whole),
    key(Section::Workload, "trace", Kind::Text),
    key(Section::Workload, "trace_format", Kind::Text),
    key(Section::Workload, "where", Kind::Texts),
    key(Section::Server, "max_num_seqs", Kind::Whole),
    key(Section::Server, "max_num_batched_tokens", Kind::Whole),
    key(Section::Server, "max_model_len", Kind::Whole),
    key(Section::Server, "gpu_memory_utilization", Kind::Number),
    key(Section::Server, "kv_blocks", Kind::Whole),
    key(Section::Server, "scheduling", Kind::Text),
    key(Section::Server, "policy", Kind::Text),
    key(Section::Server, "max_waiting", Kind::Whole),
    key(Section::Server, "prefix_caching", Kind::Text),
    key(Section::Server, "replicas", Kind::Whole),
    key(Section::Server, "router", Kind::Text),
    key(Section::Server, "draft_tokens", Kind::Whole),
    key(Section::Server, "acceptance", Kind::Number),
    key(Section::Server, "draft_model", Kind::Text),
    key(Section::Server, "prefill_replicas", Kind::Whole),
    key(Section::Server, "decode_replicas", Kind::Whole),
    key(Section::Server, "link_bandwidth", Kind::Number),
    key(Section::Server, "link_latency", Kind::Number),
    key(Section::Output, "strict", Kind::Text),
    key(Section::Output, "json", Kind::Switch),
    key(Section::Output, "requests_out", Kind::Text),
    key(Section::Output, "steps_out", Kind::Text),
    key(Section::Output, "perfetto", Kind::Text),
    key(Section::Output, "progress", Kind::Switch),
    key(Section::Output, "goodput", Kind::Texts),
];
