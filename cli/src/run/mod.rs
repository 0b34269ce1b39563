//! `rooflut run`: a server under load.

mod figures;
mod files;
mod interval;
mod load;
mod ranges;
mod rejections;
mod seeds;
mod text;

use rooflut::sim::Observer;
use rooflut_inspect::{Corrected, FlaggedTally};
use rooflut_report::{Report, ScenarioFile};
use rooflut_scenario::{Outcome, Run, Scenario};

use crate::args::RunArgs;
use crate::error::Error;
use crate::flagged;
use crate::model_source::{self, NamedModel};
use crate::output::{self, Answered};
use crate::progress::Bar;
use crate::resources;

use files::RunFiles;
use text::RunText;

/// Simulates and answers with the text to print, and with an error if no request was served.
pub(crate) fn run(args: &RunArgs) -> Result<Answered, Error> {
    let output = &args.scenario.output;
    let prepared = Prepared::try_new(&args.scenario)?;
    let mut files = RunFiles::create(&prepared.run, args)?;
    let progress = Bar::new(output.progress == Some(true));
    let (outcome, report) = prepared.simulate(args, &mut (progress, files.observer()))?;
    let answer = RunText {
        args,
        outcome: &outcome,
        report: &report,
    };
    let text = match output.json {
        Some(true) => report.to_json()?,
        _ => answer.text(),
    };
    files.finish(output)?;
    let failure = answer.failure();
    let text = match files::take_stdout(output) {
        true => output::print_aside(text),
        false => text,
    };
    Ok(Answered { text, failure })
}

/// Simulates and returns the report; writes no files.
pub(crate) fn report(args: &RunArgs) -> Result<Report, Error> {
    let prepared = Prepared::try_new(&args.scenario)?;
    let (_, report) = prepared.simulate(args, &mut Bar::new(false))?;
    Ok(report)
}

/// A run and its models.
struct Prepared {
    run: Run,
    models: Vec<NamedModel>,
}

impl Prepared {
    fn try_new(scenario: &Scenario) -> Result<Prepared, Error> {
        let (resources, models) = resources::find(scenario)?;
        let named: Vec<_> = models.iter().collect();
        let run = Run::try_new(scenario.clone(), resources)
            .map_err(|error| model_source::with_keys(error, &named))?;
        Ok(Prepared { run, models })
    }

    fn simulate(
        &self,
        args: &RunArgs,
        observer: &mut impl Observer,
    ) -> Result<(Outcome<'_>, Report), Error> {
        let corrected = Corrected::all(self.run.deployment());
        let served: Vec<_> = corrected
            .iter()
            .map(|c| c.deployment.served_model())
            .collect();
        let mut flagged = FlaggedTally::new(&corrected, &served);
        let outcome = self.run.run(&mut (&mut flagged, observer))?;
        let flagged = flagged.changed_parts(&outcome.sources).into_iter();
        let mut report = outcome.report();
        let notes = self.models.iter().flat_map(NamedModel::notes);
        report.notes.splice(..0, notes);
        report.flagged_rows = flagged
            .map(|(row, parts)| flagged::row(row, &parts))
            .collect();
        report.scenario = args.file.as_ref().map(|file| ScenarioFile {
            path: file.path.display().to_string(),
            replaced: file.replaced.iter().map(|key| (*key).to_owned()).collect(),
        });
        Ok((outcome, report))
    }
}
