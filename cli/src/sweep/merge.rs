//! `rooflut sweep --merge`: the files of all shards, joined.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use rooflut_sweep::{SweepError, merge};

use crate::args::SweepArgs;
use crate::error::Error;
use crate::output::{count, plural};
use crate::output_file::OutputFile;
use crate::outputs::is_stdout;

use super::plots;

/// Joins the shards, and returns what was written.
pub(super) fn run(args: &SweepArgs, shards: &[PathBuf]) -> Result<String, Error> {
    if args.path.is_some() || !args.lists.0.is_empty() {
        return Err(Error::new(
            "--merge takes the files of shards alone; leave the flags of the scenario out",
        ));
    }
    let opened = shards.iter().map(|path| {
        let file = File::open(path).map_err(Error::reading(path))?;
        Ok((path.display().to_string(), BufReader::new(file)))
    });
    let opened = opened.collect::<Result<Vec<_>, Error>>()?;
    // clap requires it.
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    let mut file = match out {
        out if is_stdout(out) => OutputFile::stdout(out),
        out if out.exists() => {
            return Err(Error::new(format!(
                "{} already exists; name another path",
                out.display()
            )));
        }
        out => OutputFile::beside(out, out)?,
    };
    let rows = merge(opened, &mut file).map_err(|error| match error {
        SweepError::Io(error) => Error::writing(out)(error),
        error => super::error(error),
    })?;
    file.finish()?;
    if is_stdout(out) {
        return Ok(String::new());
    }
    let of = plural(shards.len() as u64, "file");
    let drawn = plots::draw(&args.plot, out)?;
    Ok(format!(
        "{}: {} rows of {of}\n{drawn}",
        out.display(),
        count(rows)
    ))
}
