//! `rooflut run`: a server under load.

mod charted;
mod figures;
mod files;
mod interval;
mod load;
mod ranges;
mod rejections;
mod required;
mod seeds;
mod steady;
mod text;

use rooflut_report::Report;

use crate::args::RunArgs;
use crate::error::Error;
use crate::input;
use crate::output::{self, Answered};
use crate::prepared::PreparedRun;
use crate::progress::Bar;

use files::RunFiles;
use text::RunText;

/// Simulates and answers with the text to print, and with an error if no request was served or a required limit is missed.
pub(crate) fn run(args: &RunArgs, command: &str) -> Result<Answered, Error> {
    let scenario = match &args.html.html {
        Some(_) => &charted::charted(&args.scenario),
        None => &args.scenario,
    };
    let output = &scenario.output;
    let prepared = PreparedRun::try_new(scenario, &input::open)?;
    let mut files = RunFiles::create(prepared.run(), args)?;
    let mut progress = Bar::new(output.progress == Some(true));
    let (outcome, mut report) = match files.observer() {
        Some(files) => prepared.simulate(&mut (&mut progress, files))?,
        None => prepared.simulate(&mut progress)?,
    };
    drop(progress);
    report.scenario = args.scenario_file();
    let notes = args.from_vllm.iter().flat_map(|merged| merged.notes.clone());
    report.notes.splice(..0, notes);
    let answer = RunText { args, outcome: &outcome, report: &report };
    let text = match output.json {
        Some(true) => report.to_json()?,
        _ => answer.text(),
    };
    files.finish(output, &report, command)?;
    let failure = required::failure(&outcome, &report).or_else(|| answer.failure());
    let text = if files::take_stdout(args) { output::print_aside(text) } else { text };
    Ok(Answered { text, failure })
}

/// Simulates and returns the report; writes no files.
pub(crate) fn report(args: &RunArgs) -> Result<Report, Error> {
    let prepared = PreparedRun::try_new(&args.scenario, &input::open)?;
    let (_, mut report) = prepared.simulate(&mut Bar::new(false))?;
    report.scenario = args.scenario_file();
    Ok(report)
}
