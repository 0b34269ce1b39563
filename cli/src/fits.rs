//! `rooflut fits`: deployments that hold a model in memory.

use rooflut::table::{TableSet, sets};
use rooflut_error::either;
use rooflut_scenario::{Fit, Fits, Missing, Scenario};

use crate::args::FitsArgs;
use crate::command_line;
use crate::error::Error;
use crate::grid::Grid;
use crate::input;
use crate::output::{count, number, plural, title, to_json, warnings, wrapped_at};
use crate::table_set;
use crate::{model_source, prices};

/// Column of the text after its label.
const INDENT: usize = 12;

/// Lists deployments with what they hold.
pub(crate) fn run(args: &FitsArgs) -> Result<String, Error> {
    let mut scenario = Scenario::default();
    (scenario.target, scenario.server) = (args.target.clone(), args.server());
    let mut notes = args.vllm.put_under(&mut scenario)?;
    if scenario.server.draft_tokens.is_some() {
        notes.push("drafts are left out: the memory of a draft model is not counted".to_owned());
    }
    let demand = args.demand(scenario.server.max_model_len.take());
    let Scenario { target, server, .. } = &scenario;
    let options = model_source::options(target).for_memory_only();
    let named = model_source::find(target.model(), options)?;
    model_source::check(target, &[&named])?;
    let sets = sets(args)?;
    let prices = prices::find(&args.prices, &sets)?;
    let engine = target.find_engine(&input::open)?;
    let mut fits = Fits::try_new(target, server, &named.model, &sets, &engine, demand, &prices)
        .map_err(|error| model_source::with_keys(error, target, &[&named]))?;
    fits.notes.splice(..0, notes.into_iter().chain(named.notes()));
    if args.json { to_json(&fits) } else { Ok(text(&fits)) }
}

/// Returns the sets that are asked for, or one for each GPU.
fn sets(args: &FitsArgs) -> Result<Vec<TableSet>, Error> {
    match (&args.target.gpu, &args.target.tables) {
        (Some(names), None) => {
            let find = |name: &str| table_set::find(table_set::of_gpu(name.trim(), &args.target));
            return names.split(',').map(find).collect();
        }
        (_, Some(_)) => return Ok(vec![table_set::find(table_set::of(&args.target))?]),
        (None, None) => (),
    }
    let of_gpu = |set: &&TableSet| set.name() == set.gpu().name.as_str();
    Ok(sets::ALL.into_iter().filter(of_gpu).cloned().collect())
}

fn text(fits: &Fits) -> String {
    let asked = format!("{} of {}", plural(fits.requests.into(), "request"), plural(fits.tokens.into(), "token"));
    let mut grid = Grid::new(&format!(
        "GPUs | >weights GiB | >KV GiB | >KV tokens | >longest request | >requests of {} | missing",
        count(fits.tokens.into())
    ));
    for fit in &fits.deployments {
        grid.row(cells(fit));
    }
    let none = || format!("none of these; {}", remedies(fits));
    let smallest = fits.smallest().map_or_else(none, describe);
    let cheapest = fits.cheapest().filter(|fit| Some(*fit) != fits.smallest());
    let mut text = title(&format!("{} with {asked} in memory", fits.model));
    if !fits.notes.is_empty() {
        text += &format!("{}\n", warnings(INDENT, &fits.notes));
    }
    text += &grid.render(2);
    text += "\n";
    text += &wrapped_at(INDENT, "smallest", &smallest);
    if let Some(fit) = fits.smallest() {
        text += &command_line::vllm(INDENT, &fit.vllm_command);
    }
    if let Some(cheapest) = cheapest {
        text += &wrapped_at(INDENT, "cheapest", &describe(cheapest));
    }
    text
}

fn cells(fit: &Fit) -> Vec<String> {
    let gib = |bytes: f64| number(bytes / f64::from(1 << 30), 1);
    let held = match &fit.holds {
        Some(holds) => [
            gib(holds.weight_bytes),
            gib(holds.kv_bytes),
            count(holds.kv_tokens),
            count(holds.longest_request.into()),
            number(holds.requests, 2),
        ],
        None => ["-"; 5].map(str::to_owned),
    };
    let missing = fit.missing.map_or_else(String::new, |missing| missing.to_string());
    let gpus = [format!("{} {}", fit.gpus, fit.gpu)];
    gpus.into_iter().chain(held).chain([missing]).collect()
}

/// Returns what makes room for the requests, given what the deployments lack: `use more GPUs (--tp, --pp) or lower
/// --context`.
fn remedies(fits: &Fits) -> String {
    let lacks = |lacks: fn(&Missing) -> bool| {
        let mut missing = fits.deployments.iter().flat_map(|fit| &fit.missing);
        missing.any(lacks)
    };
    let room = lacks(|it| !matches!(it, Missing::Math(_)));
    let context = lacks(|it| *it == Missing::Context);
    let batch = lacks(|it| *it == Missing::Batch);
    let math = lacks(|it| matches!(it, Missing::Math(_)));
    let has_16_bits = |key| fits.sixteen_bit.contains(&key);
    let used = [
        (room, "more GPUs (--tp, --pp)"),
        (room && has_16_bits("dtype"), "--dtype fp8"),
        ((context || batch) && has_16_bits("kv_dtype"), "--kv-dtype fp8"),
        (math, "weights in a format in which the GPU computes (--dtype)"),
    ];
    let lowered = [(context, "--context"), (batch, "--batch")];
    let [used, lowered] = [&used[..], &lowered[..]].map(|all| {
        let all = all.iter().filter(|(helps, _)| *helps);
        either(&all.map(|(_, it)| *it).collect::<Vec<_>>())
    });
    if lowered.is_empty() { format!("use {used}") } else { format!("use {used}; or lower {lowered}") }
}

/// `2 h100 (tp 2), 13.76 USD per hour`.
fn describe(fit: &Fit) -> String {
    let ranks = match (fit.dp, fit.pp) {
        (1, 1) => String::new(),
        (1, pp) => format!(", pp {pp}"),
        (dp, _) => format!(", dp {dp}"),
    };
    let usd = match fit.usd_per_hour {
        Some(usd) => format!("{} USD per hour", number(usd, 2)),
        None => "price not known".to_owned(),
    };
    format!("{} {} (tp {}{ranks}), {usd}", fit.gpus, fit.gpu, fit.tp)
}
