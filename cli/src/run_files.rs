//! The files that `rooflut run` writes beside its answer.

use std::io;
use std::path::{Path, PathBuf};

use rooflut_report::{RequestsCsv, StepsCsv, Timeline};

use crate::args::RunArgs;
use crate::error::Error;
use crate::pending_file::PendingFile;
use crate::workload::LengthsArg;

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
    /// Opens them, so that what cannot be written is refused before any work. `title` says what is run.
    pub(crate) fn create(args: &RunArgs, title: &str) -> Result<RunFiles, Error> {
        let inputs = inputs(args);
        let pending = |path: &Option<PathBuf>| match path {
            Some(path) => PendingFile::create(path, &inputs).map(Some),
            None => Ok(None),
        };
        let timeline = |file| Timeline::new(file, &server_names(args, title));
        Ok(RunFiles {
            requests: pending(&args.requests_out)?.map(RequestsCsv::new),
            of_steps: (
                pending(&args.steps_out)?.map(StepsCsv::new),
                pending(&args.perfetto)?.map(timeline),
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
    pub(crate) fn finish(self, args: &RunArgs) -> Result<(), Error> {
        let (steps, timeline) = self.of_steps;
        let files = [
            (&args.requests_out, self.requests.map(RequestsCsv::finish)),
            (&args.steps_out, steps.map(StepsCsv::finish)),
            (&args.perfetto, timeline.map(Timeline::finish)),
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

/// What the servers are called, in the order of their replicas.
fn server_names(args: &RunArgs, title: &str) -> Vec<String> {
    let named = |kind| move |replica: u32| format!("{title}, {kind} {replica}");
    let pools = &args.disaggregation;
    match (pools.prefill_replicas, pools.decode_replicas) {
        (Some(prefill), Some(decode)) => (0..prefill)
            .map(named("prefill server"))
            .chain((prefill..prefill + decode).map(named("decode server")))
            .collect(),
        _ if args.policy.replicas == 1 => vec![title.to_owned()],
        _ => (0..args.policy.replicas).map(named("replica")).collect(),
    }
}

/// Files that a run reads, and what is said of a destination that is one of them.
fn inputs(args: &RunArgs) -> Vec<(&Path, &'static str)> {
    let workload = &args.workload;
    let lengths = [
        Some(&workload.prompt),
        Some(&workload.output),
        workload.turns.as_ref(),
    ];
    let lengths = lengths.into_iter().flatten().filter_map(LengthsArg::path);
    let trace = args.trace.trace.as_deref();
    let scenario = args.scenario.as_deref();
    let named = lengths.map(|path| (path, "is a file of lengths of this run"));
    named
        .chain(trace.map(|path| (path, "is the trace itself")))
        .chain(scenario.map(|path| (path, "is the scenario itself")))
        .collect()
}
