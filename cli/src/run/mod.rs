//! `rooflut run`: a server under load.

mod figures;
mod files;
mod interval;
mod load;
mod ranges;
mod rejections;
mod seeds;
mod text;

use rooflut_inspect::{Corrected, FlaggedTally};
use rooflut_report::ScenarioFile;
use rooflut_scenario::{Resources, Run};

use crate::args::RunArgs;
use crate::error::Error;
use crate::flagged;
use crate::input;
use crate::model_source;
use crate::output::{self, Answered};
use crate::progress::Bar;
use crate::table_set;

use files::RunFiles;
use text::RunText;

/// Simulates and answers with the text to print, and with an error if no request was served.
pub(crate) fn run(args: &RunArgs) -> Result<Answered, Error> {
    let scenario = &args.scenario;
    let target = &scenario.target;
    let model = model_source::find(target.model(), model_source::options(target))
        .map_err(|error| error.about("model"))?;
    let tables = table_set::find(table_set::of(&scenario.target))?;
    let find_draft = |name| model_source::find(name, model_source::draft_options(target));
    let draft = scenario.server.draft_model().map(find_draft);
    let draft = draft
        .transpose()
        .map_err(|error| error.about("draft_model"))?;
    let resources = Resources {
        model: model.model.clone(),
        draft_model: draft.as_ref().map(|draft| draft.model.clone()),
        tables,
        read: &input::open,
    };
    let models: Vec<_> = [&model].into_iter().chain(&draft).collect();
    model_source::check_assumption(target, &models)?;
    let run = Run::try_new(scenario.clone(), resources)
        .map_err(|error| model_source::with_keys(error, &models))?;
    let mut files = RunFiles::create(&run, args)?;
    let progress = scenario.output.progress == Some(true);
    let corrected = Corrected::all(run.deployment());
    let served: Vec<_> = corrected
        .iter()
        .map(|c| c.deployment.served_model())
        .collect();
    let mut flagged = FlaggedTally::new(&corrected, &served);
    let outcome = run.run(&mut (Bar::new(progress), (&mut flagged, files.observer())))?;
    let flagged = flagged.changed_parts(&outcome.sources).into_iter();
    let mut report = outcome.report();
    report
        .notes
        .splice(..0, models.iter().flat_map(|model| model.notes()));
    report.flagged_rows = flagged
        .map(|(row, parts)| flagged::row(row, &parts))
        .collect();
    report.scenario = args.file.as_ref().map(|file| ScenarioFile {
        path: file.path.display().to_string(),
        replaced: file.replaced.iter().map(|key| (*key).to_owned()).collect(),
    });
    let answer = RunText {
        args,
        outcome: &outcome,
        report: &report,
    };
    let text = match scenario.output.json {
        Some(true) => report.to_json()?,
        _ => answer.text(),
    };
    files.finish(&scenario.output)?;
    let failure = answer.failure();
    let text = match files::take_stdout(&scenario.output) {
        true => output::print_aside(text),
        false => text,
    };
    Ok(Answered { text, failure })
}
