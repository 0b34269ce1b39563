//! The files that a scenario names.

use std::path::{Path, PathBuf};

use rooflut::model;

use crate::lengths::LengthDistribution;
use crate::output::Output;
use crate::scenario::Scenario;

/// Keys whose values may name files or folders.
pub const PATH_KEYS: [&str; 17] = [
    "model",
    "draft_model",
    "gpu",
    "tables",
    "engine",
    "trace",
    "prompt",
    "output",
    "turns",
    "prices",
    "fleet",
    "prefill",
    "decode",
    "requests_out",
    "steps_out",
    "perfetto",
    "windows_out",
];

impl Output {
    /// Returns the paths of the files to write, with their keys.
    pub fn paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [
            ("requests_out", &self.requests_out),
            ("steps_out", &self.steps_out),
            ("perfetto", &self.perfetto),
            ("windows_out", &self.windows_out),
        ];
        files.into_iter().filter_map(|(key, path)| Some((key, path.as_deref()?)))
    }
}

impl Scenario {
    /// Returns the paths of the files and folders to read, with their keys. The name of a model that is not built in
    /// counts as a path.
    ///
    /// ```
    /// use rooflut_scenario::ScenarioFile;
    /// let file = ScenarioFile::read(b"tables = 'own'\n[workload]\nprompt = 'file:lengths.txt@1..900'\n")?;
    /// let named = file.scenario().inputs();
    /// assert_eq!(named, [("tables", "own".into()), ("prompt", "lengths.txt".into())]);
    /// # Ok::<(), rooflut_scenario::Error>(())
    /// ```
    pub fn inputs(&self) -> Vec<(&'static str, PathBuf)> {
        let Scenario { target, workload, server, output } = self;
        let models = [("model", target.model.as_deref()), ("draft_model", server.draft_model())];
        let models = models.map(|(key, name)| (key, name.filter(|name| model::find(name).is_none()).map(Path::new)));
        let lengths = [("prompt", &workload.prompt), ("output", &workload.output), ("turns", &workload.turns)];
        let lengths = lengths.map(|(key, lengths)| (key, lengths.as_ref().and_then(LengthDistribution::path)));
        let others = [
            ("gpu", target.sheet()),
            ("tables", target.tables.as_deref()),
            ("engine", target.engine_file()),
            ("trace", workload.trace.as_deref()),
            ("prices", output.prices.as_deref()),
        ];
        let named = models.into_iter().chain(others).chain(lengths);
        let mut paths: Vec<_> = named.filter_map(|(key, path)| Some((key, path?.to_owned()))).collect();
        paths.extend(server.part_files());
        paths
    }
}

/// Returns the `config.json` at this path, or in this folder, and the files that may be beside it; `None` for a name.
pub fn model_files(name: &str) -> Option<[PathBuf; 3]> {
    let mut path = PathBuf::from(name);
    if path.is_dir() {
        path.push("config.json");
    }
    if !path.exists() && path.extension().is_none_or(|extension| extension != "json") {
        return None;
    }
    let [formats, generation] =
        ["hf_quant_config.json", "generation_config.json"].map(|name| path.with_file_name(name));
    Some([path, formats, generation])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScenarioFile;

    #[test]
    fn every_key_that_may_name_a_file_is_among_the_paths() {
        let whole = b"model = 'm'\ngpu = 'g.toml'\nengine = 'e.toml'\n\
            [workload]\ntrace = 't'\nprompt = 'file:p'\noutput = 'file:o@1..2'\nturns = 'file:n'\n\
            [server]\ndraft_model = 'd'\nprefill = { tables = 'x' }\ndecode = { gpu = 'y.toml', tp = 2 }\n\
            [output]\nprices = 'c'\nrequests_out = '1'\nsteps_out = '2'\nperfetto = '3'\nwindows_out = '4'\n\
            [[fleet]]\ntables = 'z'\n";
        let read = |text: &[u8]| ScenarioFile::read(text).unwrap().scenario().clone();
        let (whole, tables) = (read(whole), read(b"tables = 's'"));
        let mut found: Vec<&str> = whole.inputs().iter().map(|(key, _)| *key).collect();
        found.extend(tables.inputs().iter().map(|(key, _)| *key));
        found.extend(whole.output.paths().map(|(key, _)| key));
        let sorted = |mut keys: Vec<&'static str>| {
            keys.sort_unstable();
            keys
        };
        assert_eq!(sorted(found), sorted(PATH_KEYS.into()));
        assert_eq!(read(b"model = 'llama-3.1-8b'\ngpu = 'h100'\n[workload]\nprompt = 512\n").inputs(), []);
    }
}
