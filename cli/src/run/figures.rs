//! The figures of a run as text.

use rooflut::sim::SimConfig;
use rooflut::sim::figures::{Drafts, Goodput, LimitShares, PoolUse, Stages, Summary};
use rooflut_report::{Cost, EnergyBound, LatencyMs, PerWork, Shares};
use rooflut_scenario::{EXACT_REQUESTS, ServerKind, Speculation};

use super::interval;
use super::load;
use super::ranges::latencies;
use super::seeds;
use super::steady;
use super::text::{RunText, servers_of};
use crate::flagged;
use crate::grid::Grid;
use crate::output::{count, latency, latency_cell, number, percent, plural, scientific, three_digits, wrapped_at};

/// Column of the text after its label.
pub(super) const INDENT: usize = 15;
/// Maximum number of parts of a step that are named.
const MAX_PARTS: usize = 4;

impl RunText<'_> {
    /// Latencies, what was served, and where the time went; only what was rejected, if nothing was served.
    pub(crate) fn figures(&self) -> String {
        if self.outcome.totals.completed == 0 {
            return self.served();
        }
        let seeds = self.outcome.seeds.as_ref();
        let seeds =
            seeds.map_or(String::new(), |seeds| "\n".to_owned() + &seeds::text(seeds) + &self.files(seeds.first));
        let interval = self
            .outcome
            .interval
            .as_ref()
            .map_or(String::new(), |interval| "\n".to_owned() + &interval::text(interval));
        self.latencies() + &self.by_kind() + &self.totals() + &self.server_use() + &self.costs() + &interval + &seeds
    }

    /// Names the seed of the files, if there are any.
    fn files(&self, seed: u64) -> String {
        let of_seed = format!("of seed {seed} alone, as the figures above");
        match self.outcome.run.scenario().output.paths().next() {
            Some(_) => wrapped_at(INDENT, "files", &of_seed),
            None => String::new(),
        }
    }

    /// Warnings of the load, the server and the tables.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let flagged = self.report.flagged_rows.iter().map(flagged::note);
        let of_load = (steady::warning(self.outcome).into_iter())
            .chain(self.busiest())
            .chain(load::silent_users(self.outcome.run.load(), self.outcome.requests()));
        of_load.chain(self.report.notes.iter().cloned()).chain(flagged)
    }

    fn latencies(&self) -> String {
        let summary = &self.outcome.summary;
        let itl = match summary.drafts {
            Some(_) => "ITL    next step, +-0.05 %",
            None => "ITL    next token, +-0.05 %",
        };
        let report = self.report;
        let rows = [
            ("TTFT   to first token", report.ttft_ms),
            ("TPOT   per output token", report.tpot_ms),
            (itl, report.itl_ms),
            ("E2E    to last token", report.e2e_ms),
            ("queue  to scheduling", report.queue_ms),
        ];
        let rows = rows.map(|(name, figures)| (name.to_owned(), figures.all()));
        let mut text = latencies("latency", &rows).render(2);
        if summary.percentile_error > 0.0 {
            let told = format!(
                "percentiles from histograms, within {} %; exact up to {} requests",
                number(100.0 * summary.percentile_error, 2),
                count(EXACT_REQUESTS as u64),
            );
            text += &wrapped_at(2, "", &told);
        }
        text + &self.by_priority()
    }

    /// Latencies of each priority.
    fn by_priority(&self) -> String {
        let Some(classes) = &self.report.by_priority else {
            return String::new();
        };
        let rows = classes.iter().flat_map(|class| {
            let name = format!("{} ({})", class.priority, count(class.completed));
            let rest = " ".repeat(name.len());
            [(name, "TTFT", class.ttft_ms), (rest.clone(), "TPOT", class.tpot_ms), (rest, "E2E", class.e2e_ms)]
        });
        let rows = rows.map(|(name, latency, figures)| (format!("{name}  {latency}"), figures.all()));
        "\n".to_owned() + &latencies("priority (requests)", &rows.collect::<Vec<_>>()).render(2)
    }

    /// The work of each kind of server.
    fn by_kind(&self) -> String {
        let Some(kinds) = &self.report.servers else {
            return String::new();
        };
        let mut grid = Grid::new("servers | >requests | >share | >TTFT\np99 ms | >TPOT\np99 ms | >busy | >KV\npeak");
        let p99 = |of: Option<LatencyMs>| of.and_then(|of| of.p99).map_or("-".to_owned(), latency_cell);
        for (group, kind) in self.outcome.run.groups().iter().zip(kinds) {
            grid.row(vec![
                servers_of(group),
                count(kind.requests),
                kind.share.map_or("-".to_owned(), |share| percent(100.0 * share)),
                p99(kind.ttft_ms),
                p99(kind.tpot_ms),
                percent(100.0 * kind.busy_share),
                percent(100.0 * f64::from(kind.kv_blocks_peak) / f64::from(kind.kv_blocks.max(1))),
            ]);
        }
        "\n".to_owned() + &grid.render(2)
    }

    fn totals(&self) -> String {
        let summary = &self.outcome.summary;
        let throughput = &summary.throughput;
        let rates = format!(
            "{} requests/s, {} output tokens/s, {} tokens/s with prompts",
            number(throughput.requests_per_s, 2),
            number(throughput.output_tokens_per_s, 0),
            number(throughput.total_tokens_per_s, 0),
        );
        let mut text = "\n".to_owned();
        text += &wrapped_at(INDENT, "throughput", &rates);
        text += &wrapped_at(INDENT, "tokens/s", &self.shared_rates());
        if let Some(goodput) = &summary.goodput {
            let goodput = describe_goodput(goodput, summary.completed + summary.rejected);
            text += &wrapped_at(INDENT, "goodput", &goodput);
        }
        let speculation = self.outcome.run.speculation();
        if let Some((speculation, drafts)) = speculation.zip(summary.drafts.as_ref()) {
            let drafts = describe_drafts(speculation, drafts, self.outcome.draft_share());
            text += &wrapped_at(INDENT, "drafts", &drafts);
        }
        if let Some(stages) = &summary.stages {
            for (label, figures) in describe_stages(stages, summary) {
                text += &wrapped_at(INDENT, label, &figures);
            }
        }
        text + &self.served()
    }

    /// Tokens per second of a user and of a GPU.
    fn shared_rates(&self) -> String {
        let per_user = self.report.tokens_per_s_per_user.map(|rate| format!("{} per user, ", three_digits(rate)));
        format!(
            "{}{} output per GPU, {} with prompts",
            per_user.unwrap_or_default(),
            three_digits(self.report.output_tokens_per_s_per_gpu),
            three_digits(self.report.total_tokens_per_s_per_gpu),
        )
    }

    /// Completed and rejected requests.
    fn served(&self) -> String {
        let totals = &self.outcome.totals;
        let completed = format!(
            "{} of {} in {} simulated s, {}, {}",
            count(totals.completed),
            plural(self.outcome.requests(), "request"),
            number(totals.makespan().0, 2),
            plural(totals.steps, "step"),
            plural(totals.preemptions, "preemption"),
        );
        let mut text = wrapped_at(INDENT, "completed", &completed);
        for rejected in self.rejected() {
            let told = format!("{}: {}", self.counted(rejected.requests), rejected.cause);
            text += &wrapped_at(INDENT, rejected.end, &told);
        }
        if self.outcome.retries > 0 {
            let told = format!("{}: sent again by clients that gave up", self.counted(self.outcome.retries));
            text += &wrapped_at(INDENT, "retries", &told);
        }
        if let Some(restarted) = self.report.restarted {
            let lost = self.outcome.run.outages().iter().map(|outage| {
                format!("server {} from {} to {} s", outage.server, scientific(outage.from_s), scientific(outage.to_s))
            });
            let lost: Vec<String> = lost.collect();
            let told = format!("{}; {} started again", lost.join(", "), plural(restarted, "request"));
            text += &wrapped_at(INDENT, "lost", &told);
        }
        if totals.truncated > 0 {
            let requests = count(totals.truncated);
            let longest = count(self.outcome.run.config().max_model_len.into());
            let told = format!("{requests}: prompt and output end at {longest} tokens");
            text += &wrapped_at(INDENT, "truncated", &told);
        }
        if let Some(windows) = self.windows() {
            text += &wrapped_at(INDENT, "windows", &windows);
        }
        if let Some(window) = &self.outcome.steady.window {
            text += &wrapped_at(INDENT, "steady", &steady::window(window));
        }
        text
    }

    /// A number of requests, with its share in all requests if clients give up.
    fn counted(&self, requests: u64) -> String {
        let share = 100.0 * requests as f64 / self.outcome.requests().max(1) as f64;
        match self.report.clients {
            Some(_) => format!("{} ({})", count(requests), percent(share)),
            None => count(requests),
        }
    }

    /// The extremes over time.
    fn windows(&self) -> Option<String> {
        let windows = self.report.windows.as_ref()?;
        let first = windows.first()?;
        let given_s = self.outcome.run.scenario().output.windows?.seconds();
        let width_s = given_s.unwrap_or(first.to_s - first.from_s);
        let slowest = windows.iter().filter_map(|it| Some((it.ttft_ms.mean?, it.from_s)));
        let (ttft_ms, from_s) = slowest.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        // A short rest of a window says little.
        let whole = windows.iter().filter(|it| !it.is_partial || windows.len() == 1);
        let busiest = whole.map(|it| it.requests_per_s).max_by(f64::total_cmp)?;
        Some(format!(
            "{} of {} s: mean TTFT up to {} (from {} s on), up to {} requests/s",
            count(windows.len() as u64),
            scientific(width_s),
            latency(ttft_ms),
            number(from_s, 0),
            number(busiest, 2),
        ))
    }

    /// Cost and energy of what was served.
    fn costs(&self) -> String {
        let run = self.outcome.run;
        let without = |is_known: fn(&ServerKind) -> bool| {
            let kind = run.kinds().find(|kind| !is_known(kind)).or(run.kinds().next());
            kind.map(|kind| kind.placement().tables.gpu().name.to_string()).unwrap_or_default()
        };
        let gpu = without(|kind| kind.price().is_some());
        let cost = self
            .report
            .cost
            .as_ref()
            .map(|cost| describe_cost(cost, run.is_mixed()))
            .unwrap_or_else(|| format!("the price of {gpu} is not known; give one with --price {gpu}=USD"));
        let energy =
            self.report.energy_bound.as_ref().map(|energy| describe_energy(energy, run.is_mixed())).unwrap_or_else(
                || {
                    format!(
                        "the data sheet of {} has no tdp_w; add it",
                        without(|kind| kind.placement().tables.gpu().tdp_w.is_some())
                    )
                },
            );
        wrapped_at(INDENT, "cost", &cost) + &wrapped_at(INDENT, "energy", &energy)
    }

    fn server_use(&self) -> String {
        let server = &self.outcome.summary.server;
        let busy = format!(
            "{} of the time, {} requests at once on average",
            percent(100.0 * server.busy_share),
            number(server.mean_running, 1),
        );
        let mut text = wrapped_at(INDENT, "busy", &busy);
        if let Some(batch) = &self.outcome.summary.batch {
            let sizes = format!(
                "{} requests a step on average, p50\u{a0}{}, p90\u{a0}{}, p95\u{a0}{}, p99\u{a0}{} (over the time)",
                number(batch.mean, 1),
                count(batch.p50.into()),
                count(batch.p90.into()),
                count(batch.p95.into()),
                count(batch.p99.into()),
            );
            text += &wrapped_at(INDENT, "batch", &sizes);
        }
        if let Some(limits) = self.outcome.limits.as_ref().and_then(describe_limits) {
            text += &wrapped_at(INDENT, "limited by", &limits);
        }
        for (label, shares) in
            [("time", Shares::by_part(&self.outcome.sources)), ("bound by", Shares::by_binding(&self.outcome.sources))]
        {
            let shares = describe_shares(&shares, MAX_PARTS);
            if !shares.is_empty() {
                text += &wrapped_at(INDENT, label, &shares);
            }
        }
        text += &wrapped_at(INDENT, "KV cache", &self.kv_cache());
        if let Some(hits) = self.prefix_hits() {
            text += &wrapped_at(INDENT, "prefix hits", &hits);
        }
        text
    }

    /// The hit rate of the prefix cache, where requests can share tokens.
    fn prefix_hits(&self) -> Option<String> {
        let totals = &self.outcome.totals;
        let rate = self.outcome.prefix_hit_rate()?;
        (totals.cache_lookups > 0 || rate > 0.0).then(|| format!("{} of the prompt tokens", percent(100.0 * rate)))
    }

    fn kv_cache(&self) -> String {
        let kv = &self.outcome.summary.kv;
        let share = |blocks: f64| percent(100.0 * blocks / f64::from(kv.blocks));
        let SimConfig { kv_groups: groups, block_size, max_model_len, max_num_batched_tokens, .. } =
            *self.outcome.run.config();
        // As in vLLM's line "Maximum concurrency".
        let longest = groups.blocks(max_model_len, block_size, max_num_batched_tokens);
        let (many, layers) = (groups.count(), groups.layers);
        let shared = match (many, groups.block_factor) {
            (1, _) => String::new(),
            (_, 1) => format!("; shared by {many} groups of {layers} layers"),
            _ => format!("; {layers} layers each, {many} for {block_size} tokens of a request"),
        };
        if self.outcome.run.is_mixed() {
            return format!(
                "{} of {} blocks at the peak ({}), {} on average",
                count(kv.peak_blocks.into()),
                count(kv.blocks.into()),
                share(f64::from(kv.peak_blocks)),
                share(kv.mean_blocks),
            );
        }
        format!(
            "{} of {} blocks of {} tokens at the peak ({}), {} on average; room for {} requests of {} tokens{shared}",
            count(kv.peak_blocks.into()),
            count(kv.blocks.into()),
            block_size / groups.block_factor.max(1),
            share(f64::from(kv.peak_blocks)),
            share(kv.mean_blocks),
            number(f64::from(kv.blocks) / f64::from(longest.max(1)), 2),
            count(max_model_len.into()),
        )
    }

    /// Warns where one replica serves most of the load.
    fn busiest(&self) -> Option<String> {
        let busiest = self.outcome.busiest?;
        Some(format!(
            "server {} serves {} of the tokens of {} equal servers, so that the others stand idle; use another \
             --router, or fewer servers",
            busiest.replica,
            percent(100.0 * busiest.share),
            busiest.replicas
        ))
    }
}

/// Returns the limits that held requests back for at least 1 % of the time, the longest first.
fn describe_limits(limits: &LimitShares) -> Option<String> {
    let mut shares = [
        ("--max-num-seqs", limits.max_num_seqs),
        ("--max-num-batched-tokens", limits.max_num_batched_tokens),
        ("the KV cache", limits.kv_cache),
    ];
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let told = shares
        .iter()
        .filter(|(_, share)| *share >= 0.01)
        .map(|(limit, share)| format!("{limit} {}", percent(100.0 * share)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("{} of the time", told.join(", ")))
}

/// `12.3 requests/s with TTFT <= 200 ms, TPOT <= 20 ms (1234 of 2000 requests)`.
fn describe_goodput(goodput: &Goodput, requests: u64) -> String {
    let goodput = rooflut_report::Goodput::from(*goodput);
    let limits = [("TTFT", goodput.ttft_ms), ("TPOT", goodput.tpot_ms), ("E2E", goodput.e2e_ms)]
        .into_iter()
        .filter_map(|(name, limit)| Some(format!("{name} <= {} ms", limit?)));
    format!(
        "{} requests/s with {} ({} of {})",
        number(goodput.requests_per_s, 2),
        limits.collect::<Vec<_>>().join(", "),
        count(goodput.met),
        plural(requests, "request"),
    )
}

fn describe_cost(cost: &Cost, is_mean: bool) -> String {
    let price = &cost.price;
    let usd = match is_mean {
        true => format!("{} USD per GPU hour on average", three_digits(price.usd_per_gpu_hour)),
        false => format!("{} USD per GPU hour", price.usd_per_gpu_hour),
    };
    format!("{}; at {usd} ({})", describe_per(&cost.usd_per, "USD"), price.origin())
}

fn describe_energy(energy: &EnergyBound, is_mean: bool) -> String {
    let each = if is_mean { "on average" } else { "each" };
    format!(
        "at most {}: the GPUs alone, {} W {each} while a step runs",
        describe_per(&energy.wh_per, "Wh"),
        number(energy.tdp_w, 0)
    )
}

/// `0.524 USD per million output tokens, 0.175 with prompts, 0.134 per 1000 requests`.
fn describe_per(per: &PerWork, unit: &str) -> String {
    let all = [
        (per.million_output_tokens, format!("{unit} per million output tokens")),
        (per.million_tokens, "with prompts".to_owned()),
        (per.request.map(|amount| 1e3 * amount), "per 1000 requests".to_owned()),
    ];
    let known = all.into_iter().filter_map(|(amount, unit)| Some(format!("{} {unit}", three_digits(amount?))));
    known.collect::<Vec<_>>().join(", ")
}

fn describe_drafts(speculation: &Speculation, drafts: &Drafts, share: Option<f64>) -> String {
    let share = share.map_or(String::new(), |share| {
        let share = percent(100.0 * share);
        let drafter = match &speculation.draft {
            None => "MTP layer",
            Some(draft) if draft.spec.eagle3.is_some() => "EAGLE-3 head",
            Some(_) => "draft model",
        };
        format!(", the {drafter} takes {share} of the time")
    });
    format!(
        "{} tokens a request and step ({} expected), {} of the drafted tokens accepted{share}",
        number(drafts.tokens_per_step(), 2),
        number(speculation.drafts.tokens_per_step(), 2),
        percent(100.0 * drafts.accepted_share()),
    )
}

fn describe_stages(stages: &Stages, summary: &Summary) -> [(&'static str, String); 2] {
    let makespan = summary.makespan;
    let transfer = format!(
        "{} from the end of the prefill to the arrival of its KV entries, {} from there to the \
         decode server's schedule (means); links busy {} of the time",
        latency(stages.mean_transfer().ms()),
        latency(stages.mean_decode_queue().ms()),
        percent(100.0 * stages.link_share(makespan)),
    );
    let pool = |pool: &PoolUse| {
        format!(
            "busy {} of the time, {} of their KV blocks at the peak",
            percent(100.0 * pool.busy_share(makespan)),
            percent(100.0 * pool.peak_kv_share()),
        )
    };
    let (prefill, decode) = (pool(&stages.prefill), pool(&stages.decode));
    let pools = format!("prefill servers {prefill}; decode servers {decode}");
    [("KV transfer", transfer), ("pools", pools)]
}

/// The `max` largest shares, the largest first, and the sum of the others.
fn describe_shares(shares: &Shares, max: usize) -> String {
    let mut shares: Vec<_> = shares.0.iter().filter(|(_, share)| *share > 0.0).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let others: f64 = shares.iter().skip(max).map(|(_, share)| share).sum();
    let largest = shares.iter().take(max).map(|&&(name, share)| (name, share));
    let named: Vec<String> = largest
        .chain((others > 0.0).then_some(("others", others)))
        .map(|(name, share)| format!("{} {name}", percent(100.0 * share)))
        .collect();
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_shares_come_first_and_the_others_together() {
        let shares = [("a", 0.125), ("b", 0.0), ("c", 0.5), ("d", 0.25), ("e", 0.125)];
        let shares = Shares(shares.to_vec());
        assert_eq!(describe_shares(&shares, 2), "50 % c, 25 % d, 25 % others");
        assert_eq!(describe_shares(&shares, 4), "50 % c, 25 % d, 12 % a, 12 % e");
        assert_eq!(describe_shares(&Shares(vec![("a", 0.0)]), 3), "");
    }
}
