//! `rooflut run`: a server under load.

mod figures;
mod files;
mod load;
mod rejections;
mod text;

use rooflut_report::ScenarioFile;
use rooflut_scenario::{Resources, Run};

use crate::args::RunArgs;
use crate::error::Error;
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
    let model = model_source::find(target.model(), model_source::options(target))?;
    let tables = table_set::find(table_set::of(&scenario.target))?;
    let find_draft = |name| model_source::find(name, model_source::draft_options(target));
    let draft = scenario.server.draft_model().map(find_draft);
    let draft = draft.transpose()?;
    let resources = Resources {
        model: model.model.clone(),
        draft_model: draft.as_ref().map(|draft| draft.model.clone()),
        tables,
        read: &input::open,
    };
    let models: Vec<_> = [&model].into_iter().chain(&draft).collect();
    let run = Run::try_new(scenario.clone(), resources)
        .map_err(|error| model_source::with_keys(error, &models))?;
    let mut files = RunFiles::create(&run, args)?;
    let progress = scenario.output.progress == Some(true);
    let outcome = run.run(&mut (Bar::new(progress), files.observer()))?;
    let answer = RunText {
        args,
        outcome: &outcome,
        window: model.window,
    };
    let text = match scenario.output.json {
        Some(true) => {
            let mut report = outcome.report();
            report.scenario = args.file.as_ref().map(|file| ScenarioFile {
                path: file.path.display().to_string(),
                replaced: file.replaced.iter().map(|key| (*key).to_owned()).collect(),
            });
            report.to_json()?
        }
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
