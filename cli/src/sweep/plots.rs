//! Charts of a sweep.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use rooflut_sweep::{Plot, Sweep};

use crate::error::Error;
use crate::outputs::{Existing, Outputs};

use super::Rows;

/// The first line of a chart, by which it is recognised.
const FIRST_LINE: &[u8] = b"<!-- rooflut sweep -->\n";

/// Checks that a sweep has the columns of all charts.
pub(super) fn check(plots: &[Plot], sweep: &Sweep<'_>) -> Result<(), Error> {
    plots.iter().try_for_each(|plot| plot.check(sweep).map_err(|error| flagged("--plot", error)))
}

/// Draws the charts of a sweep's rows beside them, and returns their paths as lines.
pub(super) fn draw(plots: &[Plot], rows: Rows<'_>) -> Result<String, Error> {
    let mut outputs = Outputs::new(Vec::new(), Existing::Keep);
    let mut written = String::new();
    for plot in plots {
        let text = plot.draw(csv(rows)?).map_err(error_of("--plot", rows))?;
        let path = path(plot, rows.name);
        let mut file = outputs.open(&path, FIRST_LINE)?;
        file.write_all(FIRST_LINE).and_then(|()| file.write_all(text.as_bytes())).map_err(Error::writing(&path))?;
        file.finish()?;
        written += &format!("{}\n", path.display());
    }
    Ok(written)
}

/// Returns the rows of a sweep as CSV.
pub(super) fn csv(rows: Rows<'_>) -> Result<Box<dyn Read>, Error> {
    #[cfg(feature = "parquet")]
    if super::out::is_parquet(rows.name) {
        let files = super::folder::files(rows.at)?;
        let parts = files.into_iter().map(|file| super::folder::read(&file));
        return Ok(Box::new(rooflut_sweep::csv_of_parts(parts)));
    }
    let file = rooflut_error::open(rows.at).map_err(Error::reading(rows.name))?;
    Ok(Box::new(BufReader::new(file)))
}

/// `sweep.ttft_p99-rate.svg` for `sweep.csv`.
fn path(plot: &Plot, sweep: &Path) -> PathBuf {
    sweep.with_extension(format!("{}-{}.svg", plot.y, plot.x))
}

/// Adds the file of the rows to an error of a line of it, and the flag to another one.
pub(super) fn error_of(flag: &str, rows: Rows<'_>) -> impl Fn(rooflut_sweep::Error) -> Error {
    move |error| match error.line() {
        Some(_) => error.in_file(rows.name).into(),
        None => flagged(flag, error),
    }
}

fn flagged(flag: &str, error: rooflut_sweep::Error) -> Error {
    error.map(|text| format!("{flag}: {text}")).into()
}
