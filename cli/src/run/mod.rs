//! `rooflut run`: a server under load.

mod figures;
mod files;
mod load;
mod rejections;
mod text;

use std::fs;

use rooflut_report::ScenarioFile;
use rooflut_scenario::{Model, Resources, Run};

use crate::args::RunArgs;
use crate::error::Error;
use crate::model_source::{self, NamedModel};
use crate::output::Answered;
use crate::progress::Bar;
use crate::server::run_error;
use crate::table_set;

use files::RunFiles;
use text::RunText;

/// Simulates and answers with the text to print, and with an error if no request was served.
pub(crate) fn run(args: &RunArgs) -> Result<Answered, Error> {
    let scenario = &args.scenario;
    let model = model_source::find(scenario.target.model())?;
    let tables = table_set::find(table_set::of(&scenario.target))?;
    let draft = scenario.server.draft_model().map(model_source::find);
    let draft = draft.transpose()?;
    let resources = Resources {
        model: named(&model),
        draft_model: draft.as_ref().map(named),
        tables,
        read: &|path| fs::read(path),
    };
    let run = Run::try_new(scenario.clone(), resources)
        .map_err(|error| run_error(error, &[Some(&model), draft.as_ref()]))?;
    let mut files = RunFiles::create(&run, args.file.as_ref().map(|file| file.path.as_path()))?;
    let progress = scenario.output.progress == Some(true);
    let outcome = run.run(&mut (Bar::new(progress), files.observer()))?;
    let window = model.window;
    let answer = RunText {
        args,
        outcome: &outcome,
        window,
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
    Ok(Answered { text, failure })
}

/// A model as the simulation has it.
fn named(model: &NamedModel) -> Model {
    Model::new(&model.name, model.spec)
}
