//! `rooflut sweep`: a grid of deployments and loads.

mod file;
#[cfg(feature = "parquet")]
mod folder;
mod grid;
mod merge;
mod out;
mod pareto;
mod plots;
mod progress;
mod report;
mod submit;
mod units;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rooflut::table::TableSet;
use rooflut_error::key;
use rooflut_scenario::{Kind, Scenario};
use rooflut_sweep::{Grid, Named, Sources, Sweep};

use crate::args::SweepArgs;
use crate::destination::is_stdout;
use crate::error::Error;
use crate::host::Host;
use crate::html::HtmlFile;
use crate::input;
use crate::model_source;
use crate::output::{Answered, count, plural, print_aside, warnings};
use crate::table_set::{self, WhichSet};
use crate::temporary;
use crate::version::version;

use out::{Ended, SweepOut};
use progress::Progress;
pub use units::{SweepUnits, UnitRows, UnitsOut, sweep_csv};

/// Column of the text after its label.
const INDENT: usize = 12;

/// Simulates a grid, or joins the files of its shards, and answers with what was written. Rows without a file go to
/// standard output.
pub(crate) fn run(args: &SweepArgs, host: Host<'_>) -> Result<Answered, Error> {
    let is_drawn = args.pareto || args.html.is_some() || !args.plot.is_empty();
    if is_drawn && args.out.as_deref().is_some_and(is_stdout) {
        return Err(Error::new(
            "--out: expected a file, whose rows are drawn, found standard output; name the file, or leave out --plot, \
             --pareto and --html",
        ));
    }
    let report = if args.submit.is_none() { report::open(args)? } else { None };
    let text = match args.merge.as_slice() {
        [] => sweep(args, host, report)?,
        shards => merge::run(args, shards, |rows| pictures(args, rows, report, &host.command))?,
    };
    let is_aside = args.html.as_deref().is_some_and(is_stdout);
    Ok(if is_aside { print_aside(text) } else { text }.into())
}

fn sweep(args: &SweepArgs, host: Host<'_>, report: Option<HtmlFile>) -> Result<String, Error> {
    let command = host.command;
    let (grid, keys) = grid::grid(args, None)?;
    let sweep = found(grid).map_err(|error| keys.place(error))?.stopped_by(host.stop);
    let threads = args.threads();
    sweep.check_size(args.shard, args.max_points, (threads, "thread"))?;
    let points = args.shard.len(sweep.grid().len());
    plots::check(&args.plot, &sweep)?;
    if args.submit.is_some() {
        return submit::run(args, &sweep);
    }
    let mut out = SweepOut::open(args, &sweep, host.stdout)?;
    let done = out.done();
    // A bar would stand in the same lines as rows on a terminal.
    let file = args.out.as_deref().filter(|path| !is_stdout(path));
    let shows_bar = host.shows_progress && (file.is_some() || !io::stdout().is_terminal());
    let mut progress = Progress::new(points, done, args.progress, shows_bar);
    let threads = threads.min(usize::try_from(points).unwrap_or(threads));
    let saved = Arc::new(AtomicU64::new(done));
    let kept = {
        let saved = Arc::clone(&saved);
        move || {
            let (rows, all) = (count(saved.load(Ordering::Relaxed)), plural(points, "row"));
            format!("{rows} of {all} written; go on with the same command and --resume")
        }
    };
    let _said = file.map(|path| {
        let (path, kept) = (path.display().to_string(), kept.clone());
        temporary::say_on_signals(move || format!("{path}: {}", kept()))
    });
    let (mut failed, mut rows) = (0_u64, done);
    let written = sweep.rows(args.shard, done, threads, |row| {
        failed += u64::from(row.has_error());
        out.push(row)?;
        rows += 1;
        saved.store(rows - out.unsaved(), Ordering::Relaxed);
        progress.add();
        Ok(())
    });
    drop(progress);
    // A disk that is full leaves whole rows.
    let written = written.map_err(|ended| match ended {
        Ended::Failed(error) if file.is_some() && error.kind() == Kind::Io => {
            let kept = || Error::of(Kind::Io, format!("{error}; {}", kept()));
            Ended::Failed(out.check().err().unwrap_or_else(kept))
        }
        ended => ended,
    });
    match written.and_then(|()| Ok(out.finish()?)) {
        Ok(()) | Err(Ended::ReaderLeft) => (),
        Err(Ended::Failed(error)) => return Err(error),
    }
    let remarks = warnings(INDENT, keys.remarks().into_iter().chain(sweep.remarks()));
    let Some(path) = file else {
        return Ok(print_aside(remarks));
    };
    Ok(summary(path, points, done, failed)
        + &remarks
        + &pictures(args, (Rows { name: path, at: path }, points), report, &command)?)
}

/// Returns the keys that name files which other processes read as well, and their paths.
///
/// # Errors
/// Standard input, or a pipe, which they do not have.
fn shared_files<'a>(args: &'a SweepArgs, sweep: &'a Sweep<'_>) -> Result<Vec<(&'static str, &'a Path)>, Error> {
    let own = [("scenario", &args.path), ("points", &args.points)].into_iter();
    let own = own.filter_map(|(name, path)| Some((name, path.as_deref()?)));
    let files: Vec<(&str, &Path)> = own.chain(sweep.inputs()).collect();
    let is_own = |path: &Path| is_stdout(path) || path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir());
    match files.iter().find(|(_, path)| is_own(path)) {
        None => Ok(files),
        Some((name, path)) => {
            let (setting, path) = (key(name), path.display());
            Err(Error::new(format!(
                "{setting}: expected a file that other processes can read, too, found {path}; write it to a file"
            )))
        }
    }
}

/// Finds what the scenarios of a grid name.
fn found(grid: Grid) -> Result<Sweep<'static>, Error> {
    let sets = ReadSets::default();
    let find = move |scenario: &Scenario| Ok(named(scenario, &sets)?);
    let sources = Sources { find: Arc::new(find), open: Arc::new(input::open) };
    Ok(Sweep::try_new(grid, sources, &version())?)
}

/// Rows of a sweep that are written.
#[derive(Clone, Copy)]
struct Rows<'p> {
    /// The path that they have in the end, by which errors, charts and reports name them.
    name: &'p Path,
    /// The file or folder that they are in.
    at: &'p Path,
}

/// Draws the charts of the rows and writes their report, and returns the paths of the charts and the Pareto front, as they
/// are asked for.
fn pictures(
    args: &SweepArgs,
    (rows, count): (Rows<'_>, u64),
    report: Option<HtmlFile>,
    command: &str,
) -> Result<String, Error> {
    let is_asked = args.pareto || !args.plot.is_empty();
    if let Some(report) = report {
        report::write(report, rows, command)?;
    }
    let drawn = if count > 0 { plots::draw(&args.plot, rows)? } else { String::new() };
    Ok(match count {
        // A shard of a small grid may have no rows.
        0 if is_asked => "nothing to draw: there are no rows\n".to_owned(),
        1.. if args.pareto => drawn + &pareto::text(rows)?,
        _ => drawn,
    })
}

/// `sweep.csv: 600 deployments simulated, 12 with an error; 1000 rows`.
fn summary(out: &Path, points: u64, done: u64, failed: u64) -> String {
    let mut text = format!("{}: {} simulated", out.display(), plural(points - done, "deployment"));
    if failed > 0 {
        text += &format!(", {} with an error", count(failed));
    }
    if done > 0 {
        text += &format!("; {}", plural(points, "row"));
    }
    text + "\n"
}

/// Sets at a path, which are read once.
pub(crate) type ReadSets = Mutex<Vec<(PathBuf, TableSet)>>;

/// Finds what a scenario names.
pub(crate) fn named(scenario: &Scenario, sets: &ReadSets) -> Result<Named, Error> {
    let target = &scenario.target;
    let model =
        model_source::find(target.model(), model_source::options(target)).map_err(|error| error.about("model"))?;
    let find_draft = |name| model_source::find(name, model_source::draft_options(target));
    let draft =
        scenario.server.draft_model().map(find_draft).transpose().map_err(|error| error.about("draft_model"))?;
    let models: Vec<_> = [&model].into_iter().chain(&draft).collect();
    model_source::check(target, &models)?;
    Ok(Named {
        draft_model: draft.as_ref().map(|draft| draft.model.clone()),
        tables: match table_set::of(target) {
            WhichSet::At(path) => read_once(path, sets)?,
            named => table_set::find(named)?,
        },
        model: model.model,
    })
}

fn read_once(path: &Path, sets: &ReadSets) -> Result<TableSet, Error> {
    let mut read = sets.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, set)) = read.iter().find(|(of, _)| of == path) {
        return Ok(set.clone());
    }
    let set = table_set::find(WhichSet::At(path))?;
    read.push((path.to_owned(), set.clone()));
    Ok(set)
}
