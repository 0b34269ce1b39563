//! A chart of lines with bands, as SVG.

use std::fmt::Write;
use std::ops::Range;

/// A point with its band, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) band: Option<(f64, f64)>,
}

/// Width and height, pixels.
const SIZE: (f64, f64) = (960.0, 600.0);
/// The area of the lines, pixels.
const AREA: (Range<f64>, Range<f64>) = (88.0..944.0, 16.0..540.0);
const FONT_SIZE: f64 = 15.0;
/// The space between two lines of the legend, pixels.
const LINE: f64 = 20.0;
/// Maximum number of lines that the legend names.
const NAMED: usize = 20;
/// The number of ticks to aim at along an axis.
const TICKS: f64 = 8.0;
/// Colours that stay apart for most readers (Okabe and Ito, and darker ones).
const COLOURS: [&str; 10] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#4D4D4D",
    "#A6761D", "#66A61E",
];

/// The values of an axis, and the pixels of its ends.
struct Axis {
    values: Range<f64>,
    from: f64,
    to: f64,
}

impl Axis {
    /// Returns the place of a value, pixels.
    fn at(&self, value: f64) -> f64 {
        let share = (value - self.values.start) / (self.values.end - self.values.start);
        self.from + share * (self.to - self.from)
    }

    /// Returns round values, and their text.
    fn ticks(&self) -> Vec<(f64, String)> {
        let rough = (self.values.end - self.values.start) / TICKS;
        let power = power(exponent(rough));
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let decimals = (-exponent(step)).max(0) as usize;
        let first = (self.values.start / step).ceil();
        let ticks = (0..).map(|place| (first + f64::from(place)) * step);
        let ticks = ticks.take_while(|value| *value <= self.values.end);
        ticks
            .map(|value| (value, format!("{value:.decimals$}")))
            .collect()
    }
}

/// Returns the decimal exponent of a number.
fn exponent(number: f64) -> i32 {
    let text = format!("{number:e}");
    let exponent = text
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok());
    exponent.unwrap_or_default()
}

/// Returns a power of ten.
fn power(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

/// Draws lines, each with its label, in the order of their points. The same lines give the same bytes.
pub(crate) fn chart(lines: &[(String, Vec<Point>)], x: &str, y: &str) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let ends = points().flat_map(|point| {
        let (low, high) = point.band.unwrap_or((point.y, point.y));
        [point.y, low, high]
    });
    let ys = span(ends);
    let (across, down) = AREA;
    let x_axis = Axis {
        values: span(points().map(|point| point.x)),
        from: across.start,
        to: across.end,
    };
    let y_axis = Axis {
        values: ys.start.min(0.0)..ys.end,
        from: down.end,
        to: down.start,
    };
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"{FONT_SIZE}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    // Writing to a String does not fail.
    let _ = axes(&mut svg, &x_axis, &y_axis, x, y);
    for (place, (_, points)) in lines.iter().enumerate() {
        let _ = line(&mut svg, &x_axis, &y_axis, colour(place), points);
    }
    let _ = legend(&mut svg, lines);
    svg + "</svg>\n"
}

fn colour(place: usize) -> &'static str {
    COLOURS.into_iter().cycle().nth(place).unwrap_or_default()
}

/// Writes the grid, the numbers and the names of the axes.
fn axes(svg: &mut String, x_axis: &Axis, y_axis: &Axis, x: &str, y: &str) -> std::fmt::Result {
    let (left, right) = (x_axis.from, x_axis.to);
    let (bottom, top) = (y_axis.from, y_axis.to);
    for (value, text) in x_axis.ticks() {
        let at = x_axis.at(value);
        writeln!(
            svg,
            "<path d=\"M{at:.1} {bottom}V{top}\" stroke=\"#DDDDDD\"/>"
        )?;
        let below = bottom + LINE;
        writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{text}</text>"
        )?;
    }
    for (value, text) in y_axis.ticks() {
        let at = y_axis.at(value);
        writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#DDDDDD\"/>"
        )?;
        let (beside, middle) = (left - 8.0, at + FONT_SIZE / 3.0);
        writeln!(
            svg,
            "<text x=\"{beside}\" y=\"{middle:.1}\" text-anchor=\"end\">{text}</text>"
        )?;
    }
    writeln!(
        svg,
        "<path d=\"M{left} {top}V{bottom}H{right}\" stroke=\"black\" fill=\"none\"/>"
    )?;
    let (middle, below) = (f64::midpoint(left, right), bottom + 2.3 * LINE);
    writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{}</text>",
        escaped(x)
    )?;
    let middle = f64::midpoint(bottom, top);
    writeln!(
        svg,
        "<text transform=\"translate({LINE} {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escaped(y)
    )
}

/// Writes the band, the line and the points of one combination of keys.
fn line(svg: &mut String, x: &Axis, y: &Axis, colour: &str, points: &[Point]) -> std::fmt::Result {
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let places = points.map(|(at_x, at_y)| format!("{:.1},{:.1}", x.at(at_x), y.at(at_y)));
        places.collect::<Vec<_>>().join(" ")
    };
    let banded = points
        .iter()
        .filter_map(|point| Some((point.x, point.band?)));
    let highs = banded.clone().map(|(x, (_, high))| (x, high));
    let lows = banded.clone().map(|(x, (low, _))| (x, low)).rev();
    let band = path(&mut highs.chain(lows));
    if !band.is_empty() {
        writeln!(
            svg,
            "<polygon points=\"{band}\" fill=\"{colour}\" fill-opacity=\"0.15\"/>"
        )?;
    }
    let through = path(&mut points.iter().map(|point| (point.x, point.y)));
    writeln!(
        svg,
        "<polyline points=\"{through}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
    )?;
    for point in points {
        let (at_x, at_y) = (x.at(point.x), y.at(point.y));
        writeln!(
            svg,
            "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"3\" fill=\"{colour}\"/>"
        )?;
    }
    Ok(())
}

/// Writes the labels of the first lines in the upper left corner.
fn legend(svg: &mut String, lines: &[(String, Vec<Point>)]) -> std::fmt::Result {
    let (across, down) = AREA;
    let (left, mut at) = (across.start + 12.0, down.start + LINE);
    for (place, (label, _)) in lines.iter().enumerate().take(NAMED) {
        if label.is_empty() {
            continue;
        }
        let (middle, text, colour) = (at - FONT_SIZE / 3.0, left + 24.0, colour(place));
        writeln!(
            svg,
            "<path d=\"M{left} {middle}h16\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        )?;
        // White around the letters keeps them readable on lines.
        writeln!(
            svg,
            "<text x=\"{text}\" y=\"{at}\" stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\">{}</text>",
            escaped(label)
        )?;
        at += LINE;
    }
    Ok(())
}

/// Returns text as SVG has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns the range of values, which is not empty.
fn span(values: impl Iterator<Item = f64>) -> Range<f64> {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.fold(start, |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match high > low {
        true => low..high,
        false => low - 0.5..high + 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let ticks = |values: Range<f64>| {
            let axis = Axis {
                values,
                from: 0.0,
                to: 1.0,
            };
            axis.ticks()
                .into_iter()
                .map(|(_, text)| text)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ticks(0.0..40.0),
            ["0", "5", "10", "15", "20", "25", "30", "35", "40"]
        );
        assert_eq!(ticks(0.11..0.32), ["0.15", "0.20", "0.25", "0.30"]);
        assert_eq!(ticks(-3.0..2.0), ["-3", "-2", "-1", "0", "1", "2"]);
    }

    #[test]
    fn a_band_goes_along_its_highs_and_back_along_its_lows() {
        let point = |x: f64| Point {
            x,
            y: 2.0 * x,
            band: Some((x, 4.0 * x)),
        };
        let svg = chart(
            &[("a < b".to_owned(), vec![point(0.0), point(1.0)])],
            "rate",
            "ttft",
        );
        let band = "<polygon points=\"88.0,540.0 944.0,16.0 944.0,409.0 88.0,540.0\"";
        assert!(svg.contains(band), "{svg}");
        assert!(
            svg.contains("<polyline points=\"88.0,540.0 944.0,278.0\""),
            "{svg}"
        );
        assert!(
            svg.contains(">a &lt; b</text>") && svg.contains(">ttft</text>"),
            "{svg}"
        );
    }
}
