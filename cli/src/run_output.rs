//! What `rooflut run` prints.

use std::fmt::Write;

use rooflut::sim::figures::{Summary, TokenGaps};
use rooflut::sim::{PrefixCaching, SchedulingPolicy, SimConfig};
use rooflut::step::TimeSources;
use rooflut::table::Origin;
use rooflut_report::Rejections;

use crate::args::RunArgs;
use crate::disaggregation::Pools;
use crate::error::Error;
use crate::load::Load;
use crate::output::{count, json, number, plural, wrapped};
use crate::rejections::{self, LengthLimit, Rejected};
use crate::run_json::{RunJson, ScenarioJson, ThroughputJson};
use crate::server::Placement;
use crate::shares::Shares;
use crate::sources::describe;
use crate::speculation::{Speculating, draft_share};

/// A run and what it was a run of.
pub(crate) struct Outcome<'r> {
    pub(crate) args: &'r RunArgs,
    pub(crate) load: &'r Load<'r>,
    pub(crate) placement: &'r Placement,
    pub(crate) config: &'r SimConfig,
    pub(crate) summary: &'r Summary,
    pub(crate) rejections: &'r Rejections,
    pub(crate) speculating: Option<&'r Speculating>,
    pub(crate) pools: Option<&'r Pools>,
    pub(crate) sources: TimeSources,
    /// Of the draft model, if there is one.
    pub(crate) draft_sources: Option<TimeSources>,
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
        self.write_figures(text)?;
        if self.args.alone {
            writeln!(
                text,
                "\nTry next: rooflut run --rate 30 (overload), rooflut step --decode 64x1000, rooflut --help"
            )?;
        }
        Ok(())
    }

    fn write_setup(&self, text: &mut String) -> std::fmt::Result {
        let set = &self.placement.set;
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
            config.scheduling,
            number(config.api_server_ns as f64 / 1e6, 1),
        );
        let server = server + &self.policies();
        let Origin {
            engine,
            source,
            license,
            ..
        } = set.origin();
        if let Some(scenario) = &self.args.scenario {
            let scenario = scenario.display();
            let replaced = match self.args.replaced().join(", ") {
                none if none.is_empty() => none,
                keys => format!("; the command line replaces {keys}"),
            };
            text.push_str(&wrapped("scenario", &format!("{scenario}{replaced}")));
        }
        text.push_str(&wrapped("load", &self.load.text(&self.args.trace)));
        text.push_str(&wrapped("server", &server));
        text.push_str(&wrapped("tables", &format!("{}: {engine}", set.name())));
        text.push_str(&wrapped("source", &format!("{source} ({license})")));
        text.push_str(&wrapped("origin", &describe(&self.sources)));
        text.push('\n');
        Ok(())
    }

    /// What is asked beside the defaults.
    fn policies(&self) -> String {
        let args = &self.args.policy;
        let mut text = String::new();
        if args.replicas > 1 {
            let servers = plural(args.replicas.into(), "replica");
            text += &format!("; {servers}, {}", args.router);
        }
        if let Some(pools) = self.pools {
            text += &format!("; {}, {}", pools.setup(), args.router);
        }
        if let Some(speculating) = self.speculating {
            text += &format!("; {}", speculating.setup());
        }
        if args.policy != SchedulingPolicy::Fcfs {
            text += &format!("; {} first", args.policy);
        }
        if let Some(most) = args.max_waiting {
            text += &format!("; at most {} waiting", count(most.into()));
        }
        if args.prefix_caching == PrefixCaching::Disabled {
            text += "; no prefix caching";
        }
        text
    }

    /// The share of the draft model in the time, if there is one.
    pub(crate) fn draft_share(&self) -> Option<f64> {
        draft_share(&self.sources, self.draft_sources.as_ref())
    }

    /// Servers of the run.
    fn replicas(&self) -> u32 {
        let both = |pools: &Pools| pools.prefill + pools.decode;
        self.pools.map_or(self.args.policy.replicas, both)
    }

    pub(crate) fn length_limit(&self) -> LengthLimit {
        let flag = self.args.server.max_model_len;
        let most_drafted = self.speculating.map(Speculating::max_model_len);
        match most_drafted {
            Some(most) if flag.is_none() && most < self.placement.model.spec.max_model_len => {
                LengthLimit::Draft
            }
            _ => LengthLimit::of(flag, self.placement.model.window),
        }
    }

    /// Requests of the run.
    pub(crate) fn requests(&self) -> u64 {
        self.summary.completed + self.summary.rejected
    }

    /// Requests that were rejected, by reason.
    pub(crate) fn rejected(&self) -> Vec<Rejected> {
        rejections::explain(self.rejections, self.config, self.length_limit())
    }

    /// The error of a run that has served nothing.
    pub(crate) fn failure(&self) -> Option<Error> {
        (self.summary.completed == 0).then(|| rejections::all_rejected(&self.rejected()))
    }

    /// For programs.
    pub(crate) fn json(&self) -> Result<String, Error> {
        let summary = self.summary;
        let throughput = &summary.throughput;
        let Placement { model, set, tp, .. } = self.placement;
        let policy = &self.args.policy;
        json(&RunJson {
            model: &model.name,
            gpu: set.name(),
            tp: *tp,
            scenario: ScenarioJson::of(self.args),
            load: self.load.json(&self.args.trace),
            seed: self.load.seed(),
            ttft_ms: summary.ttft.into(),
            tpot_ms: summary.tpot.into(),
            itl_ms: summary.itl.into(),
            e2e_ms: summary.e2e.into(),
            queue_ms: summary.queue.into(),
            percentile_error: summary.percentile_error,
            itl_percentile_error: TokenGaps::RELATIVE_ERROR,
            queue_growth: summary.queue_growth.map(Into::into),
            throughput: ThroughputJson {
                requests_per_s: throughput.requests_per_s,
                output_tokens_per_s: throughput.output_tokens_per_s,
                total_tokens_per_s: throughput.total_tokens_per_s,
            },
            goodput: summary.goodput.map(Into::into),
            requests: self.requests(),
            completed: summary.completed,
            rejected: summary.rejected,
            rejected_by_reason: *self.rejections,
            preemptions: summary.preemptions,
            steps: summary.steps,
            makespan_s: summary.makespan.0,
            busy_share: summary.server.busy_share,
            running_mean: summary.server.mean_running,
            batch_size: summary.batch.map(Into::into),
            kv_blocks: summary.kv.blocks,
            kv_blocks_peak: summary.kv.peak_blocks,
            kv_blocks_mean: summary.kv.mean_blocks,
            block_size: self.config.block_size,
            max_num_seqs: self.config.max_num_seqs,
            max_num_batched_tokens: self.config.max_num_batched_tokens,
            max_model_len: self.config.max_model_len,
            engine: self.placement.engine.name,
            scheduling: self.config.scheduling.name(),
            policy: policy.policy.name(),
            max_waiting: policy.max_waiting,
            prefix_caching: policy.prefix_caching == PrefixCaching::Enabled,
            replicas: self.replicas(),
            disaggregation: self.pools.map(|pools| pools.json(summary)),
            speculation: (self.speculating)
                .map(|of| of.json(summary.drafts.as_ref(), self.draft_share())),
            router: (self.replicas() > 1).then(|| policy.router.name()),
            weights: model.weights(),
            kv_dtype: self.placement.kv_dtype.name(),
            provenance: self.sources.provenance().into(),
            time_share_by_source: (&self.sources).into(),
            time_share_outside: self.sources.outside_share(),
            time_share_by_part: Shares::by_part(&self.sources),
            time_share_by_binding: Shares::by_binding(&self.sources),
            table_engine: set.origin().engine.as_str(),
            table_source: set.origin().source.as_str(),
        })
    }
}
