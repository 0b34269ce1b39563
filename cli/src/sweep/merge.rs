//! `rooflut sweep --merge`: the files of all shards, joined.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use rooflut_sweep::merge;

use crate::args::SweepArgs;
use crate::error::Error;
use crate::output::{count, plural};
use crate::output_file::OutputFile;
use crate::outputs::is_stdout;

use super::out::is_parquet;

/// Joins the shards, and returns what was written; `pictures` draws the rows, and returns what it has drawn.
pub(super) fn run(
    args: &SweepArgs,
    shards: &[PathBuf],
    pictures: impl FnOnce((&Path, u64)) -> Result<String, Error>,
) -> Result<String, Error> {
    if args.path.is_some() || !args.lists.0.is_empty() {
        return Err(Error::new("--merge takes the files of shards alone; leave the flags of the scenario out"));
    }
    // clap requires it.
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    let parquet = is_parquet(out);
    if let Some(other) = shards.iter().find(|shard| is_parquet(shard) != parquet) {
        return Err(Error::new(format!(
            "--merge: expected shards of the format of --out, found {} for {}; CSV files join to a CSV file, folders \
             NAME.parquet to another one",
            other.display(),
            out.display()
        )));
    }
    if parquet {
        let rows = folders(shards, out)?;
        return Ok(summary(out, rows, &plural(shards.len() as u64, "folder")) + &pictures((out, rows))?);
    }
    let opened = shards
        .iter()
        .map(|path| {
            let file = rooflut_error::open(path).map_err(Error::reading(path))?;
            Ok((path.display().to_string(), BufReader::new(file)))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let mut file = match out {
        out if is_stdout(out) => OutputFile::stdout(out),
        out if out.exists() => {
            return Err(Error::new(format!("{} already exists; name another path", out.display())));
        }
        out => OutputFile::alone(out, out)?,
    };
    let rows = merge(opened, |line| file.write_all(line).map_err(Error::writing(out)))?;
    file.finish()?;
    if is_stdout(out) {
        return Ok(String::new());
    }
    Ok(summary(out, rows, &plural(shards.len() as u64, "file")) + &pictures((out, rows))?)
}

/// Joins folders of Parquet files, and returns the number of rows.
#[cfg(feature = "parquet")]
fn folders(shards: &[PathBuf], out: &Path) -> Result<u64, Error> {
    use super::folder;

    let files = shards.iter().map(|path| folder::files(path)).collect::<Result<Vec<_>, Error>>()?;
    let opened = shards.iter().zip(&files).map(|(path, files)| {
        let parts = files.iter().map(|file| folder::read(file));
        (path.display().to_string(), parts)
    });
    let whole = folder::Whole::create(out)?;
    let mut number = 0;
    let rows = rooflut_sweep::merge_parts(opened, |part| {
        let written = folder::write(part, &whole.path(), out, number);
        number += 1;
        written
    })?;
    whole.finish(out)?;
    Ok(rows)
}

#[cfg(not(feature = "parquet"))]
fn folders(_: &[PathBuf], _: &Path) -> Result<u64, Error> {
    Err(super::out::no_parquet())
}

fn summary(out: &Path, rows: u64, of: &str) -> String {
    format!("{}: {} rows of {of}\n", out.display(), count(rows))
}
