//! The answer of `rooflut run` as text.

use rooflut::sim::PrefixCaching;
use rooflut::step::TimeSources;
use rooflut::table::Origin;
use rooflut_report::{Report, Role, Shares};
use rooflut_scenario::{Group, Outcome, Pools, Run, ServerKind, Speculation};

use super::load;
use super::rejections::{self, LengthLimit, Rejected};
use super::steady;
use crate::args::RunArgs;
use crate::error::Error;
use crate::output::{INDENT, count, model_size, number, paragraph, percent, plural, title, warnings, wrapped};

const TRY_NEXT: &str = "Try next: rooflut run --rate 30 (overload), rooflut step --decode 64x1000, rooflut --help";

/// Said of [loads](load::is_in_lock_step) whose percentiles hardly differ.
const LOCK_STEP: &str = "equal users move in lock-step: those who are answered together ask together again, so that \
                         their prompts wait for each other in every round; --think-time exponential:1, or lengths \
                         that vary (--output lognormal:200,0.8), spread them";

/// Settings of a server that its limits show, given or not.
const IN_LIMITS: &[&str] = &["max_num_seqs", "max_num_batched_tokens", "max_model_len", "scheduling"];

/// A run with its outcome, to be described.
pub(crate) struct RunText<'r> {
    pub(crate) args: &'r RunArgs,
    pub(crate) outcome: &'r Outcome<'r>,
    /// Its report.
    pub(crate) report: &'r Report,
}

impl RunText<'_> {
    pub(crate) fn text(&self) -> String {
        let next = if self.args.is_default { format!("\n{}", paragraph(TRY_NEXT)) } else { String::new() };
        self.setup() + &self.figures() + &next
    }

    fn setup(&self) -> String {
        let heading = format!(
            "{}, simulated as {} serves it{}",
            self.outcome.run.title(),
            self.outcome.run.placement().engine.name,
            steady::heading(self.outcome),
        );
        let mut text = title(&heading) + &warnings(INDENT, self.warnings());
        let run = self.outcome.run;
        if load::is_in_lock_step(run.load()) && !run.scenario().server.is_random() {
            text += &wrapped("note", LOCK_STEP);
        }
        text += &self.of_kinds("model", |kind| {
            let placement = kind.placement();
            model_size(&placement.model.spec, placement.kv_dtype)
        });
        if let Some(file) = &self.args.file {
            let scenario = file.path.display();
            let replaced = match file.replaced.join(", ") {
                none if none.is_empty() => none,
                keys => format!("; the command line replaces {keys}"),
            };
            text += &wrapped("scenario", &format!("{scenario}{replaced}"));
        }
        let run = self.outcome.run;
        let load = load::describe(run.load(), self.outcome.requests());
        text += &wrapped("load", &(load + &load::describe_patience(&run.scenario().workload)));
        text += &self.servers();
        text += &self.of_kinds("tables", |kind| {
            let tables = &kind.placement().tables;
            format!("{}: {}", tables.name(), tables.origin().engine)
        });
        text += &self.of_kinds("source", |kind| {
            let Origin { source, license, .. } = kind.placement().tables.origin();
            format!("{source} ({license})")
        });
        text += &wrapped("origin", &describe_sources(&self.outcome.sources));
        text + "\n"
    }

    /// Returns a line for each kind of server, equal ones once.
    fn of_kinds(&self, label: &str, of_kind: impl Fn(&ServerKind) -> String) -> String {
        let mut told: Vec<String> = Vec::new();
        for text in self.outcome.run.kinds().map(of_kind) {
            if !told.contains(&text) {
                told.push(text);
            }
        }
        told.iter().map(|text| wrapped(label, text)).collect()
    }

    /// Limits of the servers and policies other than the defaults.
    fn servers(&self) -> String {
        let run = self.outcome.run;
        if !run.is_mixed() {
            return run.kinds().map(|kind| wrapped("server", &(limits(run, kind) + &self.policies()))).collect();
        }
        let groups = run.groups();
        let each = groups.iter().map(|group| {
            let servers = format!("{}: {}", servers_of(group), limits(run, group.kind));
            wrapped("servers", &servers)
        });
        let policies = self.policies();
        each.chain([wrapped("policies", policies.trim_start_matches("; "))]).collect()
    }

    /// Policies other than the defaults.
    fn policies(&self) -> String {
        let run = self.outcome.run;
        let server = &run.scenario().server;
        let mut text = String::new();
        let each = match run.placement().parallelism.tp {
            1 => String::new(),
            tp => format!(" of {}", plural(tp.into(), "GPU")),
        };
        if run.is_mixed() && run.pools().is_none() {
            text += &format!("; {}", server.router());
        }
        if server.replicas() > 1 {
            let servers = plural(server.replicas().into(), "replica");
            text += &format!("; {servers}{each}, {}", server.router());
        }
        if let Some(pools) = run.pools() {
            text += &format!("; {}, {}", describe_pools(pools), server.router());
        }
        if let Some(speculation) = run.speculation() {
            text += &format!("; {}", describe_speculation(speculation));
            if server.is_random() {
                text += &format!(" (seed {})", run.scenario().workload.seed());
            }
        }
        let mut given = server.options();
        // Also where the model turns it off.
        if run.config().prefix_caching == PrefixCaching::Disabled {
            given.prefix_caching = Some(PrefixCaching::Disabled);
        }
        let given = serde_json::to_value(given).unwrap_or_default();
        for (name, value) in given.as_object().into_iter().flatten() {
            if !IN_LIMITS.contains(&name.as_str()) && !value.is_null() {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text += &format!("; {name} {value}");
            }
        }
        text
    }

    /// Rejected requests by reason.
    pub(super) fn rejected(&self) -> Vec<Rejected> {
        let Outcome { run, rejections, .. } = self.outcome;
        rejections::explain(rejections, run)
    }

    /// The error of a run that has served nothing.
    pub(crate) fn failure(&self) -> Option<Error> {
        let completed = self.outcome.totals.completed;
        (completed == 0).then(|| rejections::all_rejected(&self.rejected()))
    }
}

/// Returns how many servers a group has, and the GPUs of each: `prefill: 2 servers of 1 h100 GPU each`.
pub(super) fn servers_of(group: &Group<'_>) -> String {
    let role = match group.role {
        Role::Prefill => "prefill: ",
        Role::Decode => "decode: ",
        _ => "",
    };
    let gpus = group.kind.placement().gpus(group.kind.placement().parallelism.gpus().into());
    match group.servers() {
        1 => format!("{role}{gpus}"),
        servers => format!("{role}{} servers of {gpus} each", count(servers.into())),
    }
}

/// Returns the limits of a kind of server.
fn limits(run: &Run, kind: &ServerKind) -> String {
    let config = kind.config();
    format!(
        "{}, {} a step, at most {} a request{}, {} scheduling, {} ms of API server",
        plural(config.max_num_seqs.into(), "sequence"),
        plural(config.max_num_batched_tokens.into(), "token"),
        count(config.max_model_len.into()),
        LengthLimit::of(run, kind).remark(),
        config.rules.scheduling,
        number(config.api_server_ns as f64 / 1e6, 1),
    )
}

fn describe_pools(pools: &Pools) -> String {
    format!(
        "{} and {}, KV entries over links of {} GB/s and {} us",
        plural(pools.prefill.into(), "prefill server"),
        plural(pools.decode.into(), "decode server"),
        number(pools.bandwidth_gb_per_s, 1),
        number(pools.latency_us, 1),
    )
}

fn describe_speculation(speculation: &Speculation) -> String {
    let measured = speculation.measured.as_ref().map(|measured| {
        let tokens = number(measured.tokens_per_step, 2);
        format!(", as measured: {tokens} tokens a step on {} ({})", measured.prompts, measured.source)
    });
    format!(
        "{} drafted by {}, {} of them accepted after an accepted one{}",
        plural(speculation.drafts.draft_tokens().into(), "token"),
        speculation.draft_name(),
        percent(100.0 * speculation.acceptance),
        measured.unwrap_or_default(),
    )
}

/// The sources that occur, with their shares of the time.
fn describe_sources(sources: &TimeSources) -> String {
    let shares = Shares::by_source(sources).0.into_iter();
    let shares: Vec<String> = shares
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{} {name}", percent(100.0 * share)))
        .collect();
    if shares.is_empty() {
        return "no step was run".to_owned();
    }
    let outside = match sources.outside_share() {
        share if share > 0.0 => format!("; {} outside of the measured ranges", percent(100.0 * share)),
        _ => String::new(),
    };
    format!("{}{outside}", shares.join(", "))
}
