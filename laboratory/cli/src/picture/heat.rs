//! The grid of a family: a cell for each measured point, coloured by its efficiency.

use std::collections::{BTreeMap, BTreeSet};

use plotters::prelude::{Color, PathElement, RGBColor, Rectangle};
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use plotters::style::text_anchor::HPos;
use rooflut_roofline::math::ln;

use super::names::{described, short};
use super::style::{DIP, FAINT, INK, MARGIN, OUTLIER, Size, write, write_in};
use super::{Area, DrawingError, WIDTH};
use rooflut_inspect::Dips;
use rooflut_inspect::Family;
use rooflut_inspect::Outlier;
use rooflut_inspect::Shape;

/// Pixels for the names of the shapes.
const LABELS: u32 = 260;
/// Pixels of a line of cells.
const LINE: u32 = 15;
/// The widest cell, pixels.
const WIDEST: u32 = 54;
/// Pixels between shapes of several lines.
const GAP: u32 = 5;
/// Pixels for heading and legend.
const TOP: u32 = 62;
/// Pixels for the coordinates above and below the cells.
const COORDINATES: u32 = 38;

/// A line of cells.
struct CellLine {
    /// The shape, on the first of its lines.
    shape: Option<String>,
    /// The coordinate on the first of two axes.
    first: Option<String>,
    /// Its middle, in pixels from the top of the first line.
    top: u32,
    /// Rows of the family by coordinate.
    cells: BTreeMap<u32, usize>,
}

/// The grid of a family.
pub(super) struct Heat<'f> {
    family: &'f Family,
    outliers: BTreeSet<usize>,
    dips: BTreeSet<usize>,
    lines: Vec<CellLine>,
    columns: Vec<u32>,
    /// The range of efficiencies that colours distinguish.
    range: [f64; 2],
}

impl<'f> Heat<'f> {
    pub(super) fn new(family: &'f Family, outliers: &[Outlier], dips: &[Dips]) -> Heat<'f> {
        // The last axis runs to the right, shapes and the other axis downwards.
        let axes = family.operation.declared().axes;
        let across = axes.len().saturating_sub(1);
        let mut lines = BTreeMap::<(Shape, u32), BTreeMap<u32, usize>>::new();
        for (place, row) in family.rows.iter().enumerate() {
            let key = (row.shape, if across == 0 { 1 } else { row.at(0) });
            lines.entry(key).or_default().insert(row.at(across), place);
        }
        let columns: BTreeSet<u32> = family.rows.iter().map(|row| row.at(across)).collect();
        let (mut top, mut last) = (0, None);
        let lines = lines.into_iter().map(|((shape, first), cells)| {
            let begins = last != Some(shape);
            if begins && last.is_some() && across > 0 {
                top += GAP;
            }
            last = Some(shape);
            let line = CellLine {
                shape: begins.then(|| shape.to_string()),
                first: (across > 0).then(|| format!("{} {first}", axes.first().copied().unwrap_or_default())),
                top,
                cells,
            };
            top += LINE;
            line
        });
        Heat {
            family,
            outliers: outliers.iter().map(|outlier| outlier.row).collect(),
            dips: dips.iter().flat_map(|dips| &dips.dips).map(|dip| dip.to).collect(),
            lines: lines.collect(),
            columns: columns.into_iter().collect(),
            range: range(family),
        }
    }

    pub(super) fn height(&self) -> u32 {
        let cells = self.lines.last().map_or(0, |line| line.top + LINE);
        MARGIN + TOP + COORDINATES + cells + COORDINATES
    }

    pub(super) fn draw(&self, area: &Area<'_>) -> Result<(), DrawingError> {
        self.draw_legend(area)?;
        let top = MARGIN + TOP;
        self.draw_coordinates(area, top)?;
        for line in &self.lines {
            self.draw_line(area, line, top + COORDINATES + line.top)?;
        }
        let cells = self.lines.last().map_or(0, |line| line.top + LINE);
        self.draw_coordinates(area, top + COORDINATES + cells)
    }

    /// Draws the legend of the cells.
    fn draw_legend(&self, area: &Area<'_>) -> Result<(), DrawingError> {
        let left = MARGIN.cast_signed();
        let heading = "Efficiency: reference time (roofline and launch) over latency, in %";
        let at = (left, MARGIN.cast_signed() + 8);
        write(area, heading, at, (Size::Heading, HPos::Left))?;
        let middle = MARGIN.cast_signed() + 36;
        let [least, most] = self.range;
        let text = |x, text: &str| write(area, text, (x, middle), (Size::Text, HPos::Left));
        text(left, &format!("{:.0}", 100.0 * least))?;
        let (steps, from) = (60, left + 34);
        for step in 0..steps {
            let share = f64::from(step) / f64::from(steps - 1);
            let color = ViridisRGB.get_color(share as f32);
            let x = from + 3 * step;
            area.draw(&Rectangle::new([(x, middle - 7), (x + 3, middle + 7)], color.filled()))?;
        }
        let mut x = from + 3 * steps + 8;
        text(x, &format!("{:.0}", 100.0 * most))?;
        for (color, mark, meaning) in [
            (FAINT, "-", "not measured"),
            (OUTLIER, "", "outlier: far from its neighbours"),
            (DIP, "", "dip: less time than the point before it"),
        ] {
            x += 60;
            let corners = [(x, middle - 7), (x + 26, middle + 7)];
            frame(area, corners, color)?;
            write(area, mark, (x + 13, middle), (Size::Cell, HPos::Center))?;
            text(x + 34, meaning)?;
            x += 36 + 6 * i32::try_from(meaning.len()).unwrap_or_default();
        }
        Ok(())
    }

    /// Draws the name of the axis and its coordinates.
    fn draw_coordinates(&self, area: &Area<'_>, top: u32) -> Result<(), DrawingError> {
        let middle = (top + COORDINATES / 2).cast_signed();
        let axis = self.family.operation.declared().axes.last().copied();
        let left = (LABELS - 8).cast_signed();
        let name = described(axis.unwrap_or_default());
        write(area, name, (left, middle), (Size::Text, HPos::Right))?;
        for (column, &coordinate) in self.columns.iter().enumerate() {
            let [(left, _), (right, _)] = self.corners(column, top);
            let at = ((left + right) / 2, middle);
            write(area, &short(coordinate), at, (Size::Cell, HPos::Center))?;
        }
        Ok(())
    }

    fn draw_line(&self, area: &Area<'_>, line: &CellLine, top: u32) -> Result<(), DrawingError> {
        let middle = (top + LINE / 2).cast_signed();
        let right = (LABELS - 8).cast_signed();
        let label = |text: &Option<String>, x, side| match text {
            Some(text) => write(area, text, (x, middle), (Size::Cell, side)),
            None => Ok(()),
        };
        match &line.first {
            None => label(&line.shape, right, HPos::Right)?,
            first => {
                label(&line.shape, MARGIN.cast_signed(), HPos::Left)?;
                label(first, right, HPos::Right)?;
            }
        }
        let holes = self.columns.iter().enumerate();
        for (column, _) in holes.filter(|(_, at)| !line.cells.contains_key(at)) {
            let corners = self.corners(column, top);
            frame(area, corners, FAINT)?;
            write(area, "-", center(corners), (Size::Cell, HPos::Center))?;
        }
        let cells = self.columns.iter().enumerate().filter_map(|(column, at)| Some((column, *line.cells.get(at)?)));
        for (column, row) in cells {
            self.draw_cell(area, self.corners(column, top), row)?;
            let color = match (self.outliers.contains(&row), self.dips.contains(&row)) {
                (true, _) => OUTLIER,
                (false, true) => DIP,
                (false, false) => continue,
            };
            frame(area, self.corners(column, top), color)?;
        }
        Ok(())
    }

    fn draw_cell(&self, area: &Area<'_>, corners: [(i32, i32); 2], row: usize) -> Result<(), DrawingError> {
        let Some(row) = self.family.rows.get(row) else {
            return Ok(());
        };
        let efficiency = row.efficiency();
        let [least, most] = self.range.map(ln);
        let share = ((ln(efficiency) - least) / (most - least)).clamp(0.0, 1.0);
        let color = ViridisRGB.get_color(share as f32);
        area.draw(&Rectangle::new(corners, color.filled()))?;
        let ink = if share > 0.6 { INK } else { RGBColor(255, 255, 255) };
        let percent = 100.0 * efficiency;
        let text = match percent {
            small if small < 9.95 => format!("{small:.1}"),
            large => format!("{large:.0}"),
        };
        write_in(ink, area, &text, center(corners), (Size::Cell, HPos::Center))
    }

    /// Returns the corners of a cell.
    fn corners(&self, column: usize, top: u32) -> [(i32, i32); 2] {
        let count = u32::try_from(self.columns.len()).unwrap_or(u32::MAX).max(1);
        let width = ((WIDTH - LABELS - MARGIN) / count).clamp(1, WIDEST);
        let column = u32::try_from(column).unwrap_or_default();
        let left = (LABELS + column * width).cast_signed();
        let top = top.cast_signed();
        [(left, top), (left + width.cast_signed() - 1, top + LINE.cast_signed() - 1)]
    }
}

fn center([(left, top), (right, bottom)]: [(i32, i32); 2]) -> (i32, i32) {
    ((left + right) / 2, (top + bottom) / 2)
}

/// Draws a frame inside the corners, a thick one for a mark.
fn frame(area: &Area<'_>, corners: [(i32, i32); 2], color: RGBColor) -> Result<(), DrawingError> {
    let (width, inset) = if color == FAINT { (1, 0) } else { (3, 1) };
    let [(left, top), (right, bottom)] = corners;
    let (left, top, right, bottom) = (left + inset, top + inset, right - inset, bottom - inset);
    let around = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top - inset)];
    area.draw(&PathElement::new(around, color.stroke_width(width)))
}

/// Returns the range of nearly all efficiencies, widened if all are equal.
fn range(family: &Family) -> [f64; 2] {
    let mut found: Vec<f64> = family.rows.iter().map(|row| row.efficiency()).collect();
    found.sort_unstable_by(f64::total_cmp);
    let beyond = found.len() / 50;
    let least = found.get(beyond).copied().unwrap_or(0.5);
    let most = found.iter().rev().nth(beyond).copied().unwrap_or(1.0);
    if most / least > 1.2 { [least, most] } else { [least / 1.2, most * 1.2] }
}
