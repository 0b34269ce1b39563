//! Charts of one column over another.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::str::FromStr;

use crate::chart::{Point, chart};
use crate::column::FIRST;
use crate::sweep::Sweep;

/// A chart of the column `y` over the column `x`, with a line for each combination of the other keys.
///
/// Where the rows have an interval of `y`, or its range over seeds, it is a band around the line. Rows without either
/// value are left out.
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
            Some((y, x)) if !y.is_empty() && !x.is_empty() => Ok(Plot {
                y: y.to_owned(),
                x: x.to_owned(),
            }),
            _ => Err("expected two columns, Y:X, as in ttft_p99:rate"),
        }
    }
}

/// Why a chart cannot be drawn.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlotError {
    /// No column has this name.
    UnknownColumn {
        /// The name as given.
        found: String,
        /// Similar names.
        nearest: Vec<String>,
    },
    /// No row has numbers in both columns.
    Empty {
        /// Column of the ordinate.
        y: String,
        /// Column of the abscissa.
        x: String,
    },
    /// The rows cannot be read.
    Csv(csv::Error),
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlotError::UnknownColumn { found, nearest } => write!(
                f,
                "unknown column {found:?}{}; use a name of the first line",
                rooflut_nearest::hint(nearest)
            ),
            PlotError::Empty { y, x } => write!(
                f,
                "expected numbers in {y} and {x}, found no row that has both; use other columns, or more requests if \
                 {y} is a percentile"
            ),
            PlotError::Csv(error) => error.fmt(f),
        }
    }
}

/// Has no source: its message contains that of the error that it wraps.
impl std::error::Error for PlotError {}

impl From<csv::Error> for PlotError {
    fn from(error: csv::Error) -> PlotError {
        PlotError::Csv(error)
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

impl Plot {
    /// Checks that a sweep has both columns, before its rows are there to be [drawn](Plot::draw).
    ///
    /// # Errors
    /// A column that it does not have.
    pub fn check(&self, sweep: &Sweep<'_>) -> Result<(), PlotError> {
        let names = sweep.columns().into_iter();
        let names = names.map(|(name, _)| name.to_owned()).collect();
        self.columns(names).map(drop)
    }

    /// Draws the rows of a sweep, as it writes them, as SVG. The same rows give the same bytes.
    ///
    /// # Errors
    /// A column that the rows do not have, or that has no numbers.
    pub fn draw(&self, rows: impl Read) -> Result<String, PlotError> {
        let mut rows = csv::Reader::from_reader(rows);
        let names: Vec<String> = rows.headers()?.iter().map(str::to_owned).collect();
        let columns = self.columns(names)?;
        let mut lines: BTreeMap<usize, (String, Vec<Point>)> = BTreeMap::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows.records() {
            let row = row?;
            let number = |column: usize| {
                row.get(column)?
                    .parse()
                    .ok()
                    .filter(|n: &f64| n.is_finite())
            };
            let (Some(x), Some(y)) = (number(columns.x), number(columns.y)) else {
                continue;
            };
            let band = columns
                .band
                .and_then(|(low, high)| number(low).zip(number(high)));
            let label: Vec<String> = columns
                .keys
                .iter()
                .filter_map(|key| Some(format!("{} {}", columns.names.get(*key)?, row.get(*key)?)))
                .collect();
            let label = label.join(", ");
            let next = numbers.len();
            let line = *numbers.entry(label.clone()).or_insert(next);
            let (_, points) = lines.entry(line).or_insert((label, Vec::new()));
            points.push(Point { x, y, band });
        }
        let mut lines: Vec<(String, Vec<Point>)> = lines.into_values().collect();
        if lines.is_empty() {
            let (y, x) = (self.y.clone(), self.x.clone());
            return Err(PlotError::Empty { y, x });
        }
        let labels = [columns.x, columns.y].map(|of| columns.names.get(of).cloned());
        let [x, y] = labels.map(Option::unwrap_or_default);
        for (_, points) in &mut lines {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        Ok(chart(&lines, &x, &y))
    }

    fn columns(&self, names: Vec<String>) -> Result<Columns, PlotError> {
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        let find = |wanted: &str| {
            let with_unit = || {
                ["_ms", "_s"]
                    .iter()
                    .find_map(|unit| at(&format!("{wanted}{unit}")))
            };
            at(wanted).or_else(with_unit).ok_or_else(|| {
                let known = names.iter().map(String::as_str);
                let nearest = rooflut_nearest::nearest(wanted, known).into_iter();
                PlotError::UnknownColumn {
                    found: wanted.to_owned(),
                    nearest: nearest.map(str::to_owned).collect(),
                }
            })
        };
        let (x, y) = (find(&self.x)?, find(&self.y)?);
        let band = names.get(y).and_then(|name| {
            let units = ["_ms", "_per_s"];
            let unit = units.into_iter().find(|unit| name.ends_with(unit))?;
            let stem = name.strip_suffix(unit)?;
            let ends = [("_low", "_high"), ("_lowest", "_highest")];
            ends.into_iter().find_map(|(low, high)| {
                at(&format!("{stem}{low}{unit}")).zip(at(&format!("{stem}{high}{unit}")))
            })
        });
        let keys = (2..at(FIRST).unwrap_or(2))
            .filter(|key| *key != x)
            .collect();
        Ok(Columns {
            x,
            y,
            band,
            keys,
            names,
        })
    }
}
