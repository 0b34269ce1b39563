//! `rooflut sweep --merge`: the files of all shards, joined.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rooflut_sweep::merge;

use crate::args::SweepArgs;
use crate::destination::{Destination, is_stdout};
use crate::error::Error;
use crate::output::{count, plural};
use crate::output_file::OutputFile;

use super::Rows;
use super::out::is_parquet;

/// Bytes of all shards that are read ahead, of each at least 1 KiB and at most 64 KiB.
const AHEAD: usize = 16 << 20;

/// Joins the shards, and returns what was written; `pictures` draws the rows, and returns what it has drawn. The rows appear
/// under their name after all else, so that a join that was interrupted is seen.
pub(super) fn run(
    args: &SweepArgs,
    shards: &[PathBuf],
    pictures: impl FnOnce((Rows<'_>, u64)) -> Result<String, Error>,
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
        return folders(shards, out, pictures);
    }
    let chunk = (AHEAD / shards.len().max(1)).clamp(1 << 10, 1 << 16);
    let opened =
        shards.iter().map(|path| Ok((path.display().to_string(), BufReader::with_capacity(chunk, open(path)?))));
    let opened = opened.collect::<Result<Vec<_>, Error>>()?;
    let mut file = match out {
        out if is_stdout(out) => OutputFile::stdout(out),
        out => OutputFile::alone(Destination::free(out, "name another path")?)?,
    };
    let count = merge(opened, |line| file.write_all(line).map_err(Error::writing(out)))?;
    let drawn = match file.written()? {
        Some(at) => pictures((Rows { name: out, at }, count))?,
        None => return file.finish().map(|()| String::new()),
    };
    file.finish()?;
    Ok(summary(out, count, &plural(shards.len() as u64, "file")) + &drawn)
}

/// Opens a shard.
fn open(path: &Path) -> Result<Box<dyn Read>, Error> {
    let file = rooflut_error::open(path).map_err(Error::reading(path))?;
    let is_file = file.metadata().map_err(Error::reading(path))?.is_file();
    Ok(if is_file { Box::new(Shard { path: path.to_owned(), read: 0 }) } else { Box::new(file) })
}

/// A file that is open only while it is read: a process may have fewer files open than a sweep has shards.
struct Shard {
    path: PathBuf,
    read: u64,
}

impl Read for Shard {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let read = file.read(to)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Joins folders of Parquet files.
#[cfg(feature = "parquet")]
fn folders(
    shards: &[PathBuf],
    out: &Path,
    pictures: impl FnOnce((Rows<'_>, u64)) -> Result<String, Error>,
) -> Result<String, Error> {
    use super::folder::{self, Whole};

    let files = shards.iter().map(|path| folder::files(path)).collect::<Result<Vec<_>, Error>>()?;
    let opened = shards.iter().zip(&files).map(|(path, files)| {
        let parts = files.iter().map(|file| folder::read(file));
        (path.display().to_string(), parts)
    });
    let whole = Whole::create(out, "name another path")?;
    let mut number = 0;
    let count = rooflut_sweep::merge_parts(opened, |part| {
        let written = folder::write(part, whole.path(), out, number);
        number += 1;
        written
    })?;
    let drawn = pictures((Rows { name: out, at: whole.path() }, count))?;
    whole.finish()?;
    Ok(summary(out, count, &plural(shards.len() as u64, "folder")) + &drawn)
}

#[cfg(not(feature = "parquet"))]
fn folders(_: &[PathBuf], _: &Path, _: impl FnOnce((Rows<'_>, u64)) -> Result<String, Error>) -> Result<String, Error> {
    Err(super::out::no_parquet())
}

fn summary(out: &Path, rows: u64, of: &str) -> String {
    format!("{}: {} rows of {of}\n", out.display(), count(rows))
}
