//! `rooflut sweep --merge`: the files of all shards, joined.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

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
    let out = args.out.as_deref().filter(|path| !is_stdout(path));
    let named = out.unwrap_or(std::path::Path::new("-"));
    let mut file = match out {
        Some(out) if out.exists() => {
            return Err(Error::new(format!(
                "{} already exists; name another path",
                out.display()
            )));
        }
        Some(out) => OutputFile::beside(out, out)?,
        None => OutputFile::stdout(named),
    };
    let rows = merge(opened, &mut file).map_err(|error| match error {
        SweepError::Io(error) => Error::writing(named)(error),
        error => super::error(error),
    })?;
    file.finish()?;
    let Some(out) = out else {
        return Ok(String::new());
    };
    let of = plural(shards.len() as u64, "file");
    let drawn = plots::draw(&args.plot, out)?;
    Ok(format!(
        "{}: {} rows of {of}\n{drawn}",
        out.display(),
        count(rows)
    ))
}
