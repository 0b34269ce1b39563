//! The files that `rooflut run` writes beside its answer.

use std::path::PathBuf;

use rooflut::sim::RequestRecord;

use crate::args::RunArgs;
use crate::error::Error;
use crate::pending_file::PendingFile;
use crate::perfetto::Perfetto;
use crate::requests_out::write_records;
use crate::steps_out::StepsOut;

/// Files that are written while the simulation goes on; an observer.
pub(crate) type StepFiles = (Option<StepsOut>, Option<Perfetto>);

/// The files that are asked for.
pub(crate) struct RunFiles {
    requests: Option<PendingFile>,
    of_steps: StepFiles,
}

impl RunFiles {
    /// Opens them, so that what cannot be written is refused before any work. `title` says what is run.
    pub(crate) fn create(args: &RunArgs, title: &str) -> Result<RunFiles, Error> {
        let trace = args.trace.trace.as_deref();
        let pending = |path: &Option<PathBuf>| match path {
            Some(path) => PendingFile::create(path, trace).map(Some),
            None => Ok(None),
        };
        Ok(RunFiles {
            requests: pending(&args.requests_out)?,
            of_steps: (
                pending(&args.steps_out)?.map(StepsOut::new),
                pending(&args.perfetto)?.map(|file| Perfetto::new(file, title)),
            ),
        })
    }

    /// Those that want to see each step, if any.
    pub(crate) fn of_steps(&mut self) -> Option<&mut StepFiles> {
        let (steps, perfetto) = &self.of_steps;
        (steps.is_some() || perfetto.is_some()).then_some(&mut self.of_steps)
    }

    /// The simulation has ended: each file appears in its place.
    pub(crate) fn finish(self, records: &[RequestRecord]) -> Result<(), Error> {
        if let Some(mut file) = self.requests {
            file.write(|file| write_records(file, records));
            file.finish()?;
        }
        let (steps, perfetto) = self.of_steps;
        steps.map_or(Ok(()), StepsOut::finish)?;
        perfetto.map_or(Ok(()), Perfetto::finish)
    }
}
