//! Several files of one server.

use std::collections::BTreeMap;

use rooflut_error::Error;
use rooflut_traces::Measurement;

use crate::contents::Contents;
use crate::json::contents;
use crate::run::Run;
use crate::scrape::Scrape;

/// Times of one load that two files have differ by less.
const SAME: f64 = 1e-3;
/// Figures of one load in two files that differ by more contradict each other.
const CONTRADICTION: f64 = 0.02;

/// Refuses files that name different models.
pub(crate) fn check_models(files: &[(&str, Measurement, Contents)]) -> Result<(), Error> {
    let mut first: Option<(&str, Vec<String>)> = None;
    for (name, _, found) in files {
        let of_runs = found.runs.iter().filter_map(|run| run.model.as_ref());
        let names: Vec<String> = found.models.iter().chain(of_runs).map(|model| short(model)).collect();
        match &first {
            _ if names.is_empty() => (),
            None => first = Some((name, names)),
            Some((other, known)) if known.iter().all(|model| !names.contains(model)) => {
                return Err(contents(format!(
                    "{other} is of {}, {name} of {}, so these are two servers; give the files of one",
                    known.join(" or "),
                    names.join(" or ")
                )));
            }
            Some(_) => (),
        }
    }
    Ok(())
}

/// Returns the name of a model without its owner or folder.
fn short(model: &str) -> String {
    model.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// Refuses loads on different servers.
pub(crate) fn check_urls(runs: &[Run]) -> Result<(), Error> {
    let host = |url: &str| {
        let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
        behind.split('/').next().unwrap_or_default().to_ascii_lowercase().replace("localhost", "127.0.0.1")
    };
    let mut hosts = runs.iter().filter_map(|run| run.url.as_deref().map(host));
    let Some(first) = hosts.next() else {
        return Ok(());
    };
    match hosts.find(|host| *host != first) {
        Some(other) => Err(contents(format!("found loads on {first} and on {other}; give the files of one server"))),
        None => Ok(()),
    }
}

/// Puts files on one load together: a summary and its requests, and a load that is there twice.
pub(crate) fn joined(runs: Vec<Run>, notes: &mut Vec<String>) -> Vec<Run> {
    // Summaries first, so that their figures count.
    let (summaries, requests): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.requests_per_s.is_some());
    let mut joined: Vec<Run> = Vec::new();
    for run in summaries {
        match joined.iter_mut().find(|known| is_same(known, &run)) {
            Some(known) => known.fill(run),
            None => joined.push(run),
        }
    }
    for run in requests {
        let of_client = |known: &&mut Run| known.client == run.client && known.samples.is_empty();
        let candidates = joined.iter_mut().filter(of_client);
        let mut candidates: Vec<&mut Run> = candidates.collect();
        let equal = candidates.iter().position(|known| known.load.completed == run.load.completed);
        let only = (candidates.len() == 1).then_some(0);
        match equal.or(only).map(|index| candidates.swap_remove(index)) {
            Some(known) => {
                notes.extend(contradictions(known, &run));
                known.fill(run);
            }
            None => joined.push(run),
        }
    }
    without_sums(joined, notes)
}

/// Whether the summaries of two files are of one load.
fn is_same(a: &Run, b: &Run) -> bool {
    let close =
        |a: Option<f64>, b: Option<f64>| a.zip(b).is_none_or(|(a, b)| (a - b).abs() <= SAME * a.abs().max(b.abs()));
    let agree = |a: Option<u64>, b: Option<u64>| a.zip(b).is_none_or(|(a, b)| a == b);
    let file = |run: &Run| run.sources.get("load").cloned();
    a.client == b.client
        && file(a) != file(b)
        && a.load.completed == b.load.completed
        && agree(a.load.users, b.load.users)
        && close(a.load.asked_per_s, b.load.asked_per_s)
        && a.e2e_ms.mean.is_some() | a.ttft_ms.mean.is_some()
        && close(a.e2e_ms.mean, b.e2e_ms.mean)
        && close(a.ttft_ms.mean, b.ttft_ms.mean)
}

/// Returns what the requests of a load contradict in its summary.
fn contradictions(summary: &Run, requests: &Run) -> Vec<String> {
    let source = |run: &Run, key: &str| run.sources.get(key).cloned().unwrap_or_default();
    let count = |run: &Run| run.load.completed.map(|count| count as f64);
    let figures = [
        ("completed requests", "load", count(summary), count(requests)),
        ("prompt tokens", "prompt_tokens", summary.load.prompt_tokens.mean, requests.load.prompt_tokens.mean),
        ("output tokens", "output_tokens", summary.load.output_tokens.mean, requests.load.output_tokens.mean),
        ("mean TTFT", "ttft_ms", summary.ttft_ms.mean, requests.ttft_ms.mean),
        ("mean E2E", "e2e_ms", summary.e2e_ms.mean, requests.e2e_ms.mean),
    ];
    let differing = figures.into_iter().filter_map(|(name, key, a, b)| {
        let (a, b) = a.zip(b).filter(|(a, b)| (a - b).abs() > CONTRADICTION * a.max(*b))?;
        let (in_a, in_b) = (source(summary, key), source(requests, key));
        Some(format!("{name}: {a:.1} in {in_a}, {b:.1} in {in_b}; the first counts"))
    });
    differing.collect()
}

/// Leaves out a summary of several loads that are there, too: inference-perf sums up its stages.
fn without_sums(runs: Vec<Run>, notes: &mut Vec<String>) -> Vec<Run> {
    let completed = |run: &Run| run.load.completed.unwrap_or_default();
    let of_stages = |run: &Run| {
        let stages = runs.iter().filter(|other| other.client == run.client && has_load(other));
        let (count, sum) = stages.fold((0, 0), |(count, sum), stage| (count + 1, sum + completed(stage)));
        !has_load(run) && count > 1 && sum == completed(run)
    };
    let is_sum: Vec<bool> = runs.iter().map(of_stages).collect();
    let mut kept = Vec::new();
    for (run, is_sum) in runs.into_iter().zip(is_sum) {
        if is_sum {
            let file = run.sources.get("load").cloned().unwrap_or_default();
            notes.push(format!("{file} sums up the loads of other files and is left out"));
        } else {
            kept.push(run);
        }
    }
    kept
}

fn has_load(run: &Run) -> bool {
    run.load.asked_per_s.is_some() || run.load.users.is_some()
}

/// Returns the figures of metrics with their files: between the first scrape and the last, or since the start.
pub(crate) fn metrics(mut scrapes: Vec<(&str, Scrape)>) -> Result<(Vec<String>, BTreeMap<String, f64>), Error> {
    scrapes.sort_by(|(_, a), (_, b)| a.progress().total_cmp(&b.progress()));
    let files = scrapes.iter().map(|(file, _)| (*file).to_owned()).collect();
    let figures = match scrapes.as_slice() {
        [] => BTreeMap::new(),
        [(_, only)] => only.figures(),
        [(first, earliest), .., (last, latest)] => {
            if let Some((other, _)) = scrapes.iter().find(|(_, scrape)| scrape.engine != earliest.engine) {
                return Err(contents(format!("{first} and {other} are of two servers; give the files of one")));
            }
            let since = latest.since(earliest);
            since.map_err(|error| error.map(|text| format!("{first} and {last}: {text}")))?.figures()
        }
    };
    Ok((files, figures))
}
