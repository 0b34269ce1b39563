//! The answer of `rooflut plan` as text.

use rooflut_plan::{Answer, LimitedFigure, Plan};

use super::{costs, excluded};
use crate::args::PlanArgs;
use crate::command_line;
use crate::error::Error;
use crate::grid::Grid;
use crate::limited_by;

use crate::output::{
    INDENT, count, exact_percent, latency_cell, percent, plural, title, warnings, wrapped, wrapped_at,
};

/// Returns the deployments as a table, and what they were asked.
pub(super) fn text(plan: &Plan, args: &PlanArgs) -> Result<String, Error> {
    let heading = match plan.gpus {
        Some(gpus) => {
            let needed = format!("{} needs {}", plan.model, plural(gpus.into(), "GPU"));
            // A given number of requests may end before.
            if plan.requests.is_some() && !plan.is_steady {
                format!("{needed} for these requests, which do not reach a steady state")
            } else {
                needed
            }
        }
        None => format!("{}: no deployment meets the limits", plan.model),
    };
    let mut text = title(&heading) + &warnings(INDENT, &plan.notes);
    text += &wrapped("limits", &limits(plan));
    text += &wrapped("runs", &runs(plan));
    text += &wrapped("search", &search(plan));
    let (columns, shows) = columns(args);
    let mut grid = Grid::new(&columns);
    for answer in plan.deployments.iter().chain(&plan.nearest) {
        grid.row(row(answer, shows));
    }
    if !grid.is_empty() {
        text += &format!("\n{}\n", grid.render(2));
    }
    if let Some(limited) = &plan.limited_by {
        let gpus = |gpus: u32| plural(gpus.into(), "GPU");
        let told = limited_by::describe(limited, limited.gpus.map(gpus));
        let told = format!("with one server less, {told}");
        text += &(wrapped_at(INDENT + 2, "limited by", &told) + "\n");
    }
    text += &costs::text(plan);
    if let Some(best) = plan.deployments.first() {
        if let Some(words) = best.scenario.command() {
            text += &command_line::wrapped(INDENT, "command", &words);
        }
        text += &command_line::vllm(INDENT, &best.vllm_command);
    }
    text += &excluded::text(plan);
    Ok(text)
}

/// Returns the limits, and what must meet them.
pub(super) fn limits(plan: &Plan) -> String {
    let limits = plan.limits.join(", ");
    match (plan.attainment, plan.confidence) {
        (Some(share), _) => format!("{limits}, all met by {} of requests", exact_percent(share)),
        (_, Some(share)) => format!("{limits}, at the far end of intervals for {} of servers", percent(100.0 * share)),
        _ => limits,
    }
}

/// Returns how long runs last, and their seeds.
pub(super) fn runs(plan: &Plan) -> String {
    let lasting = lasting(plan.requests);
    match plan.seeds {
        1 => lasting,
        seeds => {
            let last = plan.first_seed.wrapping_add(seeds - 1);
            format!("{lasting} with each of {} seeds, {} to {last}", count(seeds), plan.first_seed)
        }
    }
}

/// Returns the columns of a table of deployments, and whether it shows the limits of a step.
pub(super) fn columns(args: &PlanArgs) -> (String, [bool; 2]) {
    let choices = &args.choices;
    let limits =
        [(">max seqs", choices.max_num_seqs.len() > 1), (">max tokens", choices.max_num_batched_tokens.len() > 1)];
    let shows = limits.map(|(_, is_chosen)| is_chosen);
    let limits = limits.into_iter().filter(|(_, is_chosen)| *is_chosen);
    let limits: String = limits.map(|(name, _)| format!(" {name} |")).collect();
    (format!(">GPUs | GPU | servers | weights | KV |{limits} binding limit | >reaches | >headroom"), shows)
}

/// Returns how long runs last that have this number of requests, if one is given.
pub(crate) fn lasting(requests: Option<u64>) -> String {
    let given = requests.map(|requests| plural(requests, "request"));
    given.unwrap_or_else(|| "in a steady state, as long as the answer needs".to_owned())
}

fn search(plan: &Plan) -> String {
    let least = plan
        .least_gpus
        .map(|least| format!("; the load takes at least {} by step times alone", plural(least.into(), "GPU")));
    format!("{}{}", plural(plan.simulations, "simulation"), least.unwrap_or_default())
}

/// Returns the servers of a deployment: `3 x tp 4`.
pub(super) fn servers(answer: &Answer) -> String {
    let own = degrees([answer.tp, answer.dp, answer.pp], answer.expert_parallel);
    match (answer.replicas, answer.prefill_replicas, answer.decode_replicas) {
        (_, Some(prefill), Some(decode)) => match &answer.prefill {
            Some(server) => {
                let other = degrees([server.tp, server.dp, server.pp], server.expert_parallel);
                format!("{prefill} prefill x {other} + {decode} decode x {own}")
            }
            None => format!("{prefill} prefill + {decode} decode x {own}"),
        },
        (replicas, ..) => format!("{} x {own}", replicas.unwrap_or(1)),
    }
}

/// Returns the GPUs of a deployment: of prefill servers first, if they have other ones.
pub(super) fn gpus(answer: &Answer) -> String {
    match &answer.prefill {
        Some(server) if server.gpu != answer.gpu => format!("{} + {}", server.gpu_name, answer.gpu_name),
        _ => answer.gpu_name.clone(),
    }
}

fn degrees([tp, dp, pp]: [u32; 3], expert_parallel: bool) -> String {
    let beyond_one = |name: &str, degree: u32| if degree == 1 { String::new() } else { format!(" {name} {degree}") };
    let experts = if expert_parallel { " ep" } else { "" };
    format!("tp {tp}{}{}{experts}", beyond_one("dp", dp), beyond_one("pp", pp))
}

/// Returns the cells of a deployment.
pub(super) fn row(answer: &Answer, [shows_seqs, shows_tokens]: [bool; 2]) -> Vec<String> {
    let binding = answer.binding.clone().unwrap_or_else(|| "-".to_owned());
    let figure = answer.figures.iter().find(|figure| figure.limit == binding);
    let weights = answer.weights.expert_dtype.unwrap_or(answer.weights.weight_dtype);
    let mut cells = vec![
        count(answer.gpus.into()),
        gpus(answer),
        servers(answer),
        weights.to_string(),
        answer.kv_dtype.to_string(),
    ];
    let limits = [(answer.max_num_seqs, shows_seqs), (answer.max_num_batched_tokens, shows_tokens)]
        .into_iter()
        .filter(|(_, is_shown)| *is_shown);
    cells.extend(limits.map(|(limit, _)| count(limit.into())));
    cells.extend([
        binding,
        figure.and_then(reaches).unwrap_or_else(|| "-".to_owned()),
        if answer.overloaded > 0 {
            "overload".to_owned()
        } else {
            answer.headroom.map_or("-".to_owned(), percent_signed)
        },
    ]);
    cells
}

/// Returns the range of a figure over the seeds: milliseconds, or requests that miss the limits in percent.
fn reaches(figure: &LimitedFigure) -> Option<String> {
    let shown = |value: f64| if figure.limit == "attainment" { percent(100.0 * value) } else { latency_cell(value) };
    let (lowest, highest) = (shown(figure.lowest?), shown(figure.highest?));
    Some(if lowest == highest { highest } else { format!("{lowest} to {highest}") })
}

fn percent_signed(share: f64) -> String {
    if share < 0.0 { format!("-{}", percent(-100.0 * share)) } else { percent(100.0 * share) }
}
