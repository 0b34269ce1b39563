//! What `rooflut run` prints.

use std::fmt::Write;

use clap::ValueEnum;
use rooflut::sim::{QueueGrowth, Scheduling, SimConfig, SimReport, Stats};
use rooflut::step::Origins;
use rooflut::table::{Origin, Provenance};

use crate::args::{PolicyName, RunArgs, Switch};
use crate::error::Error;
use crate::load::Load;
use crate::origins::describe;
use crate::output::{Align, Grid, count, json, ms, number, percent, plural, wrapped};
use crate::rejections::{LengthLimit, Rejected, Rejections};
use crate::run_json::{RunJson, ScenarioJson, ThroughputJson};
use crate::server::Placement;

/// A run and what it was a run of.
pub(crate) struct Outcome<'r> {
    pub(crate) args: &'r RunArgs,
    pub(crate) load: &'r Load<'r>,
    pub(crate) placement: &'r Placement,
    pub(crate) config: &'r SimConfig,
    pub(crate) report: &'r SimReport,
    pub(crate) origins: Origins,
}

impl Outcome<'_> {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) -> std::fmt::Result {
        self.write_setup(text)?;
        self.write_latencies(text)?;
        self.write_totals(text)?;
        self.write_overload(text)?;
        if self.args.alone {
            writeln!(
                text,
                "\nTry next: rooflut run --rate 30 (overload), rooflut step --decode 64x1000, rooflut --help"
            )?;
        }
        Ok(())
    }

    fn write_setup(&self, text: &mut String) -> std::fmt::Result {
        let set = self.placement.set;
        writeln!(
            text,
            "{}, simulated as {} serves it\n",
            self.placement, self.placement.engine.name
        )?;
        let config = self.config;
        let server = format!(
            "{}, {} a step, at most {} a request{}, {} scheduling, {} ms of API server",
            plural(config.max_num_seqs.into(), "sequence"),
            plural(config.max_num_batched_tokens.into(), "token"),
            count(config.max_model_len.into()),
            self.length_limit().remark(),
            scheduling_name(config.scheduling),
            number(config.api_server_ns as f64 / 1e6, 1),
        );
        let server = server + &self.policies();
        let Origin {
            engine,
            source,
            license,
            ..
        } = set.origin;
        if let Some(scenario) = &self.args.scenario {
            let scenario = scenario.display();
            let replaced = match self.args.replaced.join(", ") {
                none if none.is_empty() => none,
                keys => format!("; the command line replaces {keys}"),
            };
            text.push_str(&wrapped("scenario", &format!("{scenario}{replaced}")));
        }
        text.push_str(&wrapped("load", &self.load.text(&self.args.trace)));
        text.push_str(&wrapped("server", &server));
        text.push_str(&wrapped("tables", &format!("{}: {engine}", set.name)));
        text.push_str(&wrapped("source", &format!("{source} ({license})")));
        text.push_str(&wrapped("origin", &describe(&self.origins)));
        text.push('\n');
        Ok(())
    }

    fn write_latencies(&self, text: &mut String) -> std::fmt::Result {
        let mut grid = Grid::new(&[
            ("latency", Align::Left),
            ("mean ms", Align::Right),
            ("p50 ms", Align::Right),
            ("p90 ms", Align::Right),
            ("p99 ms", Align::Right),
        ]);
        let summary = &self.report.summary;
        for (name, stats) in [
            ("TTFT   time to first token", summary.ttft),
            ("TPOT   time per output token", summary.tpot),
            ("E2E    arrival to last token", summary.e2e),
            ("queue  arrival to scheduling", summary.queue),
        ] {
            let cell = |of: fn(&Stats) -> _| stats.as_ref().map_or("-".to_owned(), |s| ms(of(s)));
            grid.row(vec![
                name.to_owned(),
                cell(|s| s.mean),
                cell(|s| s.p50),
                cell(|s| s.p90),
                cell(|s| s.p99),
            ]);
        }
        text.write_str(&grid.render(2))
    }

    fn write_totals(&self, text: &mut String) -> std::fmt::Result {
        let summary = &self.report.summary;
        let throughput = &summary.throughput;
        writeln!(
            text,
            "\n  throughput   {} requests/s, {} output tokens/s, {} tokens/s with prompts",
            number(throughput.requests_per_s, 2),
            number(throughput.output_tokens_per_s, 0),
            number(throughput.total_tokens_per_s, 0),
        )?;
        writeln!(
            text,
            "  completed    {} of {} in {} simulated s, {}, {}",
            count(summary.completed),
            plural(self.report.records.len() as u64, "request"),
            number(summary.makespan.0, 2),
            plural(summary.steps, "step"),
            plural(summary.preemptions, "preemption"),
        )?;
        for rejected in self.rejected() {
            let requests = count(rejected.requests);
            writeln!(text, "  rejected     {requests}: {}", rejected.cause)?;
        }
        let kv = &summary.kv;
        writeln!(
            text,
            "  KV cache     {} of {} blocks of {} tokens at the peak ({})",
            count(kv.peak_blocks.into()),
            count(kv.blocks.into()),
            self.config.block_size,
            percent(100.0 * f64::from(kv.peak_blocks) / f64::from(kv.blocks)),
        )
    }

    /// Says so where the queue grows all the time, which it cannot where users wait.
    fn write_overload(&self, text: &mut String) -> std::fmt::Result {
        if self.args.workload.users.is_some() {
            return Ok(());
        }
        let summary = &self.report.summary;
        let mean_step = self.origins.total() * (1.0 / summary.steps.max(1) as f64);
        let growth = QueueGrowth::of(&self.report.records);
        let Some(growth) = growth.filter(|growth| growth.is_overload(mean_step)) else {
            return Ok(());
        };
        writeln!(
            text,
            "\n  the server does not keep up with this rate: the mean queue time grows from {} ms in the\n  \
             first quarter of the requests to {} ms in the last",
            ms(growth.first_quarter),
            ms(growth.last_quarter),
        )
    }

    /// What is asked beside the defaults.
    fn policies(&self) -> String {
        let args = &self.args.policy;
        let mut text = String::new();
        if args.replicas > 1 {
            let servers = plural(args.replicas.into(), "replica");
            text += &format!("; {servers}, {}", value_name(args.router));
        }
        if args.policy != PolicyName::Fcfs {
            text += &format!("; {} first", value_name(args.policy));
        }
        if let Some(most) = args.max_waiting {
            text += &format!("; at most {} waiting", count(most.into()));
        }
        if args.prefix_caching == Switch::Off {
            text += "; no prefix caching";
        }
        text
    }

    fn length_limit(&self) -> LengthLimit {
        let flag = self.args.server.max_model_len;
        LengthLimit::of(flag, self.placement.model.window)
    }

    fn rejected(&self) -> Vec<Rejected> {
        Rejections::of(&self.report.records).explain(self.config, self.length_limit())
    }

    /// The error of a run that has served nothing.
    pub(crate) fn failure(&self) -> Option<Error> {
        (self.report.summary.completed == 0).then(|| Error::AllRejected(self.rejected()))
    }

    /// For programs.
    pub(crate) fn json(&self) -> Result<String, Error> {
        let summary = &self.report.summary;
        let throughput = &summary.throughput;
        let Placement { model, set, tp, .. } = self.placement;
        json(&RunJson {
            model: &model.name,
            gpu: set.name,
            tp: *tp,
            scenario: ScenarioJson::of(self.args),
            load: self.load.json(&self.args.trace),
            seed: self.load.seed(),
            ttft_ms: summary.ttft.into(),
            tpot_ms: summary.tpot.into(),
            e2e_ms: summary.e2e.into(),
            queue_ms: summary.queue.into(),
            queue_growth: QueueGrowth::of(&self.report.records).map(Into::into),
            throughput: ThroughputJson {
                requests_per_s: throughput.requests_per_s,
                output_tokens_per_s: throughput.output_tokens_per_s,
                total_tokens_per_s: throughput.total_tokens_per_s,
            },
            requests: self.report.records.len() as u64,
            completed: summary.completed,
            rejected: summary.rejected,
            rejected_by_reason: Rejections::of(&self.report.records),
            preemptions: summary.preemptions,
            steps: summary.steps,
            makespan_s: summary.makespan.0,
            kv_blocks: summary.kv.blocks,
            kv_blocks_peak: summary.kv.peak_blocks,
            kv_blocks_mean: summary.kv.mean_blocks,
            block_size: self.config.block_size,
            max_num_seqs: self.config.max_num_seqs,
            max_num_batched_tokens: self.config.max_num_batched_tokens,
            max_model_len: self.config.max_model_len,
            engine: self.placement.engine.name,
            scheduling: scheduling_name(self.config.scheduling),
            weights: model.weights(),
            kv_dtype: self.placement.kv_dtype.name(),
            provenance: self.origins.worst().map(Provenance::name),
            time_share_by_origin: (&self.origins).into(),
            table_engine: set.origin.engine,
            table_source: set.origin.source,
        })
    }
}

/// The name on the command line.
pub(crate) fn scheduling_name(scheduling: Scheduling) -> &'static str {
    match scheduling {
        Scheduling::Synchronous => "sync",
        _ => "async",
    }
}

/// The name of a value on the command line.
fn value_name(value: impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}
