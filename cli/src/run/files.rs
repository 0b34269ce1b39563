//! The files that `rooflut run` writes beside its answer.

use std::io;
use std::path::{Path, PathBuf};

use rooflut_report::{RequestsCsv, StepsCsv, Timeline};
use rooflut_scenario::{LengthDistribution, Output, Run, Scenario};

use crate::error::Error;
use crate::pending_file::PendingFile;

/// Writers of files that have something for each step.
type StepFiles = (Option<StepsCsv<PendingFile>>, Option<Timeline<PendingFile>>);

/// An observer that writes the files which are asked for while the simulation runs.
pub(crate) type Files<'f> = (
    Option<&'f mut RequestsCsv<PendingFile>>,
    Option<&'f mut StepFiles>,
);

/// The files that are asked for.
pub(crate) struct RunFiles {
    requests: Option<RequestsCsv<PendingFile>>,
    of_steps: StepFiles,
}

impl RunFiles {
    /// Opens them, so that what cannot be written is rejected before the simulation. `scenario_path` is a file, too,
    /// that must not be replaced.
    pub(crate) fn create(run: &Run, scenario_path: Option<&Path>) -> Result<RunFiles, Error> {
        let inputs = inputs(run.scenario(), scenario_path);
        let output = &run.scenario().output;
        let pending = |path: &Option<PathBuf>| match path {
            Some(path) => PendingFile::create(path, &inputs).map(Some),
            None => Ok(None),
        };
        let timeline = |file| Timeline::new(file, &server_names(run));
        Ok(RunFiles {
            requests: pending(&output.requests_out)?.map(RequestsCsv::new),
            of_steps: (
                pending(&output.steps_out)?.map(StepsCsv::new),
                pending(&output.perfetto)?.map(timeline),
            ),
        })
    }

    /// The observer of the run; it wants steps only where a file has them.
    pub(crate) fn observer(&mut self) -> Files<'_> {
        let (steps, timeline) = &self.of_steps;
        let wants_steps = steps.is_some() || timeline.is_some();
        let of_steps = wants_steps.then_some(&mut self.of_steps);
        (self.requests.as_mut(), of_steps)
    }

    /// Moves the files to their destinations after the simulation.
    pub(crate) fn finish(self, output: &Output) -> Result<(), Error> {
        let (steps, timeline) = self.of_steps;
        let files = [
            (&output.requests_out, self.requests.map(RequestsCsv::finish)),
            (&output.steps_out, steps.map(StepsCsv::finish)),
            (&output.perfetto, timeline.map(Timeline::finish)),
        ];
        let written = files
            .into_iter()
            .filter_map(|(path, file)| path.as_ref().zip(file));
        written
            .into_iter()
            .try_for_each(|(path, file)| finish(path, file))
    }
}

fn finish(path: &Path, written: io::Result<PendingFile>) -> Result<(), Error> {
    written.map_err(Error::writing(path))?.finish()
}

/// Names of the servers, in the order of their replicas.
fn server_names(run: &Run) -> Vec<String> {
    let title = run.placement();
    let named = |kind| move |replica: u32| format!("{title}, {kind} {replica}");
    match (run.pools(), run.replicas()) {
        (Some(pools), all) => (0..pools.prefill)
            .map(named("prefill server"))
            .chain((pools.prefill..all).map(named("decode server")))
            .collect(),
        (None, 1) => vec![title.to_string()],
        (None, replicas) => (0..replicas).map(named("replica")).collect(),
    }
}

/// Files that a run reads, and what is said of a destination that is one of them.
fn inputs<'s>(
    scenario: &'s Scenario,
    scenario_path: Option<&'s Path>,
) -> Vec<(&'s Path, &'static str)> {
    let workload = &scenario.workload;
    let lengths = [&workload.prompt, &workload.output, &workload.turns];
    let lengths = lengths
        .into_iter()
        .flatten()
        .filter_map(LengthDistribution::path);
    let trace = workload.trace.as_deref();
    let named = lengths.map(|path| (path, "is a file of lengths of this run"));
    named
        .chain(trace.map(|path| (path, "is the trace itself")))
        .chain(scenario_path.map(|path| (path, "is the scenario itself")))
        .collect()
}
