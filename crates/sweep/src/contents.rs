//! The contents of the files that a grid names.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rooflut_codegen::set_files;
use rooflut_error::{key, reading};
use rooflut_scenario::{Error, Kind, PATH_KEYS, Scenario, model_files};
use rooflut_traces::Input;

use crate::fnv::Fnv;
use crate::grid::Grid;

/// A function that opens a file.
pub type Open<'s> = dyn Fn(&Path) -> io::Result<Input> + Send + Sync + 's;

/// The path that stands for standard input, which is copied when it is read first.
const STDIN: &str = "-";

/// The files that the rows of a grid depend on, by the keys and paths that name them, as they were when it was read.
pub(crate) struct Contents {
    named: BTreeMap<(&'static str, PathBuf), Vec<Seen>>,
}

/// A file, and its length and the time of its last change; neither where there is none.
struct Seen {
    path: PathBuf,
    state: State,
}

type State = Option<(u64, Option<SystemTime>)>;

impl Contents {
    /// Finds the files that a grid names.
    ///
    /// # Errors
    /// A pipe or a device, which another run, or another point, would read otherwise.
    pub(crate) fn of(grid: &Grid) -> Result<Contents, Error> {
        let mut inputs = grid.base().inputs();
        for (number, axis) in grid.axes().iter().enumerate().filter(|(_, axis)| PATH_KEYS.contains(&axis.key())) {
            for index in grid.first_named(number) {
                let scenario = grid.scenario(index)?;
                inputs.extend(scenario.inputs().into_iter().filter(|(key, _)| *key == axis.key()));
            }
        }
        let mut named = BTreeMap::new();
        for (key, path) in inputs {
            let seen = files(key, &path).into_iter().map(|path| Seen::of(key, path)).collect::<Result<_, _>>()?;
            named.insert((key, path), seen);
        }
        Ok(Contents { named })
    }

    /// The keys that name files, and their paths.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.named.keys().map(|(key, path)| (*key, path.as_path()))
    }

    /// Returns a hash of the contents, so that rows before a change of a file differ from those after it.
    ///
    /// # Errors
    /// A file that cannot be read, or that has changed.
    pub(crate) fn hash(&self, open: &Open<'_>) -> Result<String, Error> {
        let mut hash = Fnv::default();
        for seen in self.named.values().flatten().filter(|seen| seen.state.is_some() || seen.is_stdin()) {
            let copy = open(&seen.path).and_then(|input| io::copy(&mut input.reader()?, &mut hash));
            hash.add(&copy.map_err(reading(&seen.path))?.to_le_bytes());
            seen.check()?;
        }
        Ok(format!("{:016x}", hash.finish()))
    }

    /// Checks that the files of a scenario of the grid are as they were.
    ///
    /// # Errors
    /// The first one that has changed.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Error> {
        if self.named.is_empty() {
            return Ok(());
        }
        let inputs = scenario.inputs();
        inputs.iter().filter_map(|input| self.named.get(input)).flatten().try_for_each(Seen::check)
    }
}

impl Seen {
    fn of(key_of: &str, path: PathBuf) -> Result<Seen, Error> {
        if path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir()) {
            let key = key(key_of);
            let text = format!(
                "{key}: expected a file, which can be read again, found {}, a pipe or a device; write it to a file",
                path.display()
            );
            return Err(Error::new(Kind::Value, text));
        }
        let state = state(&path);
        Ok(Seen { path, state })
    }

    fn is_stdin(&self) -> bool {
        self.path == Path::new(STDIN)
    }

    fn check(&self) -> Result<(), Error> {
        if state(&self.path) == self.state {
            return Ok(());
        }
        let text = "expected the file as it was when the sweep began, found that it has changed; put it back and use \
                    --resume, or run the sweep again";
        Err(Error::new(Kind::Contents, text).in_file(&self.path))
    }
}

/// The state of a file; none of a folder or of nothing.
fn state(path: &Path) -> State {
    let file = path.metadata().ok().filter(|file| file.is_file())?;
    Some((file.len(), file.modified().ok()))
}

/// Returns the files that are read for the path of a key.
fn files(key: &str, path: &Path) -> Vec<PathBuf> {
    match (key, path.to_str()) {
        ("model" | "draft_model", Some(name)) => model_files(name).map_or_else(Vec::new, Vec::from),
        // A data sheet of a pool is a set of one file here.
        ("tables" | "prefill" | "decode" | "fleet", _) if path.is_file() || path.is_dir() => set_files(path),
        _ => vec![path.to_owned()],
    }
}
