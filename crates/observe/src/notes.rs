//! Remarks on what was measured.

use rooflut::engine;

use crate::log::GRAPH_MAX_TOKENS;
use crate::measured::{Fact, Measured};
use crate::run::Run;

/// A client that sends less than this share of its rate does not keep up with it.
const REACHED: f64 = 0.9;
/// Token counts that differ by more contradict each other.
const EQUAL_TOKENS: f64 = 0.02;
/// The first request of a server that is cold takes more than this many medians.
const COLD: f64 = 3.0;
/// Fewest requests from which a cold start is judged.
const MIN_REQUESTS: usize = 10;
/// Rates that should be a count over the duration differ by more: clients count the time before and after differently.
const EQUAL_RATES: f64 = 0.2;
/// Times that should add up differ by more.
const EQUAL_TIMES: f64 = 0.15;

/// Adds remarks on the runs and the metrics.
pub(crate) fn add(measured: &mut Measured) {
    let several = measured.runs.len() > 1;
    let mut notes = Vec::new();
    for (index, run) in measured.runs.iter().enumerate() {
        let place = if several { format!("run {}: ", index + 1) } else { String::new() };
        let arrivals = arrivals(run).filter(|_| !measured.deployment.contains_key("arrival"));
        notes.extend(of_run(run).into_iter().chain(arrivals).map(|note| format!("{place}{note}")));
    }
    notes.extend(graphs(measured));
    notes.extend(of_metrics(measured));
    measured.notes.extend(notes);
}

fn of_run(run: &Run) -> Vec<String> {
    let checks = [failed(run), rate(run), held_back(run), cold_start(run), times(run), requests(run), tokens(run)];
    checks.into_iter().flatten().collect()
}

fn failed(run: &Run) -> Option<String> {
    let failed = run.load.failed.filter(|failed| *failed > 0)?;
    let all = run.load.completed.map_or_else(String::new, |completed| format!(" of {}", completed + failed));
    Some(format!("{failed}{all} requests failed: the figures are those of the others, with less load than was sent"))
}

fn rate(run: &Run) -> Option<String> {
    let asked = run.load.asked_per_s?;
    if let Some(sent) = run.load.sent_per_s {
        // The time of random arrivals varies by this much.
        let chance = run.load.completed.map_or(0.0, |count| 3.0 / (count.max(1) as f64).sqrt());
        let is_short = sent < REACHED.min(1.0 / (1.0 + chance)) * asked;
        return is_short.then(|| {
            format!("the client sent {sent:.2} requests per second where {asked:.2} were asked for: it did not keep up")
        });
    }
    let completed = run.requests_per_s.filter(|rate| *rate < 0.8 * asked)?;
    Some(format!(
        "{completed:.2} requests per second were completed of {asked:.2} asked for: the server or the client did not keep up, or the run was short"
    ))
}

fn arrivals(run: &Run) -> Option<String> {
    let is_told = run.load.arrival.is_some() || run.trace.is_some();
    run.load.asked_per_s.filter(|_| !is_told)?;
    Some(
        "no file says how requests arrived, so a scenario has Poisson arrivals; give --arrival if these were others"
            .to_owned(),
    )
}

fn held_back(run: &Run) -> Option<String> {
    let (asked, users) = (run.load.asked_per_s?, run.load.users?);
    let is_far = run.load.concurrency.is_some_and(|mean| mean < 0.5 * users as f64);
    (!is_far).then(|| {
        format!("the client kept at most {users} requests in flight, so that it may have held some back at {asked:.2} per second")
    })
}

/// Compares the request that was sent first with the median.
fn cold_start(run: &Run) -> Option<String> {
    let mut started: Vec<(f64, f64)> = run.requests.iter().filter_map(|it| Some((it.start_s?, it.ttft_ms?))).collect();
    if started.len() < MIN_REQUESTS {
        return None;
    }
    started.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (_, first) = *started.first()?;
    let median = run.ttft_ms.p50?;
    // In a burst all wait for each other; the first of them waits least.
    (first > COLD * median).then(|| {
        format!("a cold start: the first request waited {first:.0} ms for its first token, the median is {median:.0} ms; warm the server up")
    })
}

/// Checks that E2E is TTFT and the time of all further tokens.
fn times(run: &Run) -> Option<String> {
    let (e2e, ttft, tpot) = (run.e2e_ms.mean?, run.ttft_ms.mean?, run.tpot_ms.mean?);
    let tokens = run.load.output_tokens.mean.filter(|tokens| *tokens > 2.0)?;
    let expected = ttft + tpot * (tokens - 1.0);
    ((expected / e2e - 1.0).abs() > EQUAL_TIMES).then(|| {
        format!(
            "token counts: TTFT and TPOT of {tokens:.0} output tokens make {expected:.0} ms, but requests took {e2e:.0} ms; \
             the client may count other tokens than the server generated"
        )
    })
}

/// Checks that the throughput is that of the requests in the duration.
fn requests(run: &Run) -> Option<String> {
    let completed = run.load.completed?;
    counted("requests", run.requests_per_s?, completed as f64, run.duration_s?)
}

/// Checks that the throughput is that of the tokens in the duration.
fn tokens(run: &Run) -> Option<String> {
    let tokens = run.load.output_tokens.mean? * run.load.completed? as f64;
    counted("output tokens", run.output_tokens_per_s?, tokens, run.duration_s?)
}

fn counted(what: &str, per_s: f64, count: f64, duration_s: f64) -> Option<String> {
    let expected = count / duration_s;
    let is_equal = (per_s - expected).abs() <= EQUAL_RATES * expected.max(per_s);
    (!is_equal).then(|| {
        format!(
            "{what}: {count:.0} in {duration_s:.2} s are {expected:.2} per second, but the file has {per_s:.2}; one of them is \
             wrong"
        )
    })
}

/// Compares the largest CUDA graph of a log with that of the engine's stack.
fn graphs(measured: &Measured) -> Option<String> {
    let number = |fact: Option<&Fact>| fact?.value.as_u64();
    let found = number(measured.facts.get(GRAPH_MAX_TOKENS))?;
    let engine = measured.deployment.get("engine")?.value.as_str()?;
    let stack = engine::find(engine).or_else(|| engine::closest(engine))?;
    let requests = number(measured.deployment.get("max_num_seqs")).unwrap_or(u64::MAX);
    let expected = u64::from(stack.constants.cuda_graph_max_tokens).min(requests.saturating_mul(2));
    // Sizes beyond 256 are multiples of 16.
    (found + 16 <= expected).then(|| {
        format!(
            "CUDA graphs are captured up to {found} tokens, {expected} are modelled: larger steps may take longer than \
             predicted"
        )
    })
}

fn of_metrics(measured: &Measured) -> Vec<String> {
    let mut notes = Vec::new();
    if measured.metrics.is_empty() {
        return notes;
    }
    if measured.metric_files.len() == 1 {
        notes.push(
            "one scrape of metrics counts since the start of the server; scrape before and after the load for its own figures"
                .to_owned(),
        );
    }
    let metric = |name: &str| measured.metrics.get(name).copied();
    let completed: u64 = measured.runs.iter().filter_map(|run| run.load.completed).sum();
    let Some(served) = metric("requests").filter(|_| completed > 0) else {
        return notes;
    };
    if (served - completed as f64).abs() >= 1.0 {
        notes.push(format!("the server counts {served} requests, the clients {completed}: others were served, too"));
        return notes;
    }
    let tokens = |of: fn(&Run) -> Option<f64>| {
        let per_run = measured.runs.iter().map(|run| Some(of(run)? * run.load.completed? as f64));
        per_run.sum::<Option<f64>>()
    };
    let pairs = [
        ("prompt", tokens(|run| run.load.prompt_tokens.mean), metric("prompt_tokens")),
        ("output", tokens(|run| run.load.output_tokens.mean), metric("output_tokens")),
    ];
    let differing = pairs.into_iter().filter_map(|(name, client, server)| {
        let (client, server) = client.zip(server)?;
        let differs = (client - server).abs() > EQUAL_TOKENS * server.max(client);
        differs.then(|| format!("{name} tokens: the clients count {client:.0}, the server {server:.0}"))
    });
    notes.extend(differing);
    notes
}
