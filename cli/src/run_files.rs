//! The files that `rooflut run` writes beside its answer.

use std::path::{Path, PathBuf};

use crate::args::RunArgs;
use crate::error::Error;
use crate::pending_file::PendingFile;
use crate::perfetto::Perfetto;
use crate::requests_out::RequestsOut;
use crate::steps_out::StepsOut;
use crate::workload::LengthsArg;

/// Files that want to see each step.
type StepFiles = (Option<StepsOut>, Option<Perfetto>);

/// An observer that writes the files which are asked for while the simulation goes on.
pub(crate) type Files<'f> = (Option<&'f mut RequestsOut>, Option<&'f mut StepFiles>);

/// The files that are asked for.
pub(crate) struct RunFiles {
    requests: Option<RequestsOut>,
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
        Ok(RunFiles {
            requests: pending(&args.requests_out)?.map(RequestsOut::new),
            of_steps: (
                pending(&args.steps_out)?.map(StepsOut::new),
                pending(&args.perfetto)?
                    .map(|file| Perfetto::new(file, &server_names(args, title))),
            ),
        })
    }

    /// To look on; at each step only where somebody wants to.
    pub(crate) fn onlookers(&mut self) -> Files<'_> {
        let (steps, perfetto) = &self.of_steps;
        let looks = steps.is_some() || perfetto.is_some();
        (self.requests.as_mut(), looks.then_some(&mut self.of_steps))
    }

    /// The simulation has ended: each file appears in its place.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let (steps, perfetto) = self.of_steps;
        self.requests.map_or(Ok(()), RequestsOut::finish)?;
        steps.map_or(Ok(()), StepsOut::finish)?;
        perfetto.map_or(Ok(()), Perfetto::finish)
    }
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
