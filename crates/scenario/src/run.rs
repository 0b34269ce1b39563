//! Runs of scenarios.

use std::ops::Range;
use std::path::Path;
use std::{fmt, io};

use rooflut::Deployment;
use rooflut::sim::load::Source;
use rooflut::sim::{PrefixCaching, Request, SchedulingPolicy, SimConfig};
use rooflut::table::TableSet;
use rooflut_error::{Error, Kind as ErrorKind, Whole, key, no_effect, value};
use rooflut_report::Role;
use rooflut_traces::Input;

use crate::generated::Requests;
use crate::kind::{Group, Kind};
use crate::library;
use crate::load::Load;
use crate::model::Model;
use crate::outage::Outage;
use crate::output::Output;
use crate::part::{Part, in_part};
use crate::partial::without_keys;
use crate::placement::Placement;
use crate::pools::Pools;
use crate::prices::Prices;
use crate::read::{Read, read_file};
use crate::scenario::{Scenario, Server, Target, Workload};
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
    /// Finds model and tables for servers with settings of their own: [`Server::fleet`](crate::Server::fleet),
    /// [`Server::prefill`](crate::Server::prefill) and [`Server::decode`](crate::Server::decode).
    pub find: Find<'r>,
    /// Opens the trace, the engine's file, or files of lengths and prices: for a file, `File::open(path).map(Input::from)`.
    pub read: &'r dyn Fn(&Path) -> io::Result<Input>,
}

/// Finds the model and the tables that a target names.
pub type Find<'r> = &'r dyn Fn(&Target) -> Result<(Model, TableSet), Error>;

/// Finds no servers with settings of their own, for callers whose scenarios have none.
///
/// # Errors
/// Always.
pub fn no_others(target: &Target) -> Result<(Model, TableSet), Error> {
    let text = format!("{} on {}: servers with settings of their own are not taken here", target.model(), target.gpu());
    Err(Error::new(ErrorKind::NotModelled, text))
}

/// A scenario that is ready to run. Copies share the deployment and its step times, even with another load.
#[derive(Debug, Clone)]
pub struct Run {
    pub(crate) scenario: Scenario,
    /// The servers; of several kinds the first.
    pub(crate) kind: Kind,
    /// The other kinds of servers.
    pub(crate) others: Vec<Kind>,
    pub(crate) speculation: Option<Speculation>,
    pub(crate) pools: Option<Pools>,
    pub(crate) load: Load,
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
        let Resources { model, draft_model, tables, find, read } = resources;
        let engine = scenario.target.find_engine(read)?;
        let mut kinds = Vec::new();
        let mut speculation = None;
        for member in scenario.members()? {
            let in_part = in_part(member.place);
            let (model, tables) = match member.place {
                Some(_) => find(&member.settings.target).map_err(&in_part)?,
                None => (model.clone(), tables.clone()),
            };
            let (kind, own) = Kind::try_new(member, model, draft_model.clone(), tables, &engine).map_err(in_part)?;
            speculation = speculation.or(own);
            kinds.push(kind);
        }
        let load = load(&scenario.workload, read)?;
        if scenario.server.policy() == SchedulingPolicy::Priority && !load.has_priorities() {
            let why = "the trace has no priorities; only the column priority of a rooflut CSV sets them";
            return Err(no_effect("policy = priority", why));
        }
        set_prices(&mut kinds, &scenario.output, read)?;
        let mut kinds = kinds.into_iter();
        let kind = kinds.next().ok_or_else(|| value("fleet", "at least one entry", "none"))?;
        let others: Vec<Kind> = kinds.collect();
        if scenario.server.prefill_replicas.is_some() {
            check_pools(&kind, others.last())?;
        }
        Ok(Run {
            pools: Pools::of(&scenario.server, kind.deployment()),
            kind,
            others,
            load,
            scenario,
            speculation,
            stop: Stop::default(),
            share: Share::WHOLE,
        })
    }

    /// Returns a run of the prefill servers of `prefill` and the decode servers of `decode`, two runs of one server each.
    ///
    /// `counts` has the numbers of prefill and decode servers and the links between them, as in
    /// [`with_servers`](Run::with_servers), which changes the numbers of the new run. Load, limits on latencies and
    /// policies are those of `prefill`; step times that either run has tabulated are shared.
    ///
    /// ```no_run
    /// # use rooflut_scenario::{Error, Run, Server};
    /// # fn example(small: &Run, large: &Run) -> Result<(), Error> {
    /// let mut counts = Server::default();
    /// (counts.prefill_replicas, counts.decode_replicas) = (Some(1), Some(3));
    /// (counts.link_bandwidth, counts.link_latency) = (Some(50.0), Some(10.0));
    /// let run = Run::with_pools(large, small, &counts)?;
    /// assert_eq!(run.replicas(), 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Counts that are out of range, KV formats or block sizes that differ, and servers that are not modelled as
    /// separate pools.
    pub fn with_pools(prefill: &Run, decode: &Run, counts: &Server) -> Result<Run, Error> {
        let mut run = prefill.clone();
        let settings = |kind: &Kind| Part::of(&kind.settings).map(Part::into_settings);
        run.scenario = without_keys(&run.scenario)?;
        run.scenario.server.prefill = Some(settings(&prefill.kind)?);
        run.scenario.server.decode = Some(settings(&decode.kind)?);
        run.others = vec![decode.kind.clone()];
        check_pools(&run.kind, run.others.last())?;
        run.with_servers(counts)
    }

    /// Returns the run with a `stop` that ends this run and all its copies early.
    pub fn stopped_by(self, stop: Stop) -> Run {
        Run { stop, ..self }
    }

    /// The scenario as given.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The model and its GPUs; of several kinds of servers those of the first.
    pub fn placement(&self) -> &Placement {
        self.kind.placement()
    }

    /// The limits of each server; of several kinds of the first.
    pub fn config(&self) -> &SimConfig {
        self.kind.config()
    }

    /// The deployment of each server; of several kinds of the first.
    pub fn deployment(&self) -> &Deployment {
        self.kind.deployment()
    }

    /// The kinds of servers. Prefill servers are of the first, decode servers of the last.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        [&self.kind].into_iter().chain(&self.others)
    }

    /// Returns a run of one server of a kind, under the load of all.
    #[must_use]
    pub fn of_kind(&self, kind: &Kind) -> Run {
        let mut kind = kind.clone();
        kind.replicas = 1;
        let mut run = Run { scenario: kind.settings().clone(), others: Vec::new(), pools: None, kind, ..self.clone() };
        run.scenario.workload = self.scenario.workload.clone();
        run.scenario.server.make_one();
        run
    }

    /// Whether servers are of several kinds.
    pub fn is_mixed(&self) -> bool {
        !self.others.is_empty()
    }

    /// The servers, in the order of their replicas.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let last = self.others.last().unwrap_or(&self.kind);
        let groups: Vec<(Role, &Kind, u32)> = match &self.pools {
            Some(pools) => vec![(Role::Prefill, &self.kind, pools.prefill), (Role::Decode, last, pools.decode)],
            None if self.is_mixed() => self.kinds().map(|kind| (Role::Whole, kind, kind.replicas)).collect(),
            None => vec![(Role::Whole, &self.kind, self.scenario.servers())],
        };
        let mut end = 0;
        let group = |(role, kind, servers): (Role, &'_ Kind, u32)| {
            let begin = end;
            end += servers * kind.dp();
            (role, begin..end)
        };
        let ranges: Vec<_> = groups.iter().copied().map(group).collect();
        let groups = groups.into_iter().zip(ranges);
        groups.map(|((role, kind, _), (_, replicas))| Group { role, kind, replicas }).collect()
    }

    /// The longest request of the models, in tokens, if the KV cache holds less.
    pub fn lowered_from(&self) -> Option<u32> {
        self.kind.lowered_from()
    }

    /// Remarks on settings with which a server does not exist as described.
    pub(crate) fn notes(&self) -> Vec<String> {
        let cached = self.scenario.workload.cached_prompt();
        let is_off = self.config().prefix_caching == PrefixCaching::Disabled;
        let cached = (is_off && cached > 0)
            .then(|| "the cached prompt tokens count as found, although the server caches no prefixes".to_owned());
        let is_asked = self.scenario.output.interval.is_some();
        let unknown = self.kinds().filter(|_| is_asked).filter_map(Kind::unknown_errors);
        let mut notes: Vec<String> = Vec::new();
        for note in self.kinds().flat_map(Kind::notes).chain(cached).chain(unknown) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
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

    /// The servers that are lost for a while.
    pub fn outages(&self) -> &[Outage] {
        self.scenario.server.lose.as_deref().unwrap_or_default()
    }

    /// The replicas of each pool of equal servers.
    pub(crate) fn pool_ranges(&self) -> Vec<Range<u32>> {
        self.groups().into_iter().map(|group| group.replicas).collect()
    }

    /// Servers of the run; the data-parallel ranks of one count apart.
    pub fn replicas(&self) -> u32 {
        self.groups().last().map_or(0, |last| last.replicas.end)
    }

    /// The table sets of all kinds of servers, each once: `h100 + l40s`.
    pub fn gpu(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in self.kinds().map(|kind| kind.placement().tables.name()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" + ")
    }

    /// The name of the model and the GPUs of all servers.
    pub fn title(&self) -> String {
        let groups = self.groups();
        match groups.as_slice() {
            groups if self.is_mixed() => {
                let gpus = groups.iter().map(|group| group.kind.placement().gpus(group.gpus()));
                format!("{} on {}", self.placement().model, gpus.collect::<Vec<_>>().join(" and "))
            }
            _ => self.placement().on_gpus(self.gpus()),
        }
    }

    /// GPUs of all servers.
    pub fn gpus(&self) -> u64 {
        self.groups().iter().map(Group::gpus).sum()
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
        Ok(match load.requests(self.config(), count)? {
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
            Load::Generated(load) => load.lengths(self.config(), count),
        }
    }
}

/// Sets the prices of the GPUs, as given or of the defaults, where they are known.
fn set_prices(kinds: &mut [Kind], output: &Output, read: Read<'_>) -> Result<(), Error> {
    let name = |kind: &Kind| kind.placement().tables.gpu().name.as_str().to_owned();
    let gpus: Vec<String> = kinds.iter().map(name).collect();
    let own: Vec<&str> = gpus.iter().map(String::as_str).collect();
    let prices = Prices::try_open(output, &own, read)?;
    kinds.iter_mut().for_each(|kind| kind.set_price(prices.of(&name(kind)).cloned()));
    Ok(())
}

/// Refuses decode servers that cannot take the KV entries of prefill servers as these store them.
fn check_pools(prefill: &Kind, decode: Option<&Kind>) -> Result<(), Error> {
    let Some(decode) = decode else {
        return Ok(());
    };
    let differs = |what: &str, a: &dyn fmt::Display, b: &dyn fmt::Display| {
        let text = format!(
            "{} and {}: expected one {what}, as KV entries are sent as they are stored, found {a} and {b}; make them \
             equal",
            key("prefill"),
            key("decode")
        );
        Err(Error::new(ErrorKind::Conflict, text))
    };
    let [of_prefill, of_decode] = [prefill, decode].map(|kind| (kind.placement(), kind.config()));
    if of_prefill.0.kv_dtype != of_decode.0.kv_dtype {
        return differs("KV format", &of_prefill.0.kv_dtype, &of_decode.0.kv_dtype);
    }
    if of_prefill.1.block_size != of_decode.1.block_size {
        return differs("block size", &of_prefill.1.block_size, &of_decode.1.block_size);
    }
    Ok(())
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
            let bytes = read_file("prices", Whole::Prices, path, read)?;
            let given = Prices::read(&bytes, own).map_err(|error| error.in_file(path).about(["prices"]))?;
            prices = prices.replaced_by(given);
        }
        prices.with(output.price.as_deref().unwrap_or_default(), own)
    }
}
