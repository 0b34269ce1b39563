//! `bench_data/engines/`, read with plain code.

use std::fs;
use std::path::PathBuf;

use rooflut::engine::{Scheduling, StepConstants};
use rooflut::units::Seconds;

use super::tables::{toml_number, toml_value};

/// A file of an engine stack.
pub(crate) struct EngineFile {
    /// Name of the file, such as `vllm-0.15.1`.
    pub(crate) name: String,
    text: String,
}

/// Reads all `.toml` files, in order of their names.
pub(crate) fn all() -> Vec<EngineFile> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bench_data/engines");
    let paths = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        });
    let mut files: Vec<EngineFile> = paths
        .map(|path| EngineFile {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            text: fs::read_to_string(&path).unwrap(),
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

impl EngineFile {
    /// The names of its sections: the constants with a unit, a meaning and a source.
    pub(crate) fn sections(&self) -> Vec<&str> {
        let lines = self.text.lines();
        lines
            .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'))
            .collect()
    }

    pub(crate) fn number(&self, section: &str, key: &str) -> f64 {
        toml_number(&self.text, section, key).unwrap()
    }

    /// A text without its quotes.
    pub(crate) fn quoted(&self, section: &str, key: &str) -> &str {
        toml_value(&self.text, section, key)
            .unwrap()
            .trim_matches('"')
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

    pub(crate) fn scheduling(&self) -> Scheduling {
        match self.quoted("", "scheduling") {
            "synchronous" => Scheduling::Synchronous,
            "one-step-ahead" => Scheduling::OneStepAhead,
            other => panic!("{other}"),
        }
    }

    /// The constants of steps.
    pub(crate) fn constants(&self) -> StepConstants {
        let mut constants = StepConstants::NONE;
        constants.layer = self.time("layer");
        constants.small_kernel_bandwidth = self.share("small_kernel_bandwidth");
        constants.logit = self.time("logit");
        constants.moe_layer = self.time("moe_layer");
        constants.expert_bandwidth = self.share("expert_bandwidth");
        constants.host = self.time("host");
        constants.cuda_graph_max_tokens = self.number("cuda_graph_max_tokens", "value") as u32;
        constants.smoothed_rows = self.number("smoothed_rows", "value") as u32;
        constants.smoothing_width = self.number("smoothing_width", "value");
        constants.cold_kv = self.number("cold_kv", "value");
        constants
    }
}
