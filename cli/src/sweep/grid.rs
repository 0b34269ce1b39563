//! The grid that flags and a scenario file describe.

use rooflut_scenario::{Scenario, ScenarioError, ScenarioFile};
use rooflut_sweep::{Axis, Grid};
use serde_json::Value;

use crate::args::SweepArgs;
use crate::error::Error;
use crate::input;

/// Returns the grid; flags replace keys of the file.
pub(super) fn grid(args: &SweepArgs) -> Result<Grid, Error> {
    let axes = args.lists.0.iter().map(|(key, texts)| axis(key, texts)).collect::<Result<Vec<_>, Error>>()?;
    let Some(path) = &args.path else {
        return Grid::try_new(&Scenario::default(), axes).map_err(super::error);
    };
    let bytes = input::read(path).map_err(Error::reading(path))?;
    let in_file = |error: ScenarioError| Error::in_file(path, error.line, &error.problem);
    let (mut file, lists) = ScenarioFile::read_with_lists(&bytes).map_err(in_file)?;
    // All that matters is which keys the flags give.
    let given = Grid::try_new(&Scenario::default(), axes.clone()).and_then(|grid| grid.scenario(0));
    file.remove_replaced(&given.map_err(super::error)?).map_err(in_file)?;
    let is_given = |key: &str| args.lists.0.iter().any(|(given, _)| given == key);
    let lists = lists.iter().filter(|list| !is_given(&list.key)).map(|list| {
        let axis = Axis::of_file(list);
        axis.map_err(|error| Error::in_file(path, Some(list.line), error))
    });
    let mut all = lists.collect::<Result<Vec<_>, Error>>()?;
    all.extend(axes);
    Grid::try_new(file.scenario(), all).map_err(super::error)
}

/// Returns the values of a flag: limits belong together as they are given, conditions all together.
fn axis(key: &str, texts: &[Vec<String>]) -> Result<Axis, Error> {
    let list = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect();
    let axis = match key {
        "goodput" => Axis::try_new(key, texts.iter().map(|texts| list(texts))),
        "where" => Axis::try_new(key, [list(&texts.concat())]),
        _ => Axis::read(key, texts.iter().flatten().map(String::as_str)),
    };
    axis.map_err(super::error)
}
