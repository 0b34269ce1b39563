//! Runs of the points of a grid, which share what they have in common.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rooflut::table::TableSet;
use rooflut_scenario::{Error, Kind, Load, Model, PATH_KEYS, Resources, Run, Scenario, Target, Workload};

use crate::contents::{Contents, Open};
use crate::grid::Grid;

/// A function that finds the models and the table set of a scenario.
pub type Find<'s> = dyn Fn(&Scenario) -> Result<Named, Error> + Send + Sync + 's;

/// Finds what scenarios name.
#[derive(Clone)]
pub struct Sources<'s> {
    /// Finds the models and the table set of a scenario.
    pub find: Arc<Find<'s>>,
    /// Opens the trace, or files of lengths and prices.
    pub open: Arc<Open<'s>>,
}

/// The models and the table set that a scenario names.
#[derive(Debug, Clone)]
pub struct Named {
    /// The model.
    pub model: Model,
    /// The draft model, if the scenario names one.
    pub draft_model: Option<Model>,
    /// The table set.
    pub tables: TableSet,
}

/// Keys of which only the value changes in a run that was built with another one.
const VARIED: [&str; 7] = ["rate", "seed", SERVERS[0], SERVERS[1], SERVERS[2], SERVERS[3], SERVERS[4]];
/// Keys that count servers and describe their links.
const SERVERS: [&str; 5] = ["replicas", "prefill_replicas", "decode_replicas", "link_bandwidth", "link_latency"];
/// Keys that say how a trace is read.
const TRACE: [&str; 3] = ["trace_format", "columns", "where"];
/// Maximum number of runs that are kept for others.
const KEPT: usize = 64;
/// Maximum number of points to try while none can run.
const TRIED: u64 = 10_000;

/// A run at one point of the values that are not varied, or why there is none.
type Built = Arc<OnceLock<Result<Run, Error>>>;

/// The runs of a grid.
pub(crate) struct Runs<'s> {
    grid: Grid,
    sources: Sources<'s>,
    contents: Contents,
    is_varied: Vec<bool>,
    /// The last runs that were built, by the places of the values that are not varied.
    built: Mutex<VecDeque<(Vec<Option<usize>>, Built)>>,
    /// The last traces that were read.
    traces: Mutex<VecDeque<(Workload, Load)>>,
    /// Remarks on servers that are not those to which the constants of their engines were fitted.
    mismatches: Mutex<BTreeSet<String>>,
}

impl<'s> Runs<'s> {
    /// Creates the runs, of which one is known to be possible, and returns the hash of the files that they read.
    ///
    /// # Errors
    /// The first value that names nothing, or the error of the first point if none can be run.
    pub(crate) fn try_new(grid: Grid, sources: Sources<'s>) -> Result<(Runs<'s>, String), Error> {
        let is_varied = grid.axes().iter().map(|axis| VARIED.contains(&axis.key()));
        let runs = Runs {
            is_varied: is_varied.collect(),
            contents: Contents::of(&grid)?,
            grid,
            sources,
            built: Mutex::default(),
            traces: Mutex::default(),
            mismatches: Mutex::default(),
        };
        // Readers refuse files that are too large.
        runs.check()?;
        let hash = runs.contents.hash(&*runs.sources.open)?;
        Ok((runs, hash))
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Finds what each value names, and one point that can be run.
    ///
    /// # Errors
    /// The first value that names nothing, or the error of the first point if none can be run.
    fn check(&self) -> Result<(), Error> {
        for (number, axis) in self.grid.axes().iter().enumerate() {
            if PATH_KEYS.contains(&axis.key()) || TRACE.contains(&axis.key()) {
                for index in self.grid.first_named(number) {
                    self.check_names(index).map_err(|error| self.grid.at_point(index, error))?;
                }
            }
        }
        let tried = 0..self.grid.len().min(TRIED);
        if tried.into_iter().any(|index| self.grid.scenario(index).and_then(|point| self.run(index, &point)).is_ok()) {
            Ok(())
        } else {
            self.build(self.grid.scenario(0)?).map(drop)
        }
    }

    fn check_names(&self, index: u64) -> Result<(), Error> {
        let scenario = self.grid.scenario(index)?;
        (self.sources.find)(&scenario)?;
        match self.build(scenario) {
            // No other point mends a name or a file.
            Err(error) if matches!(error.kind(), Kind::UnknownName | Kind::Io | Kind::Contents) => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns the run of a point with its scenario.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub(crate) fn run(&self, index: u64, scenario: &Scenario) -> Result<Run, Error> {
        scenario.check()?;
        let built = self.built(index);
        let run = built.get_or_init(|| self.build(scenario.clone())).as_ref().map_err(Error::clone)?;
        self.varied(run, scenario)
    }

    /// Returns the place for the run that a point shares with others.
    fn built(&self, index: u64) -> Built {
        let places = self.grid.places(index).into_iter().zip(self.grid.values(index)).zip(&self.is_varied);
        // A run cannot be varied to a key that is not given.
        let own = places.map(|((place, value), is_varied)| (!is_varied || value.is_null()).then_some(place));
        let places: Vec<Option<usize>> = own.collect();
        let mut all = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, built)) = all.iter().rev().find(|(of, _)| *of == places) {
            return built.clone();
        }
        let built = Built::default();
        all.push_back((places, built.clone()));
        if all.len() > KEPT {
            all.pop_front();
        }
        built
    }

    fn build(&self, scenario: Scenario) -> Result<Run, Error> {
        let named = (self.sources.find)(&scenario)?;
        let load = self.load(&scenario.workload)?;
        let find = |target: &Target| {
            let mut of_target = Scenario::default();
            of_target.target = target.clone();
            let named = (self.sources.find)(&of_target)?;
            Ok((named.model, named.tables))
        };
        let resources = Resources {
            model: named.model,
            draft_model: named.draft_model,
            tables: named.tables,
            find: &find,
            read: &*self.sources.open,
        };
        let run = Run::with_load(scenario, resources, load)?;
        let mismatches = run.kinds().filter_map(|kind| kind.placement().engine_mismatch.clone());
        self.mismatches.lock().unwrap_or_else(PoisonError::into_inner).extend(mismatches);
        Ok(run)
    }

    /// Returns remarks on the servers of the runs so far.
    pub(crate) fn mismatches(&self) -> Vec<String> {
        self.mismatches.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Reads a load; a trace once.
    fn load(&self, workload: &Workload) -> Result<Load, Error> {
        if workload.trace.is_none() {
            return Load::try_new(workload, &*self.sources.open);
        }
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, load)) = traces.iter().find(|(of, _)| of == workload) {
            return Ok(load.clone());
        }
        let load = Load::try_new(workload, &*self.sources.open)?;
        traces.push_back((workload.clone(), load.clone()));
        if traces.len() > KEPT {
            traces.pop_front();
        }
        Ok(load)
    }

    /// Returns `run` with the varied values of a scenario.
    fn varied(&self, run: &Run, scenario: &Scenario) -> Result<Run, Error> {
        let is_axis = |key: &str| self.grid.axes().iter().any(|axis| axis.key() == key);
        let mut run = run.clone();
        if let Some(rate) = scenario.workload.rate.filter(|_| is_axis("rate")) {
            run = run.with_rate(rate)?;
        }
        if let Some(seed) = scenario.workload.seed.filter(|_| is_axis("seed")) {
            run = run.with_seed(seed)?;
        }
        if SERVERS.into_iter().any(is_axis) {
            run = run.with_servers(&scenario.server)?;
        }
        Ok(run)
    }
}
