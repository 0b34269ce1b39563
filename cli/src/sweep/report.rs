//! `rooflut sweep --html`: the rows as a report.

use std::io::BufReader;

use rooflut_html::Input;

use crate::args::SweepArgs;
use crate::error::Error;
use crate::html::HtmlFile;
use crate::outputs::{Existing, Outputs};

use super::Rows;
use super::plots::csv;

/// Opens the report that is asked for, before the rows are simulated.
pub(super) fn open(args: &SweepArgs) -> Result<Option<HtmlFile>, Error> {
    if args.html.is_some() && args.html == args.out {
        return Err(Error::new("--html and --out name the same file; name another one for the report"));
    }
    HtmlFile::open(args.html.as_deref(), &mut Outputs::new(Vec::new(), Existing::Keep))
}

/// Writes the report of the rows.
pub(super) fn write(report: HtmlFile, rows: Rows<'_>, command: &str) -> Result<(), Error> {
    let read = Input::read(&rows.name.display().to_string(), BufReader::new(csv(rows)?));
    let input = read.map_err(|error| error.in_file(rows.name))?;
    report.write(vec![input], command)
}
