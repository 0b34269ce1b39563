//! Charts of one column over another.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::Read;
use std::str::FromStr;

use csv::StringRecord;
use plotters::data::float::FloatPrettyPrinter;
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color, IntoDrawingArea, Palette, Palette99, PathElement, Polygon, RGBColor,
    SVGBackend, SeriesLabelPosition, WHITE,
};

use rooflut_error::{hint, nearest};
use rooflut_scenario::{Error, Kind, grouped};

use crate::cells::CheckedRows;
use crate::column::{FIRST, FIXED};
use crate::sweep::Sweep;

/// Width and height, pixels.
const SIZE: (u32, u32) = (960, 600);
const FONT: (&str, i32) = ("sans-serif", 15);
/// Numbers at the axes.
const TICKS: FloatPrettyPrinter = FloatPrettyPrinter { allow_scientific: false, min_decimal: 0, max_decimal: 5 };
/// Maximum number of lines that the legend names.
const NAMED: usize = 20;
/// Maximum number of points, size of the lines in memory, MiB, and bytes of one beside the values of its keys.
const MAX_POINTS: usize = 1_000_000;
const MAX_MIB: usize = 64;
const PER_LINE: usize = 512;

/// The colours of Okabe and Ito (2008) without their yellow: readers with any vision tell them apart on white.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// A chart of the column `y` over the column `x`, with a line for each combination of the other keys.
///
/// If the rows have an interval of `y`, or a range over seeds, the chart shows a band around the line. Rows without
/// either value are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Column of the ordinate. The unit may be left out: `ttft_p99` for `ttft_p99_ms`.
    pub y: String,
    /// Column of the abscissa.
    pub x: String,
}

impl FromStr for Plot {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Plot, &'static str> {
        match text.split_once(':') {
            Some((y, x)) if !y.is_empty() && !x.is_empty() => Ok(Plot { y: y.to_owned(), x: x.to_owned() }),
            _ => Err("expected two columns, Y:X, as in ttft_p99:rate"),
        }
    }
}

/// A point with its band, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
    band: Option<(f64, f64)>,
}

/// Lines in the order in which rows have them, with the names of those in the legend.
#[derive(Default)]
struct Lines {
    lines: Vec<(String, Vec<Point>)>,
    /// Places by the values of keys.
    places: HashMap<String, usize>,
    points: usize,
    /// Bytes of lines.
    bytes: usize,
}

impl Lines {
    /// Adds a point to the line of its row.
    fn add(&mut self, row: &StringRecord, columns: &Columns, point: Point) -> Result<(), Error> {
        let values: Vec<&str> = columns.keys.iter().filter_map(|key| row.get(*key)).collect();
        // No value has a line break.
        let text = values.join("\n");
        let place = *self.places.get(&text).unwrap_or(&self.lines.len());
        self.points += 1;
        if place == self.lines.len() {
            self.bytes += PER_LINE + text.len();
            self.lines.push((if place < NAMED { columns.label(&values) } else { String::new() }, Vec::new()));
            self.places.insert(text, place);
        }
        if self.points > MAX_POINTS || self.bytes > MAX_MIB << 20 {
            let points = grouped(MAX_POINTS as u64);
            let text = format!(
                "expected at most {points} points, on lines of at most {MAX_MIB} MiB, found more; sweep fewer values"
            );
            return Err(Error::new(Kind::Value, text));
        }
        let line = self.lines.get_mut(place);
        line.into_iter().for_each(|(_, points)| points.push(point));
        Ok(())
    }
}

/// The columns of a chart.
struct Columns {
    x: usize,
    y: usize,
    band: Option<(usize, usize)>,
    /// Keys that tell lines apart.
    keys: Vec<usize>,
    names: Vec<String>,
}

impl Columns {
    /// Returns the name of a line with these values of the keys.
    fn label(&self, values: &[&str]) -> String {
        let names = self.keys.iter().filter_map(|key| self.names.get(*key));
        let parts: Vec<String> = names.zip(values).map(|(name, value)| format!("{name} {value}")).collect();
        parts.join(", ")
    }
}

impl Plot {
    /// Checks that a sweep has both columns, before there are rows to [draw](Plot::draw).
    ///
    /// # Errors
    /// A column that the sweep does not have.
    pub fn check(&self, sweep: &Sweep<'_>) -> Result<(), Error> {
        let names = sweep.columns().iter().map(|(name, _)| name.clone()).collect();
        self.columns(names).map(drop)
    }

    /// Draws the rows of a sweep, as it writes them, as SVG. The same rows give the same bytes.
    ///
    /// # Errors
    /// A column that the rows do not have, or that has no numbers; a cell that is not of the kind of its column; more than a
    /// million points.
    pub fn draw(&self, rows: impl Read) -> Result<String, Error> {
        let mut rows = CheckedRows::try_new(rows)?;
        let columns = self.columns(rows.names())?;
        let mut lines = Lines::default();
        while let Some(row) = rows.next()? {
            let number = |column: usize| row.get(column)?.parse().ok().filter(|n: &f64| n.is_finite());
            let (Some(x), Some(y)) = (number(columns.x), number(columns.y)) else {
                continue;
            };
            let band = columns.band.and_then(|(low, high)| number(low).zip(number(high)));
            lines.add(&row, &columns, Point { x, y, band })?;
        }
        let lines = lines.lines;
        if lines.is_empty() {
            let Plot { y, x } = self;
            let text = format!(
                "expected numbers in {y} and {x}, found no row that has both; use other columns, or more requests if {y} \
                 is a percentile"
            );
            return Err(Error::new(Kind::NoAnswer, text));
        }
        let labels = [columns.x, columns.y].map(|of| columns.names.get(of).cloned());
        let [x, y] = labels.map(Option::unwrap_or_default);
        picture(lines, &x, &y).map_err(|error| Error::new(Kind::Io, format!("cannot draw the chart: {error}")))
    }

    fn columns(&self, names: Vec<String>) -> Result<Columns, Error> {
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        let find = |wanted: &str| {
            let with_unit = || ["_ms", "_s"].iter().find_map(|unit| at(&format!("{wanted}{unit}")));
            at(wanted).or_else(with_unit).ok_or_else(|| {
                let known = names.iter().map(String::as_str);
                let near = hint(&nearest(wanted, known));
                let text = format!("unknown column {wanted:?}{near}; use a name of the first line");
                Error::new(Kind::UnknownName, text)
            })
        };
        let (x, y) = (find(&self.x)?, find(&self.y)?);
        let band = names.get(y).and_then(|name| {
            let units = ["_ms", "_per_s"];
            let unit = units.into_iter().find(|unit| name.ends_with(unit))?;
            let stem = name.strip_suffix(unit)?;
            let ends = [("_low", "_high"), ("_lowest", "_highest")];
            ends.into_iter()
                .find_map(|(low, high)| at(&format!("{stem}{low}{unit}")).zip(at(&format!("{stem}{high}{unit}"))))
        });
        let keys = (FIXED.len()..at(FIRST).unwrap_or(FIXED.len())).filter(|key| *key != x).collect();
        Ok(Columns { x, y, band, keys, names })
    }
}

/// Draws lines with their bands.
fn picture(mut lines: Vec<(String, Vec<Point>)>, x: &str, y: &str) -> Result<String, String> {
    for (_, points) in &mut lines {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points.dedup();
    }
    let points = || lines.iter().flat_map(|(_, points)| points);
    let (x_min, x_max) = span(points().map(|point| point.x));
    let ends = points().flat_map(|point| {
        let (low, high) = point.band.unwrap_or((point.y, point.y));
        [point.y, low, high]
    });
    let (y_min, y_max) = span(ends);
    let mut text = String::new();
    let failed = |error: &dyn Display| error.to_string();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(|error| failed(&error))?;
        let mut chart = ChartBuilder::on(&root)
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(x_min..x_max, y_min.min(0.0)..y_max + 0.05 * (y_max - y_min))
            .map_err(|error| failed(&error))?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(BLACK.mix(0.12))
            .x_label_formatter(&|value| TICKS.print(*value))
            .y_label_formatter(&|value| TICKS.print(*value))
            .x_desc(x)
            .y_desc(y)
            .label_style(FONT)
            .axis_desc_style(FONT)
            .draw()
            .map_err(|error| failed(&error))?;
        for (place, (label, points)) in lines.iter().enumerate() {
            let color = COLORS.get(place).map_or_else(|| Palette99::pick(place).to_rgba(), |color| color.to_rgba());
            let banded = points.iter().filter_map(|point| Some((point.x, point.band?)));
            let highs = banded.clone().map(|(x, (_, high))| (x, high));
            let lows = banded.map(|(x, (low, _))| (x, low));
            let band: Vec<(f64, f64)> = highs.chain(lows.rev()).collect();
            if !band.is_empty() {
                let drawn = chart.draw_series([Polygon::new(band, color.mix(0.15))]);
                drawn.map_err(|error| failed(&error))?;
            }
            let places = points.iter().map(|point| (point.x, point.y));
            let circles = places.clone().map(|place| Circle::new(place, 3, color.filled()));
            let drawn = chart.draw_series(circles);
            drawn.map_err(|error| failed(&error))?;
            let path = PathElement::new(places.collect::<Vec<_>>(), color.stroke_width(2));
            let drawn = chart.draw_series([path]).map_err(|error| failed(&error))?;
            if place < NAMED && !label.is_empty() {
                drawn.label(label).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(FONT)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(|error| failed(&error))?;
        root.present().map_err(|error| failed(&error))?;
    }
    Ok(text)
}

/// Returns the least and the greatest value, apart from each other.
fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.fold(start, |(low, high), value| (low.min(value), high.max(value)));
    if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
}
