//! `bench_data/engines/`, read with plain code.

use std::fs;
use std::path::PathBuf;

use rooflut::engine::{SchedulingRules, StepConstants, stacks};
use rooflut::units::Seconds;

use super::tables::{toml_number, toml_value};

/// A file of an engine stack.
pub(crate) struct EngineFile {
    /// Name of the file, such as `vllm-0.15.1`.
    pub(crate) name: String,
    text: String,
    /// The file that it inherits from.
    parent: Option<Box<EngineFile>>,
}

/// Reads all `.toml` files, in order of their names.
pub(crate) fn all() -> Vec<EngineFile> {
    let paths = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut files: Vec<EngineFile> = paths.map(|path| read(path.file_stem().unwrap().to_str().unwrap())).collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bench_data/engines")
}

fn read(name: &str) -> EngineFile {
    let text = fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    let parent = toml_value(&text, "", "inherits");
    EngineFile { name: name.to_owned(), parent: parent.map(|parent| Box::new(read(parent.trim_matches('"')))), text }
}

impl EngineFile {
    /// The names of the sections with a unit, a meaning and a source, its own and those it inherits.
    pub(crate) fn constant_names(&self) -> Vec<&str> {
        let lines = self.text.lines();
        let sections = lines.filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        let is_constant = |section: &&str| !section.contains("rules") && !section.contains("defaults");
        let mut names: Vec<&str> = sections.filter(is_constant).collect();
        if let Some(parent) = &self.parent {
            names.extend(parent.constant_names());
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The file that gives the key, this one or the closest that it inherits from.
    pub(crate) fn giving(&self, section: &str, key: &str) -> &EngineFile {
        match toml_value(&self.text, section, key) {
            Some(_) => self,
            None => self.parent.as_ref().unwrap().giving(section, key),
        }
    }

    pub(crate) fn number(&self, section: &str, key: &str) -> f64 {
        toml_number(&self.giving(section, key).text, section, key).unwrap()
    }

    /// A text without its quotes.
    pub(crate) fn quoted(&self, section: &str, key: &str) -> &str {
        toml_value(&self.giving(section, key).text, section, key).unwrap().trim_matches('"')
    }

    fn share(&self, section: &str) -> f64 {
        assert_eq!(self.quoted(section, "unit"), "share");
        self.number(section, "value")
    }

    pub(crate) fn time(&self, section: &str) -> Seconds {
        let per_second = match self.quoted(section, "unit") {
            "ns" => 1e9,
            "us" => 1e6,
            "ms" => 1e3,
            other => panic!("{section}: {other}"),
        };
        Seconds(self.number(section, "value") / per_second)
    }

    pub(crate) fn rules(&self) -> SchedulingRules {
        let rule = |name| self.quoted("rules", name);
        let mut rules = stacks::VLLM_0_15_1.rules;
        rules.scheduling = rule("scheduling").parse().unwrap();
        rules.draft_scheduling = rule("draft_scheduling").parse().unwrap();
        let sleep_ns = rule("empty_schedule_sleep_ns").replace('_', "");
        rules.empty_schedule_sleep_ns = sleep_ns.parse().unwrap();
        rules.victim_token = rule("victim_token").parse().unwrap();
        rules.victim_index = rule("victim_index").parse().unwrap();
        rules.self_preemption = rule("self_preemption").parse().unwrap();
        rules.lone_prefill = rule("lone_prefill").parse().unwrap();
        rules.freed_blocks = rule("freed_blocks").parse().unwrap();
        rules.beyond_max_model_len = rule("beyond_max_model_len").parse().unwrap();
        let switch = |name| rule(name).parse().unwrap();
        rules.scheduler_reserve_full_isl = switch("scheduler_reserve_full_isl");
        rules.draft_slot = switch("draft_slot");
        rules.admission_lookahead = switch("admission_lookahead");
        rules.pad_spec_decode = rule("pad_spec_decode").parse().unwrap();
        rules.chunk_drafts = switch("chunk_drafts");
        rules.cache_sampled_tokens = switch("cache_sampled_tokens");
        rules.mtp_drops_block = switch("mtp_drops_block");
        rules.window_in_flight = switch("window_in_flight");
        rules.chunked_groups = switch("chunked_groups");
        rules
    }

    /// The constants of steps.
    pub(crate) fn constants(&self) -> StepConstants {
        let mut constants = StepConstants::NONE;
        constants.layer = self.time("layer");
        constants.small_kernel_bandwidth = self.share("small_kernel_bandwidth");
        constants.sustained_math = self.share("sustained_math");
        constants.blackwell_sustained_math = self.share("blackwell_sustained_math");
        constants.sustained_reads = self.share("sustained_reads");
        constants.routed_padding = self.share("routed_padding");
        constants.logit = self.time("logit");
        constants.sort = self.time("sort");
        constants.sorted_logit = self.time("sorted_logit");
        constants.penalty = self.time("penalty");
        constants.all_reduce_wait = self.time("all_reduce_wait");
        constants.all_reduce_growth = self.number("all_reduce_growth", "value");
        constants.routing = self.number("routing", "value");
        constants.prompt_layer = self.time("prompt_layer");
        constants.blackwell_prompt_layer = self.time("blackwell_prompt_layer");
        constants.prompt_moe_layer = self.time("prompt_moe_layer");
        constants.prompt_state_layer = self.time("prompt_state_layer");
        constants.uncaptured_state_layer = self.time("uncaptured_state_layer");
        constants.uncaptured_layer = self.time("uncaptured_layer");
        constants.host_request = self.time("host_request");
        constants.fused_all_reduce = self.time("fused_all_reduce");
        constants.fused_all_reduce_bandwidth = self.share("fused_all_reduce_bandwidth");
        constants.moe_layer = self.time("moe_layer");
        constants.blackwell_moe_layer = self.time("blackwell_moe_layer");
        constants.tuned_experts = self.share("tuned_experts");
        constants.blackwell_fp8_block_experts = self.number("blackwell_fp8_block_experts", "value");
        constants.expert_bandwidth = self.share("expert_bandwidth");
        constants.fp8_block_expert_bandwidth = self.share("fp8_block_expert_bandwidth");
        constants.fp8_block_unreached_experts = self.share("fp8_block_unreached_experts");
        constants.shared_expert_tokens = self.number("shared_expert_tokens", "value") as u32;
        constants.host = self.time("host");
        constants.cuda_graph_max_tokens = self.number("cuda_graph_max_tokens", "value") as u32;
        constants.smoothed_rows = self.number("smoothed_rows", "value") as u32;
        constants.smoothing_width = self.number("smoothing_width", "value");
        constants.cold_kv = self.number("cold_kv", "value");
        constants.lookup_error_share = self.share("lookup_error_share");
        constants.step_error = self.share("step_error");
        constants.other_step_error = self.share("other_step_error");
        constants
    }
}
