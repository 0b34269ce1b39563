//! `rooflut engines`: lists the engine stacks, their scheduling rules and the times that they add to the measured
//! kernels.

use rooflut::engine::{EngineStack, stacks};
use rooflut_scenario::Target;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{paragraph, scientific, title, to_json, wrapped};

pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        return to_json(&stacks::ALL.map(engine_json));
    }
    let mut text = String::new();
    for stack in stacks::ALL {
        text += &stack_text(stack);
    }
    let legend = format!(
        "`--engine` takes one of these names; without it, it is {}. A version without a stack takes the newest of \
         its release or an earlier one, a nightly build that of its date (vllm-nightly-2026-04-22).",
        Target::default().engine()
    );
    Ok(text + &paragraph(&legend))
}

/// Returns the rules and constants that the stack does not inherit.
fn stack_text(stack: &EngineStack) -> String {
    let mut text = title(&format!("{}: {}", stack.name, stack.description));
    if let Some(ancestor) = stack.inherits {
        text += &wrapped(
            "inherits",
            &format!("all other rules and constants from {ancestor}"),
        );
        text += "\n";
    }
    let mut grid = Grid::new("rule | value | meaning");
    let rules = stack.about_rules.iter();
    for rule in rules.filter(|rule| rule.stack == stack.name) {
        grid.row(
            [rule.name, rule.value, rule.meaning]
                .map(str::to_owned)
                .into(),
        );
    }
    text += &(grid.render(2) + "\n");
    let mut grid = Grid::new("constant | >value | unit | meaning | source");
    let constants = stack.about.iter();
    for constant in constants.filter(|constant| constant.stack == stack.name) {
        grid.row(vec![
            constant.name.to_owned(),
            scientific(constant.value),
            constant.unit.to_owned(),
            constant.meaning.to_owned(),
            constant.source.to_owned(),
        ]);
    }
    if !grid.is_empty() {
        text += &(grid.render(2) + "\n");
    }
    text
}

fn engine_json(stack: &EngineStack) -> Value {
    let rules = stack.about_rules.iter().map(|rule| {
        json!({
            "name": rule.name,
            "value": rule.value,
            "meaning": rule.meaning,
            "from": rule.stack,
        })
    });
    let constants = stack.about.iter().map(|constant| {
        json!({
            "name": constant.name,
            "value": constant.value,
            "unit": constant.unit,
            "meaning": constant.meaning,
            "source": constant.source,
            "from": constant.stack,
        })
    });
    json!({
        "name": stack.name,
        "description": stack.description,
        "released": stack.released,
        "inherits": stack.inherits,
        "rules": rules.collect::<Value>(),
        "constants": constants.collect::<Value>(),
    })
}
