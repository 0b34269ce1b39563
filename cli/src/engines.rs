//! `rooflut engines`: lists the engine stacks and the times that they add to the measured kernels.

use std::fmt::Write;

use rooflut::engine::{Constant, EngineStack, Scheduling, stacks};
use rooflut_scenario::Target;
use serde::Serialize;

use crate::args::ListArgs;
use crate::error::Error;
use crate::output::{Align, Grid, fold, json, scientific, wrapped};

/// Width of the column with the meaning of a constant.
const MEANING: usize = 33;
/// Width of the column with its source.
const SOURCE: usize = 22;

/// Returns the text to print.
pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        return json(
            &stacks::ALL
                .into_iter()
                .map(EngineJson::new)
                .collect::<Vec<_>>(),
        );
    }
    let mut text = String::new();
    for stack in stacks::ALL {
        // Writing to a String does not fail.
        let _ = write_stack(&mut text, stack);
    }
    text.push_str(&format!(
        "`--engine` takes one of these names; without it, it is {}.\n",
        Target::default().engine()
    ));
    Ok(text)
}

fn write_stack(text: &mut String, stack: &EngineStack) -> std::fmt::Result {
    writeln!(text, "{}: {}\n", stack.name, stack.description)?;
    let (name, fixed) = (stack.scheduling.name(), fixed(stack.scheduling));
    text.push_str(&wrapped("schedule", &format!("{name}: {fixed}")));
    text.push('\n');
    let mut grid = Grid::new(&[
        ("constant", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
        ("meaning", Align::Left),
        ("source", Align::Left),
    ]);
    for constant in stack.about {
        grid.row(vec![
            constant.name.to_owned(),
            scientific(constant.value),
            constant.unit.to_owned(),
            fold(constant.meaning, MEANING).join("\n"),
            fold(constant.source, SOURCE).join("\n"),
        ]);
    }
    writeln!(text, "{}", grid.render(2))
}

/// Returns the time at which the batch of a step is fixed.
fn fixed(scheduling: Scheduling) -> &'static str {
    match scheduling {
        Scheduling::Synchronous => "a batch is fixed when the step before it has ended",
        _ => "a batch is fixed when the step before it starts",
    }
}

#[derive(Serialize)]
struct EngineJson {
    name: &'static str,
    description: &'static str,
    scheduling: &'static str,
    constants: Vec<ConstantJson>,
}

#[derive(Serialize)]
struct ConstantJson {
    name: &'static str,
    value: f64,
    unit: &'static str,
    meaning: &'static str,
    source: &'static str,
}

impl EngineJson {
    fn new(stack: &EngineStack) -> EngineJson {
        EngineJson {
            name: stack.name,
            description: stack.description,
            scheduling: stack.scheduling.name(),
            constants: stack.about.iter().map(ConstantJson::new).collect(),
        }
    }
}

impl ConstantJson {
    fn new(constant: &Constant) -> ConstantJson {
        ConstantJson {
            name: constant.name,
            value: constant.value,
            unit: constant.unit,
            meaning: constant.meaning,
            source: constant.source,
        }
    }
}
