//! `rooflut engines`: lists the engine stacks, their scheduling rules and the times that they add to the measured
//! kernels.

use std::collections::BTreeMap;

use rooflut::engine::{EngineStack, ServeDefaults, ServeLimits, stacks};
use rooflut_scenario::Target;
use serde::Serialize;

use crate::args::ListArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, number, paragraph, scientific, title, to_json, wrapped};

pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        let engines = stacks::ALL.into_iter().map(EngineJson::new).collect();
        return to_json(&EnginesJson { engines });
    }
    let mut text = String::new();
    for stack in stacks::ALL {
        text += &stack_text(stack);
    }
    let legend = format!(
        "`--engine` takes one of these names; the default is {}. It takes a file of `rooflut calibrate`, too. A version without a stack takes the newest stack of \
         its release or of an earlier one. A nightly build takes the stack of its date (vllm-nightly-2026-04-22).",
        Target::default().engine()
    );
    Ok(text + &paragraph(&legend))
}

/// Returns the rules and constants that the stack does not inherit.
fn stack_text(stack: &EngineStack) -> String {
    let mut text = title(&format!("{}: {}", stack.name, stack.description));
    if let Some(ancestor) = stack.inherits {
        text += &wrapped("inherits", &format!("all other rules and constants from {ancestor}"));
        text += "\n";
    }
    text += &(wrapped("defaults", &describe(&stack.defaults)) + "\n");
    let mut grid = Grid::new("rule | value | meaning");
    let rules = stack.about_rules.iter();
    for rule in rules.filter(|rule| rule.stack == stack.name) {
        grid.row([rule.name, rule.value, rule.meaning].map(str::to_owned).into());
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

/// Returns the limits that the engine takes where none are given.
fn describe(defaults: &ServeDefaults) -> String {
    let limits = |limits: &ServeLimits| {
        let [seqs, tokens, graph] = [limits.max_num_seqs, limits.max_num_batched_tokens, limits.cuda_graph_max_tokens]
            .map(|limit| count(limit.into()));
        format!("{seqs} sequences, {tokens} tokens a step and CUDA graphs of up to {graph} tokens")
    };
    let mut text = String::new();
    for class in defaults.gpus {
        let except = match class.except.join(" and ") {
            none if none.is_empty() => none,
            names => format!(" but {names}"),
        };
        let (memory_gib, limits) = (class.memory_gib, limits(&class.limits));
        text += &format!("{limits} on GPUs of {memory_gib} GiB or more{except}; ");
    }
    let share = number(defaults.gpu_memory_utilization * 100.0, 0);
    let (others, version) = (limits(&defaults.others), defaults.version);
    text + &format!("{others} on others; {share} % of the memory (vLLM {version})")
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// The engine stacks.
pub(crate) struct EnginesJson {
    engines: Vec<EngineJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EngineJson {
    name: &'static str,
    description: &'static str,
    /// Date of the release; null for a stack that is no release.
    released: Option<&'static str>,
    /// The stack that has what its own file leaves out.
    inherits: Option<&'static str>,
    /// The version of the rows that the stack takes from table sets with several; null for each set's own.
    table_version: Option<&'static str>,
    rules: Vec<RuleJson>,
    defaults: DefaultsJson,
    constants: Vec<ConstantJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RuleJson {
    name: &'static str,
    value: &'static str,
    meaning: &'static str,
    /// The stack whose file has it.
    from: &'static str,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ConstantJson {
    name: &'static str,
    value: f64,
    unit: &'static str,
    meaning: &'static str,
    source: &'static str,
    /// The stack whose file has it.
    from: &'static str,
}

/// Settings of a server where none are given.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DefaultsJson {
    /// The version of vLLM that has them.
    version: &'static str,
    sources: BTreeMap<&'static str, &'static str>,
    gpu_memory_utilization: f64,
    /// Whether a step has at most as many tokens as requests.
    tokens_within_requests: bool,
    /// Whether CUDA graphs count the drafted tokens of each request.
    graphs_hold_drafts: bool,
    gpus: Vec<ClassJson>,
    /// Limits on other GPUs.
    others: LimitsJson,
}

/// GPUs of this memory or more, except some.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ClassJson {
    memory_gib: u32,
    except: &'static [&'static str],
    limits: LimitsJson,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LimitsJson {
    max_num_seqs: u32,
    max_num_batched_tokens: u32,
    cuda_graph_max_tokens: u32,
}

impl LimitsJson {
    fn new(limits: &ServeLimits) -> LimitsJson {
        LimitsJson {
            max_num_seqs: limits.max_num_seqs,
            max_num_batched_tokens: limits.max_num_batched_tokens,
            cuda_graph_max_tokens: limits.cuda_graph_max_tokens,
        }
    }
}

impl DefaultsJson {
    fn new(defaults: &ServeDefaults) -> DefaultsJson {
        let gpus = defaults.gpus.iter().map(|class| ClassJson {
            memory_gib: class.memory_gib,
            except: class.except,
            limits: LimitsJson::new(&class.limits),
        });
        DefaultsJson {
            version: defaults.version,
            sources: defaults.sources.iter().copied().collect(),
            gpu_memory_utilization: defaults.gpu_memory_utilization,
            tokens_within_requests: defaults.tokens_within_requests,
            graphs_hold_drafts: defaults.graphs_hold_drafts,
            gpus: gpus.collect(),
            others: LimitsJson::new(&defaults.others),
        }
    }
}

impl EngineJson {
    fn new(stack: &EngineStack) -> EngineJson {
        let rules = stack.about_rules.iter().map(|rule| RuleJson {
            name: rule.name,
            value: rule.value,
            meaning: rule.meaning,
            from: rule.stack,
        });
        let constants = stack.about.iter().map(|constant| ConstantJson {
            name: constant.name,
            value: constant.value,
            unit: constant.unit,
            meaning: constant.meaning,
            source: constant.source,
            from: constant.stack,
        });
        EngineJson {
            name: stack.name,
            description: stack.description,
            released: stack.released,
            inherits: stack.inherits,
            table_version: stack.table_version,
            rules: rules.collect(),
            defaults: DefaultsJson::new(&stack.defaults),
            constants: constants.collect(),
        }
    }
}
