//! The outputs of a command, which replace nothing that they should not.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::destination::{Destination, is_stdout, is_stream};
use crate::error::Error;
use crate::output_file::OutputFile;

/// Treatment of an existing file that is not an earlier output of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the output is refused.
    Keep,
    /// It stays without `--force`, which the message names.
    KeepUnforced,
    /// It is replaced.
    Replace,
}

impl From<bool> for Existing {
    /// Returns what `--force` asks for.
    fn from(force: bool) -> Existing {
        if force { Existing::Replace } else { Existing::KeepUnforced }
    }
}

/// Extensions that readers take for compressed data.
const COMPRESSED: [&str; 5] = ["gz", "zst", "bz2", "xz", "zip"];

/// Opens the outputs of a command.
pub struct Outputs {
    inputs: Vec<(PathBuf, &'static str)>,
    existing: Existing,
    opened: Vec<PathBuf>,
}

impl Outputs {
    /// `inputs` are files and folders of files that must not be replaced, each with its description in the message.
    pub fn new(inputs: Vec<(PathBuf, &'static str)>, existing: Existing) -> Outputs {
        let files = inputs.into_iter().flat_map(|(path, why)| {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            let inside: Vec<PathBuf> = inside.map(|entry| entry.path()).collect();
            let all = [path].into_iter().chain(inside);
            all.map(move |file| (file, why))
        });
        Outputs {
            // Pipes and devices are not replaced; opening one might wait for ever.
            inputs: files.filter(|(path, _)| path.is_file()).collect(),
            existing,
            opened: Vec::new(),
        }
    }

    /// Opens an output early, so an output that cannot be written is rejected before any work. `-` is standard output.
    ///
    /// `first_line` is the first line of an output of this kind.
    pub fn open(&mut self, path: &Path, first_line: &[u8]) -> Result<OutputFile, Error> {
        let refuse = |why: &str| Error::new(format!("{} {why}", path.display()));
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        if COMPRESSED.contains(&extension) {
            return Err(refuse(&format!(
                "names a compressed file, but outputs are not compressed; leave out .{extension}, or write to - and \
                 pipe the output into a compressor"
            )));
        }
        let mut destination = Destination::of(path)?;
        let at = destination.path().to_owned();
        if self.opened.contains(&at) {
            return Err(refuse("is named for two outputs; name another file for one of them"));
        }
        let output = match fs::metadata(&at) {
            _ if is_stdout(path) => OutputFile::stdout(path),
            Ok(other) if is_stream(&other) => OutputFile::stream(path)?,
            Ok(other) if !other.is_file() => {
                return Err(refuse("is not a regular file; name another file"));
            }
            Ok(replaced) => {
                self.check_replaced(&at, &replaced, first_line).map_err(|why| refuse(&why))?;
                OutputFile::alone(destination)?
            }
            Err(_) => {
                if self.existing == Existing::Replace {
                    destination = Destination::replacing(at.clone(), path);
                }
                OutputFile::alone(destination)?
            }
        };
        self.opened.push(at);
        Ok(output)
    }

    /// Returns why an existing file must not be replaced.
    fn check_replaced(&self, destination: &Path, replaced: &Metadata, first_line: &[u8]) -> Result<(), String> {
        let is_destination = |input| same_file::is_same_file(input, destination).unwrap_or(false);
        let mut inputs = self.inputs.iter();
        if let Some((_, why)) = inputs.find(|(input, _)| is_destination(input)) {
            return Err(format!("{why}; name another file"));
        }
        let advice = match self.existing {
            Existing::Keep => "name another path",
            Existing::KeepUnforced => "replace it with --force, or name another path",
            Existing::Replace => return Ok(()),
        };
        if replaced.permissions().readonly() {
            return Err(format!("is read-only; {advice}"));
        }
        if is_earlier_output(destination, first_line) {
            return Ok(());
        }
        Err(format!("already exists and is not an earlier output of this kind; {advice}"))
    }
}

/// Returns whether a file is empty or begins with this line.
fn is_earlier_output(path: &Path, first_line: &[u8]) -> bool {
    let mut start = Vec::new();
    let length = first_line.len() as u64;
    let read = File::open(path).and_then(|file| file.take(length).read_to_end(&mut start));
    read.is_ok() && (start.is_empty() || start == first_line)
}
