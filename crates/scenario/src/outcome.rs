//! Outcomes of runs.

use rooflut::sim::PrefixCaching;
use rooflut::sim::figures::{QueueGrowth, Summary, TokenGaps};
use rooflut::step::TimeSources;
use rooflut::units::Seconds;
use rooflut_report::{
    LatencyMs, ModelInterval, ModelSize, Rejections, Report, Seeds, Shares, Usage, Weights,
};

use crate::busiest::Busiest;
use crate::placement::Placement;
use crate::run::Run;

/// The outcome of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome<'r> {
    /// The run.
    pub run: &'r Run,
    /// Its figures.
    pub summary: Summary,
    /// Rejected requests by reason.
    pub rejections: Rejections,
    /// The replica that serves most of the load, if one does.
    pub busiest: Option<Busiest>,
    /// Sources of the time of all steps.
    pub sources: TimeSources,
    /// Sources of the time of the draft model's steps, if there is one.
    pub draft_sources: Option<TimeSources>,
    /// Ranges of measurements, if they are asked for.
    pub interval: Option<ModelInterval>,
    /// Growth of the queue where the servers do not keep up with the load at the high end of the interval.
    pub overload_at_high: Option<QueueGrowth>,
    /// Figures over several seeds, if there are several.
    pub seeds: Option<Seeds>,
}

impl Outcome<'_> {
    /// Share of the draft model in the time of all steps; `None` without a draft model or without a step.
    pub fn draft_share(&self) -> Option<f64> {
        let draft = self.draft_sources.as_ref();
        let total = self.sources.total().0;
        draft
            .filter(|_| total > 0.0)
            .map(|draft| draft.total().0 / total)
    }

    /// Growth of the queue during the whole run, where the server does not keep up with the load.
    pub fn overload(&self) -> Option<QueueGrowth> {
        overload(self.run, &self.summary, self.sources.total())
    }

    /// Requests, completed and rejected.
    pub fn requests(&self) -> u64 {
        self.summary.completed + self.summary.rejected
    }

    /// The report of the run. Its `scenario`, the path of a scenario file, its `flagged_rows` and notes on the reading
    /// of the model are left to the caller.
    pub fn report(&self) -> Report {
        let (run, summary) = (self.run, &self.summary);
        let (server, config) = (&run.scenario().server, run.config());
        let Placement { model, tables, .. } = run.placement();
        let replicas = run.replicas() / run.dp();
        let latency = |stats| LatencyMs::of(stats, summary.completed);
        let usage = Usage::of(run.gpus(), summary);
        let mean_step = mean_step(summary, self.sources.total());
        Report {
            model: model.name.clone(),
            size: ModelSize::from(&model.spec),
            gpu: tables.name().to_owned(),
            tp: run.placement().parallelism.tp,
            pp: run.placement().parallelism.pp,
            dp: run.dp(),
            expert_parallel: run.placement().parallelism.expert_parallel,
            gpus: run.gpus(),
            scenario: None,
            load: run.load().report(),
            seed: run.load().seed(),
            ttft_ms: latency(summary.ttft),
            tpot_ms: latency(summary.tpot),
            itl_ms: latency(summary.itl),
            e2e_ms: latency(summary.e2e),
            queue_ms: latency(summary.queue),
            percentile_error: summary.percentile_error,
            itl_percentile_error: TokenGaps::RELATIVE_ERROR,
            queue_growth: summary.queue_growth.map(Into::into),
            overloaded: self.overload().is_some(),
            interval: self.interval,
            seeds: self.seeds,
            throughput: summary.throughput,
            goodput: summary.goodput.map(Into::into),
            cost: run.price().map(|price| usage.cost(price)),
            energy_bound: tables.gpu().tdp_w.map(|tdp_w| usage.energy_bound(tdp_w)),
            requests: self.requests(),
            completed: summary.completed,
            rejected: summary.rejected,
            rejected_by_reason: self.rejections,
            truncated: summary.truncated,
            preemptions: summary.preemptions,
            steps: summary.steps,
            mean_step_ms: (summary.steps > 0).then(|| mean_step.ms()),
            makespan_s: summary.makespan.0,
            busy_share: summary.server.busy_share,
            running_mean: summary.server.mean_running,
            batch_size: summary.batch,
            kv_blocks: summary.kv.blocks,
            kv_blocks_peak: summary.kv.peak_blocks,
            kv_blocks_mean: summary.kv.mean_blocks,
            block_size: config.block_size,
            max_num_seqs: config.max_num_seqs,
            max_num_batched_tokens: config.max_num_batched_tokens,
            long_prefill_token_threshold: config.long_prefill_token_threshold,
            max_model_len: config.max_model_len,
            max_model_len_lowered_from: run.lowered_from(),
            engine: run.placement().engine.name.to_owned(),
            scheduling: config.rules.scheduling,
            scheduler_reserve_full_isl: config.rules.scheduler_reserve_full_isl,
            policy: server.policy(),
            max_waiting: server.max_waiting,
            prefix_caching: config.prefix_caching == PrefixCaching::Enabled,
            watermark: server.watermark(),
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

/// Returns the growth of the queue where the servers, which compute steps for a time of `busy`, do not keep up with
/// the load.
pub(crate) fn overload(run: &Run, summary: &Summary, busy: Seconds) -> Option<QueueGrowth> {
    // Users who wait for answers limit the queue.
    if run.scenario().workload.users.is_some() {
        return None;
    }
    let growth = summary.queue_growth;
    growth.filter(|growth| growth.is_overload(mean_step(summary, busy)))
}

/// Returns the mean time of the steps of a run whose servers computed for `busy`; 0 if none ran.
fn mean_step(summary: &Summary, busy: Seconds) -> Seconds {
    busy * (1.0 / summary.steps.max(1) as f64)
}
