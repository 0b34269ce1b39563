//! The grid that flags and a scenario file describe.

use std::path::PathBuf;

use rooflut_error::Whole;
use rooflut_scenario::{Fleet, PATH_KEYS, Scenario, ScenarioFile};
use rooflut_sweep::{Axis, Grid};
use serde_json::Value;

use crate::args::SweepArgs;
use crate::error::Error;
use crate::input;

/// The keys of a scenario file that no flag replaces, with their lines.
#[derive(Default)]
pub(super) struct FileKeys {
    path: PathBuf,
    lines: Vec<(String, u64)>,
}

impl FileKeys {
    /// Adds the line of the scenario file to an error on one of its keys.
    pub(super) fn place(&self, error: Error) -> Error {
        let keys = error.keys();
        let line = keys.iter().find_map(|key| self.lines.iter().find(|(name, _)| name == key));
        match line {
            Some((_, line)) => Error::in_file(&self.path, Some(*line), error.in_keys()),
            None => error,
        }
    }
}

/// Returns the grid; flags replace keys of the file.
pub(super) fn grid(args: &SweepArgs) -> Result<(Grid, FileKeys), Error> {
    let axes = args.lists.0.iter().map(|(key, texts)| axis(key, texts)).collect::<Result<Vec<_>, Error>>()?;
    args.untrusted.check_use(args.path.as_deref())?;
    let Some(path) = &args.path else {
        return Ok((Grid::try_new(&Scenario::default(), axes)?, FileKeys::default()));
    };
    let bytes = input::read(path, Whole::Scenario).map_err(Error::reading(path))?;
    let in_file = |error: rooflut_sweep::Error| Error::new(error.in_file(path));
    let (mut file, lists) = ScenarioFile::read_with_lists(&bytes).map_err(in_file)?;
    // All that matters is which keys the flags give.
    let given = Grid::try_new(&Scenario::default(), axes.clone()).and_then(|grid| grid.scenario(0));
    file.remove_replaced(&given?).map_err(in_file)?;
    let is_given = |key: &str| args.lists.0.iter().any(|(given, _)| given == key);
    let mut lines: Vec<(String, u64)> = file.keys().map(|(key, line)| (key.to_owned(), line)).collect();
    let lists = lists.iter().filter(|list| !is_given(&list.key)).map(|list| {
        lines.push((list.key.clone(), list.line));
        let axis = Axis::of_file(list);
        axis.map_err(|error| in_file(error.at_line(list.line)))
    });
    let mut all = lists.collect::<Result<Vec<_>, Error>>()?;
    let keys = FileKeys { path: path.clone(), lines };
    args.untrusted.check_file(path, &file)?;
    for axis in all.iter().filter(|axis| PATH_KEYS.contains(&axis.key())) {
        let grid = Grid::try_new(&Scenario::default(), vec![axis.clone()])?;
        for index in 0..grid.len() {
            args.untrusted.check(path, &grid.scenario(index)?).map_err(|error| keys.place(error))?;
        }
    }
    all.extend(axes);
    Ok((Grid::try_new(file.scenario(), all)?, keys))
}

/// Returns the fleets of files.
fn fleets(paths: &[String]) -> Result<Vec<Value>, Error> {
    let fleet = |path: &String| {
        let fleet = Fleet::open(path).map_err(|error| Error::from(error).about("fleet"))?;
        Ok(serde_json::to_value(fleet)?)
    };
    paths.iter().map(fleet).collect()
}

/// Returns the values of a flag: limits and settings of servers belong together as they are given; conditions, prices
/// and servers that are lost all together.
fn axis(key: &str, texts: &[Vec<String>]) -> Result<Axis, Error> {
    let list = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect();
    Ok(match key {
        "goodput" | "prefill" | "decode" => Axis::try_new(key, texts.iter().map(|texts| list(texts))),
        "fleet" => Axis::try_new(key, fleets(&texts.concat())?),
        "where" | "price" | "lose" => Axis::try_new(key, [list(&texts.concat())]),
        _ => Axis::read(key, texts.iter().flatten().map(String::as_str)),
    }?)
}
