//! Outliers: rows far slower or faster than their neighbours suggest.

use rooflut_roofline::math::{exp, ln};

use crate::family::Family;
use crate::line::Line;
use crate::residual::{Deviation, Habits, Residual, residuals};

/// Least ratio of the latency of an outlier to the expected one, or of the expected one to it.
pub const OUTLIER: f64 = 1.25;
/// Least distance of an outlier, in standard deviations of its family.
pub const FAR: f64 = 6.0;

/// A row far slower or faster than its neighbours suggest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its index in the family.
    pub row: usize,
    /// Latency of the row over the latency that its neighbours suggest.
    pub ratio: f64,
    /// Its distance in standard deviations of its family (robust: from the median distance).
    pub far: f64,
}

/// Returns the outliers of a family, slow and fast ones, in the order of the rows.
///
/// A row is compared with its neighbours on each axis by its slowdown over the reference time, minus the median at its
/// coordinate (kernels change their tiles at some sizes). A row is an outlier if it is clearly beyond both neighbours
/// on every axis, by [`OUTLIER`] and by [`FAR`] deviations of the family, in one direction. At an end of an axis, with
/// one neighbour, only slow rows are outliers. A bad row distorts the comparison of its neighbours: the row without
/// which its lines are smoothest is taken first, and is no longer a neighbour of others.
pub fn outliers(family: &Family) -> Vec<Outlier> {
    let lines = family.lines();
    let mut left_out = vec![false; family.rows.len()];
    let of_line = |line| residuals(family, line, &left_out);
    let mut of_lines: Vec<Vec<Residual>> = lines.iter().map(of_line).collect();
    let mut found = Vec::new();
    while let Some(outlier) = worst(family, &lines, &of_lines, &left_out) {
        if let Some(flag) = left_out.get_mut(outlier.row) {
            *flag = true;
        }
        // The others do not change.
        let through = lines.iter().zip(&mut of_lines);
        for (line, of_line) in through.filter(|(line, _)| line.rows.contains(&outlier.row)) {
            *of_line = residuals(family, line, &left_out);
        }
        found.push(outlier);
    }
    found.sort_by_key(|outlier| outlier.row);
    found
}

/// Returns the row without which all others fit best, if one is an outlier.
fn worst(family: &Family, lines: &[Line], of_lines: &[Vec<Residual>], left_out: &[bool]) -> Option<Outlier> {
    let all = of_lines.concat();
    let habits = Habits::of(&all);
    let rows = judged(family, &habits, &all);
    let far = |row: &usize| rows.get(*row).copied().flatten().filter(Deviation::is_far);
    let far_rows: Vec<usize> = (0..rows.len()).filter(|row| far(row).is_some()).collect();
    if far_rows.is_empty() {
        return None;
    }
    // The cause may be a row with a smaller deviation than its neighbour.
    let suspects = (0..rows.len()).filter_map(|row| {
        let deviation = rows.get(row).copied().flatten()?;
        let beside = || lines.iter().any(|line| line.has_beside(row, &far_rows));
        let suspect = deviation.is_far() || deviation.is_suspect() && beside();
        suspect.then_some((row, deviation))
    });
    let relieved = suspects.map(|(row, deviation)| {
        let through = lines.iter().filter(|line| line.rows.contains(&row));
        let relief: f64 = through.map(|line| relief(family, line, left_out, row, &habits)).sum();
        (relief, row, deviation)
    });
    let (_, row, deviation) = relieved.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    Some(Outlier { row, ratio: exp(deviation.ln_ratio), far: deviation.far })
}

/// Returns the decrease of the squared deviations of a line when the row is left out.
fn relief(family: &Family, line: &Line, left_out: &[bool], row: usize, habits: &Habits) -> f64 {
    let squares = |left_out: &[bool]| -> f64 {
        let residuals = residuals(family, line, left_out);
        let judged = residuals.iter().map(|residual| habits.judge(residual).ln_ratio);
        judged.map(|ln_ratio| ln_ratio * ln_ratio).sum()
    };
    let mut without = left_out.to_vec();
    if let Some(flag) = without.get_mut(row) {
        *flag = true;
    }
    squares(left_out) - squares(&without)
}

/// Returns the smallest deviation of each row over its axes; none if the axes disagree on its direction, or
/// if there are no neighbours.
fn judged(family: &Family, habits: &Habits, residuals: &[Residual]) -> Vec<Option<Deviation>> {
    let mut rows: Vec<Vec<Deviation>> = vec![Vec::new(); family.rows.len()];
    for residual in residuals {
        if let Some(deviations) = rows.get_mut(residual.row) {
            deviations.push(habits.judge(residual));
        }
    }
    let least = |deviations: Vec<Deviation>| {
        let slow = deviations.iter().filter(|d| d.ln_ratio > 0.0).count();
        if slow != 0 && slow != deviations.len() {
            return None;
        }
        let far = deviations.iter().map(|d| d.far).min_by(f64::total_cmp)?;
        let by_size = |a: &f64, b: &f64| a.abs().total_cmp(&b.abs());
        let ln_ratio = deviations.iter().map(|d| d.ln_ratio).min_by(by_size)?;
        Some(Deviation { ln_ratio, far, stands_out: deviations.iter().all(|d| d.stands_out) })
    };
    rows.into_iter().map(least).collect()
}

impl Deviation {
    fn is_large(&self) -> bool {
        self.stands_out && self.ln_ratio.abs() >= ln(OUTLIER)
    }

    fn is_suspect(&self) -> bool {
        self.is_large() && 2.0 * self.far >= FAR
    }

    fn is_far(&self) -> bool {
        self.is_large() && self.far >= FAR
    }
}

impl Line {
    /// Whether one of `others` is a neighbour of the row.
    fn has_beside(&self, row: usize, others: &[usize]) -> bool {
        self.rows.windows(2).any(|pair| match pair {
            [a, b] => (*a == row && others.contains(b)) || (*b == row && others.contains(a)),
            _ => false,
        })
    }
}
