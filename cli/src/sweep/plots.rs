//! Charts of a sweep.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use rooflut_sweep::Plot;

use crate::error::Error;
use crate::outputs::{Existing, Outputs};

/// The first line of a chart, by which it is recognised.
const FIRST_LINE: &[u8] = b"<!-- rooflut sweep -->\n";

/// Draws the charts of a CSV file beside it, and returns their paths as lines.
pub(super) fn draw(plots: &[Plot], csv: &Path) -> Result<String, Error> {
    let mut outputs = Outputs::new(Vec::new(), Existing::Keep);
    let mut written = String::new();
    for plot in plots {
        let rows = File::open(csv).map_err(Error::reading(csv))?;
        let drawn = plot.draw(BufReader::new(rows));
        let text = drawn.map_err(|error| Error::new(format!("--plot: {error}")))?;
        let path = path(plot, csv);
        let mut file = outputs.open(&path, FIRST_LINE)?;
        file.write_all(FIRST_LINE)
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(Error::writing(&path))?;
        file.finish()?;
        written += &format!("{}\n", path.display());
    }
    Ok(written)
}

/// `sweep.ttft_p99-rate.svg` for `sweep.csv`.
fn path(plot: &Plot, csv: &Path) -> PathBuf {
    csv.with_extension(format!("{}-{}.svg", plot.y, plot.x))
}
