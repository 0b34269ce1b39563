//! Reports as HTML, beside the answer of a command.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rooflut_html::{Document, FIRST_LINE, Input};
use rooflut_scenario::shell_quoted;

use crate::destination::is_stdout;
use crate::error::Error;
use crate::output::{Answered, print_aside};
use crate::output_file::OutputFile;
use crate::outputs::{Existing, Outputs};

/// The flag of commands that also write a report.
#[derive(Args, Default)]
pub struct HtmlArgs {
    /// Also write a report with charts: one HTML file that opens offline. An earlier report is replaced.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
}

impl HtmlArgs {
    /// Opens the report of a command. It replaces nothing but an earlier report, so none of the files that are read.
    ///
    /// # Errors
    /// As of [`Outputs::open`].
    pub fn open(&self) -> Result<Option<HtmlFile>, Error> {
        HtmlFile::open(self.html.as_deref(), &mut Outputs::new(Vec::new(), Existing::Keep))
    }
}

/// A report that is being written, opened before the work that it shows.
pub struct HtmlFile {
    path: PathBuf,
    file: OutputFile,
}

impl HtmlFile {
    /// Opens the report that is asked for, if one is.
    ///
    /// # Errors
    /// As of [`Outputs::open`].
    pub fn open(path: Option<&Path>, outputs: &mut Outputs) -> Result<Option<HtmlFile>, Error> {
        path.map(|path| HtmlFile::at(path, outputs)).transpose()
    }

    pub(crate) fn at(path: &Path, outputs: &mut Outputs) -> Result<HtmlFile, Error> {
        Ok(HtmlFile { path: path.to_owned(), file: outputs.open(path, FIRST_LINE.as_bytes())? })
    }

    /// Writes the report of `inputs`.
    ///
    /// # Errors
    /// A failure to write.
    pub fn write(mut self, inputs: Vec<Input>, command: &str) -> Result<(), Error> {
        let document = Document::new(inputs).with_command(command);
        document.write(&mut self.file).and_then(|()| self.file.flush()).map_err(Error::writing(&self.path))?;
        self.file.finish()
    }

    /// Writes the report of an answer, and returns what is left to print: `text` goes to standard error where the report
    /// goes to standard output.
    ///
    /// # Errors
    /// A failure to write.
    pub fn of_answer(
        file: Option<HtmlFile>,
        answer: Answered,
        name: &str,
        json: impl FnOnce() -> Result<String, Error>,
        command: &str,
    ) -> Result<Answered, Error> {
        let Some(file) = file else {
            return Ok(answer);
        };
        let is_stdout = is_stdout(&file.path);
        file.write(vec![input(name, &json()?)?], command)?;
        let text = if is_stdout { print_aside(answer.text) } else { answer.text };
        Ok(Answered { text, ..answer })
    }
}

/// Returns an answer as an input of a report.
///
/// # Errors
/// An answer that reports do not show.
pub fn input(name: &str, json: &str) -> Result<Input, Error> {
    Ok(Input::read(name, json.as_bytes())?)
}

/// Returns a command line as a shell reads it, under the name of the program.
pub fn command_line(arguments: &[OsString], program: &str) -> String {
    let words = arguments.iter().skip(1).map(|word| shell_quoted(&word.to_string_lossy()));
    [program.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
