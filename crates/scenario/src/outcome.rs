//! Outcomes of runs.

use rooflut::sim::PrefixCaching;
use rooflut::sim::figures::{LimitShares, QueueGrowth, Summary, TokenGaps, Totals};
use rooflut::step::TimeSources;
use rooflut::units::Seconds;
use rooflut_report::{
    Clients, LatencyMs, ModelInterval, ModelSize, Price, PriorityClass, Quantiles, Rejections, Report, Role, Seeds,
    Servers, Shares, Usage, Weights, Window,
};

use crate::busiest::Busiest;
use crate::outage::Outage;
use crate::placement::Placement;
use crate::run::Run;
use crate::steady::{GroupFigures, SteadyState};

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
    /// Figures by kind of server, in the order of [`Run::groups`]; `None` where all servers are equal.
    pub by_group: Option<Vec<GroupFigures>>,
    /// Figures over time, if they are asked for.
    pub windows: Option<Vec<Window>>,
    /// Quantiles of the latencies of `summary`, if they are asked for.
    pub quantiles: Option<Quantiles>,
    /// Rejected requests by reason.
    pub rejections: Rejections,
    /// Shares of the time in which limits of the servers held requests back; `None` without a step.
    pub limits: Option<LimitShares>,
    /// The replica that serves most of the load, if one does.
    pub busiest: Option<Busiest>,
    /// Sources of the time of all steps.
    pub sources: TimeSources,
    /// Sources of the time of each kind of server, in the order of [`Run::kinds`].
    pub sources_by_kind: Vec<TimeSources>,
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
        // Clients that give up bound the queue time, which grows up to that.
        let is_bounded = self.totals.abandoned > 0;
        let growth = self.summary.queue_growth.filter(|_| is_judged_by_queue && !is_bounded);
        self.steady.is_overloaded || growth.is_some_and(grows)
    }

    /// Requests of the whole run, completed and rejected, retries included.
    pub fn requests(&self) -> u64 {
        self.totals.completed + self.totals.rejected
    }

    /// Clients that give up; `None` if they wait as long as it takes.
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

    /// The use of the GPUs of all servers.
    fn usage(&self) -> Usage {
        let usage = Usage::of(self.run.gpus(), &self.summary);
        match self.busy_gpus() {
            Some(busy) => {
                Usage { busy_gpu_hours: self.summary.makespan.0 / 3600.0 * busy.iter().sum::<f64>(), ..usage }
            }
            None => usage,
        }
    }

    /// GPUs that are busy at a time, on average, of each kind of server; `None` where all servers are equal.
    fn busy_gpus(&self) -> Option<Vec<f64>> {
        let groups = self.run.groups();
        let busy = groups.iter().zip(self.by_group.as_ref()?);
        Some(busy.map(|(group, figures)| group.gpus() as f64 * figures.summary.server.busy_share).collect())
    }

    /// The price of a GPU, of several kinds of servers the mean over their GPUs; `None` unless each is known.
    fn price(&self) -> Option<Price> {
        if !self.run.is_mixed() {
            return self.run.kind.price().cloned();
        }
        let groups = self.run.groups();
        let prices = groups.iter().map(|group| {
            let gpu = group.kind.placement().tables.gpu().name.as_str();
            Some((group.gpus(), gpu, group.kind.price().cloned()?))
        });
        Price::mean(&prices.collect::<Option<Vec<_>>>()?)
    }

    /// The thermal design power of a GPU, of several kinds of servers the mean over the GPUs that are busy; `None` unless
    /// each is known.
    fn tdp_w(&self) -> Option<f64> {
        let Some(busy) = self.busy_gpus() else {
            return self.run.placement().tables.gpu().tdp_w;
        };
        let groups = self.run.groups();
        let tdp_w: Option<Vec<f64>> = groups.iter().map(|group| group.kind.placement().tables.gpu().tdp_w).collect();
        let (tdp_w, all) = (tdp_w?, busy.iter().sum::<f64>());
        let sum: f64 = tdp_w.iter().zip(&busy).map(|(tdp_w, busy)| tdp_w * busy).sum();
        if all > 0.0 { Some(sum / all) } else { tdp_w.first().copied() }
    }

    /// The entries of the report on each kind of server; `None` where all servers are equal.
    fn servers(&self) -> Option<Vec<Servers>> {
        let groups = self.run.groups();
        let groups = groups.iter().zip(self.by_group.as_ref()?);
        let servers = groups.clone().map(|(group, GroupFigures { summary, requests })| {
            let Placement { model, tables, parallelism, kv_dtype, .. } = group.kind.placement();
            let of_role = groups.clone().filter(|(other, _)| other.role == group.role);
            let all: u64 = of_role.map(|(_, figures)| figures.requests).sum();
            let latency = |stats| LatencyMs::of(stats, summary.completed);
            Servers {
                role: group.role,
                first_replica: group.replicas.start,
                servers: group.servers(),
                gpu: tables.name().to_owned(),
                base: tables.base().map(|base| base.name().to_owned()),
                tp: parallelism.tp,
                dp: parallelism.dp,
                pp: parallelism.pp,
                expert_parallel: parallelism.expert_parallel,
                gpus: group.gpus(),
                usd_per_gpu_hour: group.kind.price().map(|price| price.usd_per_gpu_hour),
                weights: Weights::from(&model.spec),
                kv_dtype: *kv_dtype,
                server: group.kind.deployment().server_options(group.kind.config()),
                max_model_len_lowered_from: group.kind.lowered_from(),
                requests: *requests,
                share: (all > 0).then(|| *requests as f64 / all as f64),
                ttft_ms: (group.role == Role::Whole).then(|| latency(summary.ttft)),
                tpot_ms: (group.role != Role::Prefill).then(|| latency(summary.tpot)),
                busy_share: summary.server.busy_share,
                running_mean: summary.server.mean_running,
                preemptions: summary.preemptions,
                kv_blocks: summary.kv.blocks,
                kv_blocks_peak: summary.kv.peak_blocks,
            }
        });
        Some(servers.collect())
    }

    /// Remarks on servers that are not back before the end of the run.
    fn unrecovered(&self) -> impl Iterator<Item = String> {
        let end_s = self.totals.span_ns.map_or(0.0, |(_, end_ns)| end_ns as f64 / 1e9);
        let lost = self.run.outages().iter().filter(move |outage| outage.to_s > end_s);
        lost.map(move |Outage { server, to_s, .. }| {
            format!("the run ends at {end_s:.1} s, before server {server} is back at {to_s} s; more requests show how it recovers")
        })
    }

    /// The servers that were lost; `None` if none was.
    fn outages(&self) -> Option<Vec<rooflut_report::Outage>> {
        let of_report = |&Outage { server, from_s, to_s }: &Outage| rooflut_report::Outage { server, from_s, to_s };
        let outages: Vec<_> = self.run.outages().iter().map(of_report).collect();
        (!outages.is_empty()).then_some(outages)
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
        let replicas = run.scenario().servers();
        let latency = |stats| LatencyMs::of(stats, summary.completed);
        let usage = self.usage();
        let totals = &self.totals;
        Report {
            model: model.name.clone(),
            size: ModelSize::from(&model.spec),
            gpu: run.gpu(),
            base: tables.base().map(|base| base.name().to_owned()),
            tp: run.placement().parallelism.tp,
            pp: run.placement().parallelism.pp,
            dp: run.placement().parallelism.dp,
            expert_parallel: run.placement().parallelism.expert_parallel,
            gpus: run.gpus(),
            scenario: None,
            command: run.scenario().command().map(|words| words.join(" ")),
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
            quantiles: self.quantiles.clone(),
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
            cost: self.price().map(|price| usage.cost(&price)),
            energy_bound: self.tdp_w().map(|tdp_w| usage.energy_bound(tdp_w)),
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
            servers: self.servers(),
            outages: self.outages(),
            restarted: self.outages().map(|_| totals.restarted),
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
            notes: run.notes().into_iter().chain(self.unrecovered()).collect(),
            table_engine: tables.origin().engine.as_str().to_owned(),
            table_source: tables.origin().source.as_str().to_owned(),
        }
    }
}
