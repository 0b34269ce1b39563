//! Runs of scenarios whose models and tables are named.

use std::io;
use std::path::Path;

use rooflut::sim::Observer;
use rooflut_inspect::{Corrected, FlaggedTally};
use rooflut_report::Report;
use rooflut_scenario::{Outcome, Run, Scenario, Stop};
use rooflut_traces::Input;

use crate::error::Error;
use crate::flagged::{self, FlaggedByKind};
use crate::model_source::{self, NamedModel};
use crate::resources;

/// A run, ready to be simulated, and the models that its scenario names.
///
/// ```
/// use rooflut_scenario::{ScenarioFile, Stop};
/// let file = ScenarioFile::read(b"[workload]\nrate = 5\nrequests = 20\n")?;
/// let prepared = rooflut_cli::PreparedRun::try_new(file.scenario(), &rooflut_cli::open)?;
/// let (_, report) = prepared.simulate(&mut ())?;
/// let arguments = ["rooflut", "run", "--rate", "5", "--requests", "20", "--json"];
/// let told = rooflut_cli::answer(arguments.map(Into::into), Stop::default())?;
/// assert_eq!(report.to_json()?, told);
/// # Ok::<(), rooflut_cli::Error>(())
/// ```
pub struct PreparedRun {
    run: Run,
    models: Vec<NamedModel>,
}

impl PreparedRun {
    /// Finds the models and tables that a scenario names, by name or in files, and looks every kernel up. `read` opens
    /// its trace and its files of lengths and prices.
    ///
    /// # Errors
    /// Names that are not known, files that cannot be read, and whatever keeps the scenario from running.
    pub fn try_new(scenario: &Scenario, read: &dyn Fn(&Path) -> io::Result<Input>) -> Result<PreparedRun, Error> {
        let (resources, models) = resources::find(scenario, read)?;
        let named: Vec<_> = models.iter().collect();
        let run = Run::try_new(scenario.clone(), resources)
            .map_err(|error| model_source::with_keys(error, &scenario.target, &named))?;
        Ok(PreparedRun { run, models })
    }

    /// Ends the run early where `stop` says so.
    pub fn stopped_by(self, stop: Stop) -> PreparedRun {
        let run = self.run.stopped_by(stop);
        PreparedRun { run, ..self }
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Simulates the run and returns its outcome and its report. The report lacks the path of a scenario file.
    ///
    /// # Errors
    /// Arrivals that the clock cannot represent, and answers that are less certain than the scenario accepts.
    pub fn simulate(&self, observer: &mut dyn Observer) -> Result<(Outcome<'_>, Report), Error> {
        let corrected: Vec<_> = self.run.kinds().map(|kind| Corrected::all(kind.deployment())).collect();
        let served = |all: &Vec<Corrected>| all.iter().map(|c| c.deployment.served_model()).collect();
        let served: Vec<Vec<_>> = corrected.iter().map(served).collect();
        let tallies = corrected.iter().zip(&served).map(|(corrected, served)| FlaggedTally::new(corrected, served));
        let mut flagged = FlaggedByKind::new(&self.run, tallies.collect());
        let outcome = self.run.run(&mut (&mut flagged, observer))?;
        let of_kinds = flagged.tallies.iter().zip(&outcome.sources_by_kind);
        let flagged = of_kinds.flat_map(|(tally, sources)| tally.changed_parts(sources));
        let mut report = outcome.report();
        let notes = self.models.iter().flat_map(NamedModel::notes);
        report.notes.splice(..0, notes);
        report.flagged_rows = flagged.map(|(row, parts)| flagged::row(row, &parts)).collect();
        Ok((outcome, report))
    }
}
