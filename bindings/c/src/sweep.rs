//! Sweeps: a grid of deployments and loads.

use std::sync::Arc;
use std::thread;

use rooflut_scenario::{Kind, Scenario, ScenarioFile, grouped};
use rooflut_sweep::{Axis, Grid, Named, Shard, Sources, Sweep};
use rooflut_version::version;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::files::open;
use crate::registry::REGISTRY;
use crate::scenario::{Given, Objects, ScenarioSource};
use crate::stop::until;
use crate::text::returning;

/// Deployments of a sweep, whose rows are in memory.
const MAX_POINTS: u64 = 1_000_000;

/// Simulates all combinations of the values of some keys, and returns a text of CSV with a row for each: what
/// `rooflut sweep --scenario` prints.
///
/// The TOML of `source` has lists of values in a table `[sweep]`. An object in place of a name excludes a list of such
/// names. A deployment that cannot be run is a row with an error. `stop` is a stop or 0. Runs on all processors; a grid
/// of many deployments takes minutes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_sweep(
    source: *const ScenarioSource,
    stop: Handle,
    csv: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let given = unsafe { Given::new(source) }?;
        let objects = given.objects;
        let grid = grid(given.toml)?;
        check(&grid, &objects)?;
        let sources = Sources {
            find: Arc::new(|scenario| {
                let named = named(&objects, scenario);
                named.map_err(|failure| rooflut_sweep::Error::new(Kind::UnknownName, failure.to_string()))
            }),
            open: Arc::new(open),
        };
        let sweep = Sweep::try_new(grid, sources, &version()).map_err(refused)?;
        REGISTRY.texts.insert(until(stop, |stop| rows(&sweep.stopped_by(stop)))?)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((csv, "csv"), error, make) }
}

fn named(objects: &Objects, scenario: &Scenario) -> Result<Named, Failure> {
    Ok(Named {
        model: objects.model(scenario)?,
        draft_model: objects.draft_model(scenario)?,
        tables: objects.tables(scenario)?,
    })
}

fn grid(toml: &str) -> Result<Grid, Failure> {
    let (file, lists) = ScenarioFile::read_with_lists(toml.as_bytes())
        .map_err(|error| Failure::refused(format_args!("toml: {error}")))?;
    let axes = lists.iter().map(|list| {
        let axis = Axis::of_file(list);
        axis.map_err(|error| Failure::refused(format_args!("toml: {}", error.at_line(list.line))))
    });
    Grid::try_new(file.scenario(), axes.collect::<Result<_, _>>()?).map_err(refused)
}

/// Refuses objects beside lists of their names, and grids that are too large.
fn check(grid: &Grid, objects: &Objects) -> Result<(), Failure> {
    let objects = [
        ("model", objects.model),
        ("draft_model", objects.draft_model),
        ("gpu", objects.tables),
        ("tables", objects.tables),
    ];
    let is_axis = |key| grid.axes().iter().any(|axis| axis.key() == key);
    let given = objects.into_iter().filter(|(_, handle)| *handle != 0);
    if let Some((key, _)) = given.into_iter().find(|(key, _)| is_axis(*key)) {
        return Err(Failure::refused(format_args!(
            "{key}: expected either an object or a list in [sweep], found both; remove one"
        )));
    }
    if grid.len() > MAX_POINTS {
        Err(Failure::refused(format_args!(
            "sweep: expected at most {} deployments, found {} ({}); take fewer values",
            grouped(MAX_POINTS),
            grouped(grid.len()),
            grid.sizes()
        )))
    } else {
        Ok(())
    }
}

fn rows(sweep: &Sweep<'_>) -> Result<String, Failure> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut csv = sweep.csv_header();
    let take = |row: rooflut_sweep::Row| -> Result<(), rooflut_sweep::Error> {
        csv.extend(row.csv());
        Ok(())
    };
    sweep.rows(Shard::WHOLE, 0, threads, take).map_err(refused)?;
    String::from_utf8(csv).map_err(Failure::refused)
}

fn refused(error: rooflut_sweep::Error) -> Failure {
    Failure::refused(format_args!("sweep: {error}"))
}
