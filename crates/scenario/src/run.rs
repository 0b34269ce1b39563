//! Runs of scenarios.

use std::io;
use std::ops::Range;
use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rooflut::Deployment;
use rooflut::deployment::ServedTally;
use rooflut::interval::Coverage;
use rooflut::sim::figures::{BatchSizes, Digest, Goodput, QueueGrowth, Summary, TokenGaps};
use rooflut::sim::load::{Source, Stream};
use rooflut::sim::{Observer, PrefixCaching, SchedulingPolicy, SimConfig};
use rooflut::step::{AtEnd, End, LatencyModel, TimeSources};
use rooflut::table::{ErrorGroup, Extent, TableSet, sets};
use rooflut::units::Seconds;
use rooflut_report::{
    Ends, LatencyMs, ModelInterval, ModelSize, Price, Rejections, Report, Seeds, Shares, Usage,
    Weights,
};
use rooflut_traces::Input;

use crate::busiest::{Busiest, Served};
use crate::error::{Problem, ScenarioError};
use crate::fleet::Fleet;
use crate::generated::Requests;
use crate::load::Load;
use crate::model::Model;
use crate::number::grouped;
use crate::placement::Placement;
use crate::pools::Pools;
use crate::prices::Prices;
use crate::read::{Read, read_file};
use crate::run_error::RunError;
use crate::scenario::Scenario;
use crate::speculation::Speculation;
use crate::value::LatencyLimit;

/// Maximum number of requests with a record each. Percentiles of more requests are within 0.05 %.
pub const MAX_RECORDS: u64 = 100_000;

/// The model, tables and readers that a scenario names, found by the caller: a run opens no files.
pub struct Resources<'r> {
    /// The model that [`Target::model`](crate::Target::model) names.
    pub model: Model,
    /// The draft model that [`Server::draft_model`](crate::Server::draft_model) names.
    pub draft_model: Option<Model>,
    /// The table set that [`Target`](crate::Target) names by `gpu` or `tables`.
    pub tables: TableSet,
    /// Opens the trace, or files of lengths and prices: for a file, `File::open(path).map(Input::from)`.
    pub read: &'r dyn Fn(&Path) -> io::Result<Input>,
}

/// A scenario that is ready to run.
#[derive(Debug, Clone)]
pub struct Run {
    scenario: Scenario,
    placement: Placement,
    deployment: Deployment,
    config: SimConfig,
    speculation: Option<Speculation>,
    pools: Option<Pools>,
    load: Load,
    /// The price of its GPU, if it is known.
    price: Option<Price>,
}

impl Run {
    /// Checks the scenario, looks every kernel up and reads the load.
    ///
    /// # Errors
    /// [`RunError`]: whatever keeps the scenario from running, except the load's latest arrivals and
    /// [`Output::strict`](crate::Output::strict), which [`run`](Run::run) judges.
    pub fn try_new(scenario: Scenario, resources: Resources<'_>) -> Result<Run, RunError> {
        scenario.check()?;
        let Resources {
            model,
            draft_model,
            tables,
            read,
        } = resources;
        let placement = Placement::try_new(&scenario.target, model, tables)?;
        let speculation = Speculation::try_of(&scenario, draft_model)?;
        let draft = speculation.as_ref().and_then(|s| s.draft.as_ref());
        draft.map_or(Ok(()), |draft| placement.check_draft(draft))?;
        let strictness = scenario.output.strict();
        let deployment = placement.serve(&scenario.server, speculation.as_ref(), strictness)?;
        let load = Load::try_new(&scenario.workload, read)?;
        if scenario.server.policy() == SchedulingPolicy::Priority && !load.has_priorities() {
            return Err(RunError::Scenario(ScenarioError::from(Problem::NoEffect {
                key: "policy = priority",
                why: "the trace has no priorities; only the column priority of a rooflut CSV sets them",
            })));
        }
        Ok(Run {
            config: placement.config(&deployment, scenario.server.kv_blocks, draft)?,
            pools: Pools::of(&scenario.server, &deployment),
            price: price(scenario.output.prices.as_deref(), &placement, read)?,
            load,
            scenario,
            placement,
            deployment,
            speculation,
        })
    }

    /// Simulates the run; `observer` receives what happens with the first seed. The runs with the other
    /// [`seeds`](crate::Workload::seeds) follow, in parallel.
    ///
    /// # Errors
    /// Arrivals that the clock cannot represent, and answers of the tables that are less certain than
    /// [`Output::strict`](crate::Output::strict) accepts.
    pub fn run(&self, observer: &mut impl Observer) -> Result<Outcome<'_>, RunError> {
        let mut outcome = self.run_once(observer)?;
        if let Some(coverage) = self.scenario.output.interval {
            outcome.interval = Some(self.interval(coverage, &outcome.summary)?);
        }
        let (first, count) = (
            self.scenario.workload.seed(),
            self.scenario.workload.seeds(),
        );
        let report = |index: u32| {
            let run = self.with_seed(first.wrapping_add(index.into()))?;
            Ok(run.run_once(&mut ())?.report())
        };
        let others: Vec<Result<Report, RunError>> =
            (1..count).into_par_iter().map(report).collect();
        let mut reports = vec![outcome.report()];
        for report in others {
            reports.push(report?);
        }
        outcome.seeds = Report::over_seeds(first, &reports);
        Ok(outcome)
    }

    /// Simulates the run with each step at the low and at the high end of its interval.
    fn interval(&self, coverage: Coverage, predicted: &Summary) -> Result<ModelInterval, RunError> {
        let model = self.deployment.served_model();
        let (server, pools) = (&self.scenario.server, self.pools.as_ref());
        let at = |end| {
            let model = AtEnd::new(&model, coverage, end);
            let fleet = Fleet::try_new(model, self.config, self.dp(), server, pools)?;
            self.summary(&fleet, &mut ())
        };
        let (low, high) = rayon::join(|| at(End::Low), || at(End::High));
        let ends = Ends {
            low: &low?,
            predicted,
            high: &high?,
        };
        let engine = self.deployment.engine();
        let ttft = engine.ttft_half_width(&self.placement.model.spec, coverage);
        let others = engine.tpot_half_width(coverage);
        Ok(ModelInterval::between(ends, coverage, [ttft, others]))
    }

    /// The run with another seed.
    fn with_seed(&self, seed: u64) -> Result<Run, RunError> {
        let mut run = self.clone();
        run.scenario.workload.seed = Some(seed);
        if let Load::Generated(load) = &mut run.load {
            load.workload.seed = Some(seed);
        }
        if let Some(speculation) = &mut run.speculation {
            speculation.reseed(seed);
            run.config.speculation = Some(speculation.drafts);
        }
        Ok(run)
    }

    fn run_once(&self, observer: &mut impl Observer) -> Result<Outcome<'_>, RunError> {
        let model = self.deployment.served_model();
        let fleet = Fleet::try_new(
            &model,
            self.config,
            self.dp(),
            &self.scenario.server,
            self.pools.as_ref(),
        )?;
        let mut tally = ServedTally::new(&model);
        let mut rejections = Rejections::default();
        let mut served = Served::default();
        let mut observers = (&mut tally, (&mut rejections, (&mut served, observer)));
        let summary = self.summary(&fleet, &mut observers)?;
        let sources = tally.sources();
        let checked = sources.check(self.scenario.output.strict());
        checked.map_err(RunError::UncertainPart)?;
        Ok(Outcome {
            run: self,
            summary,
            rejections,
            busiest: served.busiest(&self.pool_ranges()),
            sources,
            draft_sources: tally.draft_sources(),
            interval: None,
            seeds: None,
        })
    }

    /// The scenario as given.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The model and its GPUs.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The limits of each server.
    pub fn config(&self) -> &SimConfig {
        &self.config
    }

    /// The deployment of each server.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The longest request of the models, tokens, where the KV cache holds less.
    pub fn lowered_from(&self) -> Option<u32> {
        let longest = self.deployment.max_model_len();
        (self.config.max_model_len < longest).then_some(longest)
    }

    /// Remarks on settings with which a server does not exist as described.
    pub(crate) fn notes(&self) -> Vec<String> {
        let server = &self.scenario.server;
        let plan = self.deployment.memory_plan();
        let held = plan.map_or(0, |plan| plan.kv_blocks);
        let beyond = server.kv_blocks.filter(|given| *given > held);
        let beyond = beyond.map(|given| {
            let (given, held) = (grouped(given), grouped(held));
            format!("{given} KV blocks are given, and the memory holds {held}")
        });
        let cached = self.scenario.workload.cached_prompt();
        let is_off = self.config.prefix_caching == PrefixCaching::Disabled;
        let cached = (is_off && cached > 0).then(|| {
            "the cached prompt tokens count as found, although the server caches no prefixes"
                .to_owned()
        });
        let name = self.placement.tables.name();
        let is_built_in = sets::ALL.iter().any(|set| set.name() == name);
        let is_asked = self.scenario.output.interval.is_some();
        let unknown = (is_asked && !is_built_in).then(|| {
            let errors = ErrorGroup::UNKNOWN.set(Extent::Inside);
            format!("the errors of {name} are not known; the interval has the largest of {errors}")
        });
        let notes = self.placement.notes.iter().cloned();
        notes.chain(beyond).chain(cached).chain(unknown).collect()
    }

    /// Speculative decoding, if it is asked for.
    pub fn speculation(&self) -> Option<&Speculation> {
        self.speculation.as_ref()
    }

    /// Prefill and decode servers, where they are apart.
    pub fn pools(&self) -> Option<&Pools> {
        self.pools.as_ref()
    }

    /// The load.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// The replicas of each pool of equal servers.
    fn pool_ranges(&self) -> Vec<Range<u32>> {
        let prefill = self.pools.map_or(0, |pools| pools.prefill);
        vec![0..prefill, prefill..self.replicas()]
    }

    /// Servers of the run; the data-parallel ranks of one count apart.
    pub fn replicas(&self) -> u32 {
        let pools = self.pools.map(|pools| pools.prefill + pools.decode);
        pools.unwrap_or(self.scenario.server.replicas() * self.dp())
    }

    /// Data-parallel ranks, which step together.
    fn dp(&self) -> u32 {
        self.placement.parallelism.dp
    }

    /// GPUs of all servers.
    pub fn gpus(&self) -> u64 {
        let parallelism = self.placement.parallelism.with_dp(1);
        u64::from(parallelism.gpus()) * u64::from(self.replicas())
    }

    fn summary(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        observer: &mut impl Observer,
    ) -> Result<Summary, RunError> {
        let load = match &self.load {
            Load::Trace { path, trace } => {
                let failed = |error| RunError::Trace {
                    path: path.clone(),
                    error,
                };
                let mut requests = trace.replay().map_err(failed)?;
                let summary = self.simulated(fleet, &mut requests, observer);
                return requests.finish().map_err(failed).map(|()| summary);
            }
            Load::Generated(load) => load,
        };
        Ok(match load.requests(self.config.max_model_len)? {
            Requests::Open(requests) => {
                let mut source = Stream::new(requests).with_total(self.load.requests());
                self.simulated(fleet, &mut source, observer)
            }
            Requests::Closed(mut users) => self.simulated(fleet, &mut users, observer),
        })
    }

    fn simulated(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> Summary {
        match self.load.requests() <= MAX_RECORDS {
            true => self.recorded(fleet, source, observer),
            false => self.digested(fleet, source, observer),
        }
    }

    /// Keeps a record of each request, so that percentiles are exact.
    fn recorded(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> Summary {
        let mut figures = (TokenGaps::new(), BatchSizes::new());
        let mut report = fleet.report(source, &mut (&mut figures, observer));
        let (gaps, sizes) = figures;
        report.summary.itl = gaps.stats();
        report.summary.batch = sizes.stats();
        let limits = self.limits();
        report.summary.goodput = limits.map(|limits| Goodput::of(limits, &report));
        report.summary
    }

    /// Keeps no record, so that memory does not grow with the requests.
    fn digested(
        &self,
        fleet: &Fleet<impl LatencyModel + Clone>,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> Summary {
        let mut digest = match self.limits() {
            Some(limits) => Digest::new().with_limits(limits),
            None => Digest::new(),
        };
        let totals = fleet.totals(source, &mut (&mut digest, observer));
        digest.into_summary(&totals)
    }

    fn limits(&self) -> Option<rooflut::sim::figures::LatencyLimits> {
        let limits = self.scenario.output.goodput.as_deref();
        LatencyLimit::combined(limits.unwrap_or_default())
    }
}

/// Returns the price of the GPUs of a placement, from a file or of the defaults; `None` if neither has one.
fn price(
    path: Option<&Path>,
    placement: &Placement,
    read: Read<'_>,
) -> Result<Option<Price>, RunError> {
    let gpu = placement.tables.gpu().name.as_str();
    let mut prices = Prices::try_built_in().map_err(RunError::BuiltInPrices)?;
    if let Some(path) = path {
        let bytes = read_file("prices", path, read)?;
        let given = Prices::read(&bytes, &[gpu]).map_err(|error| RunError::Prices {
            path: path.to_owned(),
            error,
        })?;
        prices = prices.replaced_by(given);
    }
    Ok(prices.of(gpu).cloned())
}

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
        // Users who wait for answers limit the queue.
        if self.run.scenario.workload.users.is_some() {
            return None;
        }
        let growth = self.summary.queue_growth;
        growth.filter(|growth| growth.is_overload(self.mean_step()))
    }

    /// Mean time of a step; 0 if none ran.
    fn mean_step(&self) -> Seconds {
        self.sources.total() * (1.0 / self.summary.steps.max(1) as f64)
    }

    /// Requests, completed and rejected.
    pub fn requests(&self) -> u64 {
        self.summary.completed + self.summary.rejected
    }

    /// The report of the run. Its `scenario`, the path of a scenario file, its `flagged_rows` and notes on the reading
    /// of the model are left to the caller.
    pub fn report(&self) -> Report {
        let (run, summary) = (self.run, &self.summary);
        let (server, config) = (&run.scenario.server, &run.config);
        let Placement { model, tables, .. } = &run.placement;
        let replicas = run.replicas() / run.dp();
        let latency = |stats| LatencyMs::of(stats, summary.completed);
        let usage = Usage::of(run.gpus(), summary);
        Report {
            model: model.name.clone(),
            size: ModelSize::from(&model.spec),
            gpu: tables.name().to_owned(),
            tp: run.placement.parallelism.tp,
            pp: run.placement.parallelism.pp,
            dp: run.dp(),
            expert_parallel: run.placement.parallelism.expert_parallel,
            gpus: run.gpus(),
            scenario: None,
            load: run.load.report(),
            seed: run.load.seed(),
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
            cost: run.price.as_ref().map(|price| usage.cost(price)),
            energy_bound: tables.gpu().tdp_w.map(|tdp_w| usage.energy_bound(tdp_w)),
            requests: self.requests(),
            completed: summary.completed,
            rejected: summary.rejected,
            rejected_by_reason: self.rejections,
            truncated: summary.truncated,
            preemptions: summary.preemptions,
            steps: summary.steps,
            mean_step_ms: (summary.steps > 0).then(|| self.mean_step().ms()),
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
            engine: run.placement.engine.name.to_owned(),
            scheduling: config.rules.scheduling,
            scheduler_reserve_full_isl: config.rules.scheduler_reserve_full_isl,
            policy: server.policy(),
            max_waiting: server.max_waiting,
            prefix_caching: config.prefix_caching == PrefixCaching::Enabled,
            watermark: server.watermark(),
            replicas,
            disaggregation: run.pools.map(|pools| pools.report(summary)),
            speculation: run
                .speculation
                .as_ref()
                .map(|speculation| speculation.report(summary.drafts.as_ref(), self.draft_share())),
            router: (replicas > 1).then_some(server.router()),
            busiest_replica_share: self.busiest.map(|busiest| busiest.share),
            weights: Weights::from(&model.spec),
            kv_dtype: run.placement.kv_dtype,
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
