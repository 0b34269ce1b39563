//! Pictures of families of rows: measurements, their efficiency, and the roofline.

mod heat;
mod names;
mod notes;
mod roofline;
mod style;

use std::io::{self, Write as _};
use std::path::Path;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend, WHITE};

use crate::error::Error;
use crate::output_file::OutputFile;
use heat::Heat;
use rooflut_inspect::Dips;
use rooflut_inspect::Outlier;
use rooflut_inspect::{Family, Inspection};
use style::{MARGIN, Size, Words};

/// A part of the picture, in pixels from its upper left corner.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The width of a picture, pixels.
const WIDTH: u32 = 1120;

/// Why a picture cannot be drawn.
pub(crate) type DrawingError = DrawingAreaErrorKind<io::Error>;

/// Writes a picture to the `file` at `path`, after the line by which pictures of its kind are recognised.
pub(crate) fn write(
    file: &mut OutputFile,
    path: &Path,
    first_line: &[u8],
    picture: Result<String, DrawingError>,
) -> Result<(), Error> {
    let text = picture.map_err(|error| Error::new(format!("cannot draw: {error}")))?;
    file.write_all(first_line).and_then(|()| file.write_all(text.as_bytes())).map_err(Error::writing(path))
}

/// Draws a family as SVG: a cell for each row with its efficiency (and one for each hole of the grid), the
/// rows and the roofline, and the findings, marked in both. The same rows give the same bytes.
///
/// # Errors
/// Errors of the drawing library; drawing into memory should give none.
pub(crate) fn picture(
    inspection: &Inspection,
    family: &Family,
    outliers: &[Outlier],
    dips: &[Dips],
) -> Result<String, DrawingError> {
    let heat = Heat::new(family, outliers, dips);
    let header = header(inspection, family);
    let notes = notes::lines(family, outliers, dips);
    let heights = [Words::height(&header), heat.height(), roofline::HEIGHT, Words::height(&notes) + MARGIN];
    let mut text = String::new();
    {
        let size = (WIDTH, heights.iter().sum());
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        let [first, second, third, _] = heights;
        let (area, rest) = root.split_vertically(first);
        Words::draw(&area, &header)?;
        let (area, rest) = rest.split_vertically(second);
        heat.draw(&area)?;
        let (area, rest) = rest.split_vertically(third);
        roofline::draw(&area, &inspection.set, family, outliers)?;
        Words::draw(&rest, &notes)?;
        root.present()?;
    }
    Ok(text)
}

/// Returns the heading: the family, the set and its source.
fn header(inspection: &Inspection, family: &Family) -> Vec<Words> {
    let set = &inspection.set;
    let title = format!("{}: {} on {}", set.name(), family.name, set.gpu().description);
    let origin = format!(
        "{} rows. {}. {}. Measured by {}, {}.",
        family.rows.len(),
        set.origin().engine,
        set.origin().timing,
        set.origin().source,
        set.origin().date
    );
    let mut words = vec![Words::new(Size::Title, title)];
    words.extend(Words::folded(Size::Text, &origin));
    words
}

#[cfg(test)]
mod tests {
    use rooflut::table::sets;
    use rooflut_inspect::{DIP, dips, outliers};

    use super::*;

    #[test]
    fn a_picture_has_the_same_bytes_each_time_and_names_what_it_shows() {
        let inspection = Inspection::of(&sets::H100);
        for family in &inspection.families {
            let draw = || {
                let outliers = outliers(family);
                let dips = dips(family, &outliers, DIP);
                picture(&inspection, family, &outliers, &dips).unwrap()
            };
            let svg = draw();
            assert_eq!(svg, draw());
            assert!(svg.trim_end().ends_with("</svg>"));
            for words in [&format!("h100: {} on NVIDIA H100 SXM5 80 GB", family.name), "vLLM 0.24.0"] {
                assert!(svg.contains(words), "no {words}");
            }
            for axis in family.operation.declared().axes {
                assert!(svg.contains(axis), "no {axis}");
            }
        }
    }
}
