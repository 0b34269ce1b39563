//! Questions: a load, limits, and the deployments to choose from.

use std::io;
use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rooflut::interval::Coverage;
use rooflut::table::TableSet;
use rooflut_error::{key, missing, no_effect, setting};
use rooflut_scenario::{Error, Kind, Load, Model, Output, Prices, Resources, Run, Scenario, Stop, no_others};
use rooflut_traces::Input;

use crate::bounds::Lengths;
use crate::limit::Limits;
use crate::space::{Choice, Space};
use crate::variant::{Bounds, Links, Variant};

/// A question to a plan: a load, limits, and the deployments to choose from.
pub struct Question<'q> {
    /// Model, load and server. The plan chooses the keys of [`Space`], the numbers of servers, and replaces the output;
    /// `link_bandwidth` and `link_latency` allow separate prefill and decode servers.
    pub scenario: Scenario,
    /// The model that the scenario names.
    pub model: Model,
    /// The draft model that the scenario names.
    pub draft_model: Option<Model>,
    /// Opens the trace, or files of lengths.
    pub read: &'q dyn Fn(&Path) -> io::Result<Input>,
    /// The deployments to choose from.
    pub space: Space,
    /// The limits that the deployment must meet.
    pub limits: Limits,
    /// Share of measured servers that must meet the limits: the limits are checked at the far end of the interval meant
    /// to contain this share. `None`: the predictions must meet the limits.
    pub confidence: Option<Coverage>,
    /// Number of deployments to find, each of another kind of server.
    pub count: usize,
    /// Prices of GPUs. Deployments are ordered by price if there are several GPUs to choose from; without prices, by
    /// the number of their GPUs.
    pub prices: Option<Prices>,
    /// Ends the search early.
    pub stop: Stop,
}

/// The seeds of each deployment.
pub(crate) const SEEDS: u32 = 3;

/// Key of the share of measured servers, which a scenario calls `interval`.
const CONFIDENCE: &str = "confidence";

/// The kinds of servers of a question.
pub(crate) struct Candidates {
    /// Kinds that can serve the model.
    pub(crate) variants: Vec<Variant>,
    /// The others, and why.
    pub(crate) unable: Vec<(Choice, Error)>,
}

impl<'q> Question<'q> {
    /// Asks for the one deployment of `space` with the fewest GPUs that meets the limits.
    pub fn new(
        scenario: Scenario,
        model: Model,
        read: &'q dyn Fn(&Path) -> io::Result<Input>,
        space: Space,
        limits: Limits,
    ) -> Question<'q> {
        Question {
            scenario,
            model,
            draft_model: None,
            read,
            space,
            limits,
            confidence: None,
            count: 1,
            prices: None,
            stop: Stop::default(),
        }
    }

    /// The links of the scenario, if it has both of their keys.
    pub(crate) fn links(&self) -> Result<Option<Links>, Error> {
        let server = &self.scenario.server;
        match (server.link_bandwidth, server.link_latency) {
            (Some(bandwidth_gb_per_s), Some(latency_us)) => Ok(Some(Links { bandwidth_gb_per_s, latency_us })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(missing("link_bandwidth", &[&["link_latency"]])),
            (None, Some(_)) => Err(missing("link_latency", &[&["link_bandwidth"]])),
        }
    }

    /// Returns the price of a GPU by which deployments are ordered: 1 where one kind of GPU is left to choose, or prices
    /// are not known.
    fn weight(&self, tables: &TableSet) -> Result<f64, Error> {
        let gpu = |tables: &TableSet| tables.gpu().name.as_str().to_owned();
        let name = gpu(tables);
        let is_only = self.space.tables.iter().all(|other| gpu(other) == name);
        match self.prices.as_ref().filter(|_| !is_only) {
            None => Ok(1.0),
            Some(prices) => match prices.of(&name) {
                Some(price) => Ok(price.usd_per_gpu_hour),
                None => {
                    let price = setting("price", format!("{name}=USD"));
                    let text = format!(
                        "the price of {name} is not known, and different GPUs are compared by price; give one: {price}"
                    );
                    Err(Error::new(Kind::Conflict, text))
                }
            },
        }
    }

    /// The scenario of a run with one seed.
    fn base(&self) -> Result<Scenario, Error> {
        const CHOSEN: &str = "the plan chooses it";
        let server = &self.scenario.server;
        for (key, is_given) in [
            ("replicas", server.replicas.is_some()),
            ("prefill_replicas", server.prefill_replicas.is_some()),
            ("decode_replicas", server.decode_replicas.is_some()),
            ("prefill", server.prefill.is_some()),
            ("decode", server.decode.is_some()),
            ("fleet", server.fleet.is_some()),
        ] {
            if is_given {
                return Err(no_effect(key, CHOSEN));
            }
        }
        if server.lose.is_some() {
            let text = format!(
                "{}: a plan with servers that are lost is not modelled; plan without, and run the answer with them",
                key("lose")
            );
            return Err(Error::new(Kind::NotModelled, text));
        }
        let mut scenario = self.scenario.clone();
        scenario.server.link_bandwidth = None;
        scenario.server.link_latency = None;
        let mut checked = scenario.clone();
        // Without several servers it has no effect; those of the plan may be several.
        checked.server.router = None;
        checked.check()?;
        scenario.workload.seeds = None;
        let mut output = Output::default();
        output.strict = self.scenario.output.strict;
        output.goodput = self.limits.goodput();
        output.interval = self.confidence;
        scenario.output = output;
        Ok(scenario)
    }

    /// Looks every kind of server up and bounds what it can do.
    pub(crate) fn candidates(&self) -> Result<Candidates, Error> {
        self.space.check()?;
        for tables in &self.space.tables {
            self.weight(tables)?;
        }
        let base = self.base()?;
        let load = Load::try_new(&base.workload, self.read)?;
        let engine_file = base.target.engine_file();
        let engine =
            engine_file.map_or(Err(io::ErrorKind::NotFound), |path| (self.read)(path).map_err(|error| error.kind()));
        let choices = self.space.choices();
        let (model, draft_model, limits) = (&self.model, &self.draft_model, &self.limits);
        let built = choices.into_par_iter().map(|(tables, choice)| {
            let resources = Resources {
                model: model.clone(),
                draft_model: draft_model.clone(),
                tables,
                find: &no_others,
                // The load is read; the engine's file may be a pipe.
                read: &|_| Ok(engine.clone()?),
            };
            let scenario = choice.applied(&base);
            let run = match unknown_interval(&scenario)? {
                Some(error) => Err(error),
                None => Run::with_load(scenario, resources, load.clone()),
            };
            Ok((choice, run))
        });
        let mut runs = Vec::new();
        let mut unable = Vec::new();
        for built in built.collect::<Vec<Result<_, Error>>>() {
            let (choice, run) = built?;
            match run {
                Ok(run) => {
                    let weight = self.weight(&run.placement().tables)?;
                    runs.push((choice, weight, run.stopped_by(self.stop.clone())));
                }
                Err(error) if is_of_server(&error) => unable.push((choice, error)),
                Err(error) => return Err(error),
            }
        }
        let Some((_, _, run)) = runs.first() else {
            let count = unable.len();
            return Err(match unable.into_iter().next() {
                Some((_, error)) if count == 1 => error,
                Some((_, error)) => {
                    error.map(|text| format!("no deployment of {count} can serve the model; the first: {text}"))
                }
                None => Error::new(
                    Kind::Conflict,
                    "no deployment is within the limit on GPUs; allow more GPUs or lower degrees of parallelism",
                ),
            });
        };
        let lengths = Lengths::of_run(run)?;
        let runs: Vec<_> = runs.into_iter().enumerate().collect();
        let variants = runs.into_par_iter().map(|(index, (choice, weight, run))| {
            let bounds = Bounds::of(&run, lengths.as_ref(), limits);
            Variant { index, weight: weight * f64::from(run.placement().parallelism.gpus()), choice, run, bounds }
        });
        Ok(Candidates { variants: variants.collect(), unable })
    }
}

/// Returns why the figures of a kind of server have no intervals, if that is all that is wrong with its scenario.
fn unknown_interval(scenario: &Scenario) -> Result<Option<Error>, Error> {
    let Err(error) = scenario.check() else {
        return Ok(None);
    };
    let mut predicted = scenario.clone();
    if predicted.output.interval.take().is_none() {
        return Err(error);
    }
    predicted.check()?;
    let [interval, confidence] = ["interval", CONFIDENCE].map(|name| key(name).to_string());
    Ok(Some(error.map(|text| text.replace(&interval, &confidence)).about([CONFIDENCE])))
}

/// Returns the seeds with which a deployment is simulated: one where nothing is drawn at random.
pub(crate) fn seeds(scenario: &Scenario) -> Vec<u64> {
    let workload = &scenario.workload;
    let is_random = workload.trace.is_none() && workload.is_random();
    let count = if is_random || scenario.server.is_random() { workload.seeds.unwrap_or(SEEDS) } else { 1 };
    let first = workload.seed();
    (0..count).map(|index| first.wrapping_add(index.into())).collect()
}

/// Whether another kind of server may do without the error.
fn is_of_server(error: &Error) -> bool {
    let is_of_interval = error.keys() == [CONFIDENCE];
    let is_of_kind = matches!(
        error.kind(),
        Kind::Value
            | Kind::NotModelled
            | Kind::Parallelism
            | Kind::NotMeasured
            | Kind::Uncertain
            | Kind::DoesNotFit
            | Kind::StepTime
    );
    is_of_interval || is_of_kind
}
