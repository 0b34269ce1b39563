//! The grid that flags and a scenario file describe.

use std::io::{BufRead, BufReader, Read};
use std::iter;
use std::path::{Path, PathBuf};

use rooflut_error::{MAX_LINE, Whole, not_text, reading};
use rooflut_scenario::{Fleet, Kind, PATH_KEYS, Scenario, ScenarioFile};
use rooflut_sweep::{Axis, Grid, OF_ONE_RUN};
use serde_json::{Map, Value};

use crate::args::SweepArgs;
use crate::error::Error;
use crate::input;

/// The keys of a scenario file.
#[derive(Default)]
pub(super) struct FileKeys {
    path: PathBuf,
    /// Keys that no flag replaces, with their lines.
    lines: Vec<(String, u64)>,
    /// Keys that have no meaning beside the flags.
    excluded: Vec<&'static str>,
}

impl FileKeys {
    /// Adds the line of the scenario file to an error on one of its keys.
    pub(super) fn place(&self, error: Error) -> Error {
        let keys = error.keys();
        let line = keys.iter().find_map(|key| self.lines.iter().find(|(name, _)| name == key));
        match line {
            Some((_, line)) => error.placed(&self.path, *line),
            None => error,
        }
    }

    /// Returns remarks on keys of the file that change nothing.
    pub(super) fn remarks(&self) -> Vec<String> {
        let of_one_run = self.lines.iter().map(|(key, _)| key.as_str()).filter(|key| OF_ONE_RUN.contains(key));
        let of_one_run: Vec<&str> = of_one_run.collect();
        let path = self.path.display();
        let remarks = [
            (self.excluded.join(", "), "flags of the command line exclude"),
            (of_one_run.join(", "), "a sweep has only rows, and leaves out"),
        ];
        let remarks = remarks.into_iter().filter(|(keys, _)| !keys.is_empty());
        remarks.map(|(keys, what)| format!("scenario {path}: {what} {keys}")).collect()
    }
}

/// Returns the grid, or the points that are listed in a file or in `points`, of which the file is the name.
pub(super) fn grid(args: &SweepArgs, points: Option<&[u8]>) -> Result<(Grid, FileKeys), Error> {
    let (grid, keys) = combinations(args)?;
    let grid = match (points, &args.points) {
        (Some(lines), _) => listed(args, &grid, Path::new("points"), lines)?,
        (None, Some(path)) => {
            let file = rooflut_error::open(path).map_err(Error::reading(path))?;
            listed(args, &grid, path, BufReader::new(file))?
        }
        (None, None) => grid,
    };
    Ok((grid, keys))
}

/// Returns the points of JSON Lines, whose keys replace those of a grid of one point, unless they are too many.
fn listed(args: &SweepArgs, shared: &Grid, path: &Path, mut lines: impl BufRead) -> Result<Grid, Error> {
    if shared.len() > 1 {
        return Err(Error::new(format!(
            "--points: expected one value of each other flag, found {}; list the values in the points",
            shared.sizes()
        )));
    }
    let read = |line: Result<Vec<u8>, rooflut_sweep::Error>| {
        let line = line?;
        let line = str::from_utf8(&line).map_err(|_| not_text())?;
        let point: serde_json::Result<Map<String, Value>> = serde_json::from_str(line);
        point.map_err(|error| expected(&format!("a JSON object such as {{\"tp\": 2}}: {error}")))
    };
    let mut lines = iter::from_fn(move || {
        let mut line = Vec::new();
        match lines.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line) {
            Err(error) => Some(Err(reading(path)(error))),
            Ok(_) if line.len() as u64 > MAX_LINE => Some(Err(expected("a line of at most 1 MiB, found a longer one"))),
            Ok(read) => (read > 0).then_some(Ok(line)),
        }
    });
    let first = lines.next().ok_or_else(|| expected("a point on each line, found none"));
    let first = first.and_then(read).map_err(|error| error.at_line(1).in_file(path))?;
    let keys: Vec<String> = first.keys().cloned().collect();
    let points = [Ok(first)].into_iter().chain(lines.map(read)).map(|point| {
        let point = point?;
        let values: Option<Vec<Value>> = keys.iter().map(|key| point.get(key).cloned()).collect();
        values.filter(|values| values.len() == point.len()).ok_or_else(|| {
            let found: Vec<&str> = point.keys().map(String::as_str).collect();
            expected(&format!("the keys of the first point ({}), found {}", keys.join(", "), found.join(", ")))
        })
    });
    if let Some((key, _)) = args.lists.0.iter().find(|(key, _)| keys.contains(key)) {
        let flag = key.replace('_', "-");
        return Err(Error::new(format!(
            "--points: expected points without the key {key}, since --{flag} is given; leave one out"
        )));
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let max_points = args.shard.max_grid(args.max_points);
    Grid::of_points(shared.base(), &keys, points, max_points).map_err(|error| error.in_file(path).into())
}

fn expected(text: &str) -> rooflut_sweep::Error {
    rooflut_sweep::Error::new(Kind::Contents, format!("expected {text}; correct it"))
}

/// Returns all combinations; flags replace keys of the file.
fn combinations(args: &SweepArgs) -> Result<(Grid, FileKeys), Error> {
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
    let mut excluded = file.remove_replaced(&given?).map_err(in_file)?;
    let is_given = |key: &str| args.lists.0.iter().any(|(given, _)| given == key);
    excluded.retain(|key| !is_given(key));
    let mut lines: Vec<(String, u64)> = file.keys().map(|(key, line)| (key.to_owned(), line)).collect();
    let lists = lists.iter().filter(|list| !is_given(&list.key)).map(|list| {
        lines.push((list.key.clone(), list.line));
        let axis = Axis::of_file(list);
        axis.map_err(|error| in_file(error.at_line(list.line)))
    });
    let mut all = lists.collect::<Result<Vec<_>, Error>>()?;
    let keys = FileKeys { path: path.clone(), lines, excluded };
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
