//! Runs and their reports.

use std::ffi::c_char;

use rooflut_report::compare::{Comparison, ReadReport};
use rooflut_report::{RequestsCsv, StepsCsv, Timeline};
use rooflut_scenario::{Run, Stop};

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::text;
use crate::registry::REGISTRY;
use crate::scenario::refused;
use crate::stop::until;
use crate::text::{json, returning};

/// Output of a run.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The report as JSON: what `rooflut run --json` prints, without rows that `rooflut-lab tables check` flags.
    Report = 0,
    /// A CSV with a line for each request.
    RequestsCsv = 1,
    /// A CSV with a line for each step.
    StepsCsv = 2,
    /// A timeline for ui.perfetto.dev.
    Timeline = 3,
}

/// Simulates the scenario and returns a text; `output` is a `RooflutOutput`, `stop` a stop or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_scenario_run(
    scenario: Handle,
    output: u32,
    stop: Handle,
    text: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        let known = [Output::Report, Output::RequestsCsv, Output::StepsCsv, Output::Timeline];
        let found = known.into_iter().find(|known| *known as u32 == output);
        let output = found.ok_or_else(|| Failure::value("output", "0 to 3, a RooflutOutput", output))?;
        let simulated = |stop: Stop| {
            let simulate = |run: &Run| simulated(&run.clone().stopped_by(stop), output);
            REGISTRY.scenarios.read(scenario, simulate)
        };
        let text = until(stop, simulated)?;
        REGISTRY.texts.insert(text)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((text, "text"), error, make) }
}

fn simulated(run: &Run, output: Output) -> Result<String, Failure> {
    let written = match output {
        Output::Report => {
            let outcome = run.run(&mut ()).map_err(refused)?;
            return outcome.report().to_json().map_err(Failure::refused);
        }
        Output::RequestsCsv => {
            let mut requests = RequestsCsv::new(Vec::new());
            run.run(&mut requests).map_err(refused)?;
            requests.finish()
        }
        Output::StepsCsv => {
            let mut steps = StepsCsv::new(Vec::new());
            run.run(&mut steps).map_err(refused)?;
            steps.finish()
        }
        Output::Timeline => {
            let name = |replica| format!("{}, replica {replica}", run.title());
            let names: Vec<String> = (0..run.replicas()).map(name).collect();
            let mut timeline = Timeline::new(Vec::new(), &names);
            run.run(&mut timeline).map_err(refused)?;
            timeline.finish()
        }
    };
    let bytes = written.map_err(Failure::refused)?;
    String::from_utf8(bytes).map_err(Failure::refused)
}

/// Compares two reports and returns a text of JSON: settings that differ, figures, and the terms of the differences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_compare(
    a: *const c_char,
    a_length: usize,
    b: *const c_char,
    b_length: usize,
    comparison: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (text(a, a_length, "a")?, text(b, b_length, "b")?) };
        let read = |name, text: &str| {
            let report = ReadReport::read(text.as_bytes());
            report.map_err(|error| Failure::refused(format_args!("{name}: {error}")))
        };
        json(&Comparison::of(&read("a", a)?, &read("b", b)?))
    };
    // SAFETY: the caller's promise.
    unsafe { returning((comparison, "comparison"), error, make) }
}
