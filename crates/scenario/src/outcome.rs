//! Outcomes of runs.

use rooflut::sim::PrefixCaching;
use rooflut::sim::figures::{LimitShares, QueueGrowth, Summary, TokenGaps, Totals};
use rooflut::step::TimeSources;
use rooflut::units::Seconds;
use rooflut_report::{
    Clients, LatencyMs, ModelInterval, ModelSize, PriorityClass, Rejections, Report, Seeds, Shares, Usage, Weights,
    Window,
};

use crate::busiest::Busiest;
use crate::placement::Placement;
use crate::run::Run;
use crate::steady::SteadyState;

/// The outcome of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome<'r> {
    /// The run.
    pub run: &'r Run,
    /// The figures of its steady state, or of the whole run where it has none.
    pub summary: Summary,
    /// Counts of the whole run.
    pub totals: Totals,
    /// Requests that clients sent again after they had given up.
    pub retries: u64,
    /// Its steady state.
    pub steady: SteadyState,
    /// Figures by priority, if the load has up to 64 of them.
    pub by_priority: Option<Vec<PriorityClass>>,
    /// Figures over time, if they are asked for.
    pub windows: Option<Vec<Window>>,
    /// Rejected requests by reason.
    pub rejections: Rejections,
    /// Shares of the time in which limits of the servers held requests back; `None` without a step.
    pub limits: Option<LimitShares>,
    /// The replica that serves most of the load, if one does.
    pub busiest: Option<Busiest>,
    /// Sources of the time of all steps.
    pub sources: TimeSources,
    /// Sources of the time of the draft model's steps, if there is one.
    pub draft_sources: Option<TimeSources>,
    /// Ranges of measurements, if they are asked for.
    pub interval: Option<ModelInterval>,
    /// Whether the servers do not keep up with the load at the high end of the interval.
    pub is_overloaded_at_high: bool,
    /// Figures over several seeds, if there are several.
    pub seeds: Option<Seeds>,
}

impl Outcome<'_> {
    /// Share of the draft model in the time of all steps; `None` without a draft model or without a step.
    pub fn draft_share(&self) -> Option<f64> {
        let draft = self.draft_sources.as_ref();
        let total = self.sources.total().0;
        draft.filter(|_| total > 0.0).map(|draft| draft.total().0 / total)
    }

    /// Whether requests arrive faster than they are served: the number of requests in the servers grows by more than
    /// chance explains, or they complete fewer than arrive. Where there is no steady state, the queue time says
    /// whether it does, unless all requests arrive in a burst.
    pub fn is_overloaded(&self) -> bool {
        let waits = self.run.scenario().workload.users.is_some();
        let grows = |growth: QueueGrowth| growth.is_overload(self.mean_step());
        let is_judged_by_queue = self.steady.window.is_none() && !self.steady.is_burst && !waits;
        // Clients who give up bound the queue time, which grows up to that.
        let is_bounded = self.totals.abandoned > 0;
        let growth = self.summary.queue_growth.filter(|_| is_judged_by_queue && !is_bounded);
        self.steady.is_overloaded || growth.is_some_and(grows)
    }

    /// Requests of the whole run, completed and rejected, retries included.
    pub fn requests(&self) -> u64 {
        self.totals.completed + self.totals.rejected
    }

    /// Clients who give up; `None` if they wait as long as it takes.
    fn clients(&self) -> Option<Clients> {
        let workload = &self.run.scenario().workload;
        let share = |requests: u64| requests as f64 / self.requests().max(1) as f64;
        workload.patience.map(|patience_s| Clients {
            patience_s,
            retries_per_request: workload.retries(),
            abandoned: self.totals.abandoned,
            abandoned_share: share(self.totals.abandoned),
            retries: self.retries,
            retry_share: share(self.retries),
        })
    }

    /// Share of the prompt tokens of served requests that the prefix cache had; `None` where servers cache no prefixes,
    /// or no request was served.
    pub fn prefix_hit_rate(&self) -> Option<f64> {
        let caches = self.run.config().prefix_caching == PrefixCaching::Enabled;
        self.summary.kv.prefix_hit_rate.filter(|_| caches)
    }

    /// Mean time of the steps of the run, those of a draft model included; 0 if none ran.
    fn mean_step(&self) -> Seconds {
        self.sources.total() * (1.0 / self.totals.steps.max(1) as f64)
    }

    /// The report of the run. Its `scenario`, the path of a scenario file, its `flagged_rows` and notes on the reading
    /// of the model are left to the caller.
    pub fn report(&self) -> Report {
        let (run, summary) = (self.run, &self.summary);
        let server = &run.scenario().server;
        let Placement { model, tables, .. } = run.placement();
        let replicas = run.replicas() / run.dp();
        let latency = |stats| LatencyMs::of(stats, summary.completed);
        let usage = Usage::of(run.gpus(), summary);
        let totals = &self.totals;
        Report {
            model: model.name.clone(),
            size: ModelSize::from(&model.spec),
            gpu: tables.name().to_owned(),
            base: tables.base().map(|base| base.name().to_owned()),
            tp: run.placement().parallelism.tp,
            pp: run.placement().parallelism.pp,
            dp: run.dp(),
            expert_parallel: run.placement().parallelism.expert_parallel,
            gpus: run.gpus(),
            scenario: None,
            load: run.load().report(),
            clients: self.clients(),
            seed: run.load().seed(),
            ttft_ms: latency(summary.ttft),
            tpot_ms: latency(summary.tpot),
            itl_ms: latency(summary.itl),
            e2e_ms: latency(summary.e2e),
            queue_ms: latency(summary.queue),
            by_priority: self.by_priority.clone(),
            windows: self.windows.clone(),
            percentile_error: summary.percentile_error,
            itl_percentile_error: TokenGaps::RELATIVE_ERROR,
            steady: self.steady.report(),
            queue_growth: summary.queue_growth.map(Into::into),
            overloaded: self.is_overloaded(),
            limits_met: self.limits_met(),
            interval: self.interval,
            seeds: self.seeds,
            throughput: summary.throughput,
            tokens_per_s_per_user: summary.tokens_per_s_per_user(),
            output_tokens_per_s_per_gpu: summary.throughput.output_tokens_per_s / run.gpus() as f64,
            total_tokens_per_s_per_gpu: summary.throughput.total_tokens_per_s / run.gpus() as f64,
            goodput: summary.goodput.map(Into::into),
            cost: run.price().map(|price| usage.cost(price)),
            energy_bound: tables.gpu().tdp_w.map(|tdp_w| usage.energy_bound(tdp_w)),
            requests: self.requests(),
            completed: totals.completed,
            rejected: totals.rejected,
            rejected_by_reason: self.rejections,
            truncated: totals.truncated,
            preemptions: totals.preemptions,
            steps: totals.steps,
            mean_step_ms: (totals.steps > 0).then(|| self.mean_step().ms()),
            makespan_s: totals.makespan().0,
            busy_share: summary.server.busy_share,
            running_mean: summary.server.mean_running,
            batch_size: summary.batch,
            limited_by: self.limits,
            kv_blocks: summary.kv.blocks,
            kv_blocks_peak: summary.kv.peak_blocks,
            kv_blocks_mean: summary.kv.mean_blocks,
            prefix_cache_hit_rate: self.prefix_hit_rate(),
            server: run.deployment().server_options(run.config()),
            max_model_len_lowered_from: run.lowered_from(),
            engine: run.placement().engine.name.to_owned(),
            replicas,
            disaggregation: run.pools().map(|pools| pools.report(summary)),
            speculation: run
                .speculation()
                .map(|speculation| speculation.report(summary.drafts.as_ref(), self.draft_share())),
            router: (replicas > 1).then_some(server.router()),
            busiest_replica_share: self.busiest.map(|busiest| busiest.share),
            weights: Weights::from(&model.spec),
            kv_dtype: run.placement().kv_dtype,
            sampler: model.spec.sampler,
            provenance: self.sources.provenance().into(),
            time_share_by_source: Shares::by_source(&self.sources),
            time_share_outside: self.sources.outside_share(),
            time_share_by_part: Shares::by_part(&self.sources),
            time_share_by_binding: Shares::by_binding(&self.sources),
            flagged_rows: Vec::new(),
            notes: run.notes(),
            table_engine: tables.origin().engine.as_str().to_owned(),
            table_source: tables.origin().source.as_str().to_owned(),
        }
    }
}
