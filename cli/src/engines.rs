//! `rooflut engines`: lists the engine stacks and the times that they add to the measured kernels.

use rooflut::engine::{EngineStack, Scheduling, stacks};
use rooflut_scenario::Target;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{paragraph, scientific, to_json, wrapped};

pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        return to_json(&stacks::ALL.map(engine_json));
    }
    let mut text = String::new();
    for stack in stacks::ALL {
        text += &stack_text(stack);
    }
    let legend = format!(
        "`--engine` takes one of these names; without it, it is {}.",
        Target::default().engine()
    );
    Ok(text + &paragraph(&legend))
}

fn stack_text(stack: &EngineStack) -> String {
    let mut text = format!("{}: {}\n\n", stack.name, stack.description);
    let (name, fixed) = (stack.scheduling.name(), fixed(stack.scheduling));
    text += &wrapped("schedule", &format!("{name}: {fixed}"));
    text += "\n";
    let mut grid = Grid::new("constant | >value | unit | meaning | source");
    for constant in stack.about {
        grid.row(vec![
            constant.name.to_owned(),
            scientific(constant.value),
            constant.unit.to_owned(),
            constant.meaning.to_owned(),
            constant.source.to_owned(),
        ]);
    }
    text + &grid.render(2) + "\n"
}

/// Returns the time at which the batch of a step is fixed.
fn fixed(scheduling: Scheduling) -> &'static str {
    match scheduling {
        Scheduling::Synchronous => "a batch is fixed when the step before it has ended",
        _ => "a batch is fixed when the step before it starts",
    }
}

fn engine_json(stack: &EngineStack) -> Value {
    let constants = stack.about.iter().map(|constant| {
        json!({
            "name": constant.name,
            "value": constant.value,
            "unit": constant.unit,
            "meaning": constant.meaning,
            "source": constant.source,
        })
    });
    json!({
        "name": stack.name,
        "description": stack.description,
        "scheduling": stack.scheduling.name(),
        "constants": constants.collect::<Value>(),
    })
}
