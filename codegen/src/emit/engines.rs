//! `engines/*.toml`: engine stacks.

use std::path::Path;

use super::{constant_name, doc};
use crate::read::{Constant, Defaults, Engine, Error, Given, Limits, OF_MEMORY, OF_REQUEST, OF_STEP, Rule, Unit};

/// Returns the Rust source of a module with a static for each engine stack of `paths`, in this order.
///
/// # Errors
/// A file cannot be read; it lacks a key or has one that is unknown, a wrong unit, an impossible value, empty text, or
/// a name other than the file's; it inherits from an unknown stack, or from itself.
pub fn generate_engines(paths: &[&Path]) -> Result<String, Error> {
    let engines = Engine::read_all(paths)?;
    let name = |engine: &Engine| format!("&{}", constant_name(&engine.name));
    let names: Vec<_> = engines.iter().map(name).collect();
    let names = names.join(", ");
    let items: String = engines.iter().map(engine).collect();
    let count = engines.len();
    Ok(format!(
        "/// Engine stacks of `bench_data/engines/`.
pub mod stacks {{
    use crate::engine::*;
    use crate::model::MemoryConstants;
    use crate::units::Seconds;
{items}
    /// All of them, in order of their names.
    pub static ALL: [&EngineStack; {count}] = [{names}];
}}
"
    ))
}

fn engine(engine: &Engine) -> String {
    let Engine { name, description, released, inherits, table_version, rules, defaults, constants } = engine;
    let (doc, ident) = (doc(&format!("{description}.")), constant_name(name));
    let mut values = constants.iter().map(|constant| &constant.value);
    let mut next = |count| fields(values.by_ref().take(count));
    let [step, request, memory] = [OF_STEP.len(), OF_REQUEST.len(), OF_MEMORY.len()].map(&mut next);
    let rule = |rule: &Given<Rule>| format!("{}: {}", rule.value.kind.name, rule.value.rust);
    let scheduling: Vec<_> = rules.iter().map(rule).collect();
    let scheduling = scheduling.join(", ");
    let defaults = defaults_of(defaults);
    let about: String = constants.iter().map(about).collect();
    let about_rules: String = rules.iter().map(about_rule).collect();
    format!(
        "
    {doc}
    pub static {ident}: EngineStack = EngineStack {{
        name: {name:?},
        description: {description:?},
        released: {released:?},
        inherits: {inherits:?},
        table_version: {table_version:?},
        rules: SchedulingRules {{ {scheduling} }},
        defaults: ServeDefaults {{ {defaults} }},
        constants: StepConstants {{ {step} }},
        memory: MemoryConstants {{ {memory} }},
        {request},
        about: &[{about}
        ],
        about_rules: &[{about_rules}
        ],
    }};
"
    )
}

/// The constants as fields of a struct.
fn fields<'a>(constants: impl Iterator<Item = &'a (Constant, Unit)>) -> String {
    let field = |(constant, unit): &(Constant, Unit)| {
        let value = constant.in_si;
        let value = match unit {
            Unit::Tokens | Unit::Rows => format!("{}", value as u32),
            Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds => {
                format!("Seconds({value:?})")
            }
            _ => format!("{value:?}"),
        };
        format!("{}: {value}", constant.name)
    };
    constants.map(field).collect::<Vec<_>>().join(", ")
}

/// The defaults as fields of a struct.
fn defaults_of(defaults: &Defaults) -> String {
    let Defaults { version, sources, gpu_memory_utilization, tokens_within_requests, graphs_hold_drafts, gpus, others } =
        defaults;
    let gpus: String = gpus
        .iter()
        .map(|class| {
            let (memory_gib, except) = (class.memory_gib, &class.except);
            let limits = limits(&class.limits);
            format!("GpuClass {{ memory_gib: {memory_gib}, except: &{except:?}, limits: {limits} }}, ")
        })
        .collect();
    let others = limits(others);
    format!(
        "version: {version:?}, sources: &{sources:?}, gpu_memory_utilization: {gpu_memory_utilization:?}, \
         tokens_within_requests: {tokens_within_requests}, graphs_hold_drafts: {graphs_hold_drafts}, \
         gpus: &[{gpus}], others: {others}"
    )
}

fn limits(limits: &Limits) -> String {
    let Limits { max_num_seqs, max_num_batched_tokens, cuda_graph_max_tokens } = limits;
    format!(
        "ServeLimits {{ max_num_seqs: {max_num_seqs}, max_num_batched_tokens: {max_num_batched_tokens}, \
         cuda_graph_max_tokens: {cuda_graph_max_tokens} }}"
    )
}

/// The constant as its file gives it.
fn about(given: &Given<(Constant, Unit)>) -> String {
    let Given { value: (constant, _), stack } = given;
    let Constant { name, value, unit, meaning, source, .. } = constant;
    format!(
        "
            Constant {{ name: {name:?}, value: {value:?}, unit: {unit:?}, meaning: {meaning:?}, source: {source:?}, \
             stack: {stack:?} }},"
    )
}

/// The rule as its file gives it.
fn about_rule(given: &Given<Rule>) -> String {
    let Given { value: rule, stack } = given;
    let (name, value, meaning) = (rule.kind.name, &rule.value, rule.kind.meaning);
    format!(
        "
            Rule {{ name: {name:?}, value: {value:?}, meaning: {meaning:?}, stack: {stack:?} }},"
    )
}
