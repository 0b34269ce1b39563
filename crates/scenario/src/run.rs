//! Runs of scenarios.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rooflut::Deployment;
use rooflut::deployment::ServedModel;
use rooflut::sim::load::Source;
use rooflut::sim::{PrefixCaching, Request, SchedulingPolicy, SimConfig};
use rooflut::table::{Class, ErrorGroup, Extent, TableSet, sets};
use rooflut::units::Seconds;
use rooflut_error::{Error, no_effect, value};
use rooflut_report::Price;
use rooflut_traces::Input;

use crate::generated::Requests;
use crate::library;
use crate::load::Load;
use crate::model::Model;
use crate::number::grouped;
use crate::placement::Placement;
use crate::pools::Pools;
use crate::prices::Prices;
use crate::read::{Read, read_file};
use crate::scenario::{Output, Scenario, Server, Workload};
use crate::share::Share;
use crate::speculation::Speculation;
use crate::stop::Stop;

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

/// A scenario that is ready to run. Copies share the deployment and its step times, even with another load.
#[derive(Debug, Clone)]
pub struct Run {
    pub(crate) scenario: Scenario,
    placement: Arc<Placement>,
    deployment: Arc<Deployment>,
    served: Arc<OnceLock<ServedModel>>,
    config: SimConfig,
    speculation: Option<Speculation>,
    pools: Option<Pools>,
    pub(crate) load: Load,
    /// The price of its GPU, if it is known.
    price: Option<Price>,
    stop: Stop,
    /// Its share of a run with more servers.
    pub(crate) share: Share,
}

impl Run {
    /// Checks the scenario, looks every kernel up and reads the load.
    ///
    /// # Errors
    /// Whatever keeps the scenario from running, except the load's latest arrivals and
    /// [`Output::strict`](crate::Output::strict), which [`run`](Run::run) judges.
    pub fn try_new(scenario: Scenario, resources: Resources<'_>) -> Result<Run, Error> {
        Run::build(scenario, resources, Load::try_new)
    }

    /// As [`try_new`](Run::try_new), under a load that was read before.
    ///
    /// # Errors
    /// As [`try_new`](Run::try_new).
    pub fn with_load(scenario: Scenario, resources: Resources<'_>, load: Load) -> Result<Run, Error> {
        Run::build(scenario, resources, |_, _| Ok(load))
    }

    fn build(
        scenario: Scenario,
        resources: Resources<'_>,
        load: impl FnOnce(&Workload, Read<'_>) -> Result<Load, Error>,
    ) -> Result<Run, Error> {
        scenario.check()?;
        let Resources { model, draft_model, tables, read } = resources;
        let placement = Placement::try_new(&scenario.target, model, tables)?;
        let speculation = Speculation::try_of(&scenario, &placement.model, draft_model)?;
        let draft = speculation.as_ref().and_then(|s| s.draft.as_ref());
        draft.map_or(Ok(()), |draft| placement.check_draft(draft))?;
        let strictness = scenario.output.strict();
        let deployment = placement.serve(&scenario.server, speculation.as_ref(), strictness)?;
        let load = load(&scenario.workload, read)?;
        if scenario.server.policy() == SchedulingPolicy::Priority && !load.has_priorities() {
            let why = "the trace has no priorities; only the column priority of a rooflut CSV sets them";
            return Err(no_effect("policy = priority", why));
        }
        Ok(Run {
            config: impatient(placement.config(&deployment, scenario.server.kv_blocks, draft)?, &scenario.workload),
            pools: Pools::of(&scenario.server, &deployment),
            price: price(&scenario.output, &placement, read)?,
            load,
            scenario,
            placement: placement.into(),
            deployment: deployment.into(),
            served: Arc::default(),
            speculation,
            stop: Stop::default(),
            share: Share::WHOLE,
        })
    }

    /// Returns the run with a `stop` that ends this run and all its copies early.
    pub fn stopped_by(self, stop: Stop) -> Run {
        Run { stop, ..self }
    }

    /// Returns the run with another seed, of the load and of the acceptance of drafts.
    ///
    /// # Errors
    /// None is known for a run that was built.
    pub fn with_seed(&self, seed: u64) -> Result<Run, Error> {
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

    /// Returns the run at this rate, in requests (or sessions) per second. It replaces the rate of a generated load, and
    /// the speed of a trace.
    ///
    /// # Errors
    /// A rate that is out of range, and a trace that has no rate.
    pub fn with_rate(&self, rate: f64) -> Result<Run, Error> {
        let mut run = self.clone();
        match &mut run.load {
            Load::Generated(load) => {
                run.scenario.workload.rate = Some(rate);
                run.scenario.check()?;
                load.workload.rate = Some(rate);
            }
            Load::Trace { path, trace } => {
                let speed = trace.rate().map(|known| trace.speed() * rate / known);
                let speed = speed.ok_or_else(|| {
                    let text = "expected arrivals over some time, none after the end of another request";
                    value("trace", text, path.display().to_string())
                })?;
                run.scenario.workload.trace_speed = Some(speed);
                **trace = trace.at_speed(speed).map_err(library::trace(path))?;
            }
        }
        Ok(run)
    }

    /// Returns the run with this number of users. They replace those of a generated load.
    ///
    /// # Errors
    /// A number that is out of range, and a load without users.
    pub fn with_users(&self, users: u32) -> Result<Run, Error> {
        let mut run = self.clone();
        run.scenario.workload.users = Some(users);
        run.scenario.check()?;
        if let Load::Generated(load) = &mut run.load {
            load.workload.users = Some(users);
        }
        Ok(run)
    }

    /// Returns the run with this number of requests of a generated load.
    ///
    /// # Errors
    /// A number that is out of range.
    pub fn with_requests(&self, requests: u32) -> Result<Run, Error> {
        let mut run = self.clone();
        run.scenario.workload.requests = Some(requests);
        run.scenario.check()?;
        if let Load::Generated(load) = &mut run.load {
            load.workload.requests = Some(requests);
        }
        Ok(run)
    }

    /// Returns the run on the servers that `counts` describes: its replicas, or its prefill and decode replicas and
    /// the links between them. Its other keys do not count.
    ///
    /// # Errors
    /// Counts that are out of range or contradict each other, and several servers if these are not modelled.
    pub fn with_servers(&self, counts: &Server) -> Result<Run, Error> {
        let mut run = self.clone();
        let server = &mut run.scenario.server;
        server.replicas = counts.replicas;
        server.prefill_replicas = counts.prefill_replicas;
        server.decode_replicas = counts.decode_replicas;
        server.link_bandwidth = counts.link_bandwidth;
        server.link_latency = counts.link_latency;
        run.pools = Pools::of(server, &run.deployment);
        // The router of several servers may stay where one is left.
        let router = server.router.take();
        run.scenario.check()?;
        run.scenario.server.router = router;
        Ok(run)
    }

    /// Returns the run on servers with these limits of a step; its other settings stay.
    ///
    /// # Errors
    /// Limits that are out of range, and limits that leave servers too little memory.
    pub fn with_step_limits(&self, max_num_seqs: u32, max_num_batched_tokens: u32) -> Result<Run, Error> {
        let mut run = self.clone();
        let server = &mut run.scenario.server;
        server.max_num_seqs = Some(max_num_seqs);
        server.max_num_batched_tokens = Some(max_num_batched_tokens);
        run.scenario.check()?;
        let server = &run.scenario.server;
        let speculation = self.speculation.as_ref();
        let draft = speculation.and_then(|speculation| speculation.draft.as_ref());
        let strictness = run.scenario.output.strict();
        let deployment = self.placement.serve(server, speculation, strictness)?;
        let config = self.placement.config(&deployment, server.kv_blocks, draft)?;
        run.config = impatient(config, &run.scenario.workload);
        run.deployment = deployment.into();
        run.served = Arc::default();
        Ok(run)
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

    /// Returns the step times of the deployment, which the first call tabulates.
    pub(crate) fn served_model(&self) -> &ServedModel {
        self.served.get_or_init(|| self.deployment.served_model())
    }

    /// The longest request of the models, in tokens, if the KV cache holds less.
    pub fn lowered_from(&self) -> Option<u32> {
        let longest = self.deployment.max_model_len();
        (self.config.max_model_len < longest).then_some(longest)
    }

    /// Remarks on settings with which a server does not exist as described.
    pub(crate) fn notes(&self) -> Vec<String> {
        let server = &self.scenario.server;
        let plan = self.deployment.memory_plan();
        let held = plan.map_or(0, |plan| plan.kv_blocks);
        let beyond = server.kv_blocks.filter(|given| *given > held).map(|given| {
            let (given, held) = (grouped(given), grouped(held));
            format!("{given} KV blocks are given, and the memory holds {held}")
        });
        let cached = self.scenario.workload.cached_prompt();
        let is_off = self.config.prefix_caching == PrefixCaching::Disabled;
        let cached = (is_off && cached > 0)
            .then(|| "the cached prompt tokens count as found, although the server caches no prefixes".to_owned());
        let name = self.placement.tables.name();
        let is_built_in = sets::ALL.iter().any(|set| set.name() == name);
        let is_asked = self.scenario.output.interval.is_some();
        let has_errors = is_built_in || self.placement.tables.class() != Class::Measured;
        let unknown = (is_asked && !has_errors).then(|| {
            let errors = ErrorGroup::UNKNOWN.set(Extent::Inside);
            format!("the errors of {name} are not known; the interval has the largest of {errors}")
        });
        let notes = self.placement.notes.iter().cloned().chain(self.cut());
        notes.chain(beyond).chain(cached).chain(unknown).collect()
    }

    /// Limits that are smaller than the engine's on this GPU because of another limit.
    fn cut(&self) -> Option<String> {
        let (server, config) = (&self.scenario.server, &self.config);
        let engine = self.deployment.engine();
        let usual = engine.defaults.on(self.placement.tables.gpu());
        let [seqs, tokens] = [config.max_num_seqs, config.max_num_batched_tokens];
        let [most_seqs, most_tokens] = [usual.max_num_seqs, usual.max_num_batched_tokens];
        let name = engine.name;
        if server.max_num_seqs.is_none() && seqs < most_seqs {
            let (seqs, tokens, most) = (grouped(seqs), grouped(tokens), grouped(most_seqs));
            return Some(format!(
                "at most {seqs} sequences run, to fit into a step of {tokens} tokens; {name} takes {most} in larger \
                 steps"
            ));
        }
        let is_cut = server.max_num_batched_tokens.is_none() && tokens < most_tokens;
        is_cut.then(|| {
            let (seqs, tokens, most) = (grouped(seqs), grouped(tokens), grouped(most_tokens));
            format!(
                "a step has at most {tokens} tokens, for {seqs} longest requests; {name} takes {most} if more \
                 requests run"
            )
        })
    }

    /// Speculative decoding, if it is asked for.
    pub fn speculation(&self) -> Option<&Speculation> {
        self.speculation.as_ref()
    }

    /// Prefill and decode servers, if they are separate.
    pub fn pools(&self) -> Option<&Pools> {
        self.pools.as_ref()
    }

    /// The load.
    pub fn load(&self) -> &Load {
        &self.load
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The price of its GPU, if it is known.
    pub(crate) fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }

    /// The replicas of each pool of equal servers.
    pub(crate) fn pool_ranges(&self) -> Vec<Range<u32>> {
        let prefill = self.pools.map_or(0, |pools| pools.prefill);
        vec![0..prefill, prefill..self.replicas()]
    }

    /// Servers of the run; the data-parallel ranks of one count apart.
    pub fn replicas(&self) -> u32 {
        let pools = self.pools.map(|pools| pools.prefill + pools.decode);
        pools.unwrap_or(self.scenario.server.replicas() * self.dp())
    }

    /// Data-parallel ranks, which step together.
    pub(crate) fn dp(&self) -> u32 {
        self.placement.parallelism.dp
    }

    /// GPUs of all servers.
    pub fn gpus(&self) -> u64 {
        let parallelism = self.placement.parallelism.with_dp(1);
        u64::from(parallelism.gpus()) * u64::from(self.replicas())
    }

    /// Returns the first `count` requests of a generated load, or all if the load has fewer, in the order of arrival.
    /// `None` for a trace, and if users wait for answers, because arrivals then depend on the servers.
    ///
    /// # Errors
    /// Arrivals that the clock cannot represent.
    pub fn requests(&self, count: u32) -> Result<Option<Vec<Request>>, Error> {
        let Load::Generated(load) = &self.load else {
            return Ok(None);
        };
        let count = load.workload.requests.unwrap_or(count).min(count);
        Ok(match load.requests(&self.config, count)? {
            Requests::Open(requests) => Some(requests.collect()),
            Requests::Closed(_) => None,
        })
    }

    /// Returns the requests of a trace, in the order of arrival, without those that arrive after the end of others; empty
    /// for another load.
    ///
    /// # Errors
    /// A failure to read the file.
    pub fn trace_requests(&self) -> Result<Vec<Request>, Error> {
        let Load::Trace { path, trace } = &self.load else {
            return Ok(Vec::new());
        };
        let mut replay = trace.replay().map_err(library::trace(path))?;
        let requests = std::iter::from_fn(|| replay.take()).map(|(_, request)| request).collect();
        replay.finish().map_err(library::trace(path))?;
        Ok(requests)
    }

    /// Returns requests of the lengths of a generated load, without their arrivals; empty for a trace.
    ///
    /// # Errors
    /// None is known for a run that was built.
    pub fn lengths(&self, count: u32) -> Result<Vec<Request>, Error> {
        match &self.load {
            Load::Trace { .. } => Ok(Vec::new()),
            Load::Generated(load) => load.lengths(&self.config, count),
        }
    }
}

/// The limits of a server whose clients wait as long as those of `workload`.
fn impatient(config: SimConfig, workload: &Workload) -> SimConfig {
    match workload.patience {
        Some(seconds) => config.with_patience_ns(Seconds(seconds).to_nanos()),
        None => config,
    }
}

/// Returns the price of the GPUs of a placement, as given or of the defaults; `None` if neither has one.
fn price(output: &Output, placement: &Placement, read: Read<'_>) -> Result<Option<Price>, Error> {
    let gpu = placement.tables.gpu().name.as_str();
    Ok(Prices::try_open(output, &[gpu], read)?.of(gpu).cloned())
}

impl Prices {
    /// Returns the default prices, replaced by those of the file of [`Output::prices`], and these by those of
    /// [`Output::price`]. They may be of the GPUs `own` besides known GPUs. `read` opens the file, as in [`Resources`].
    ///
    /// # Errors
    /// A file that cannot be read or is wrong, and a price of an unknown GPU.
    pub fn try_open(output: &Output, own: &[&str], read: &dyn Fn(&Path) -> io::Result<Input>) -> Result<Prices, Error> {
        let mut prices = Prices::try_built_in()?;
        if let Some(path) = &output.prices {
            let bytes = read_file("prices", path, read)?;
            let given = Prices::read(&bytes, own).map_err(|error| error.in_file(path).about(["prices"]))?;
            prices = prices.replaced_by(given);
        }
        prices.with(output.price.as_deref().unwrap_or_default(), own)
    }
}
