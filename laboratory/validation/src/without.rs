//! Errors of closed loops by constants that the rows of a model, or of a GPU, took no part in.

use rooflut_error::Error;
use serde::Serialize;

use crate::cells::{Cells, Sheet};
use crate::compare::Metric;
use crate::report::FileReport;
use crate::summary::summarize;

const FILE: &str = "left_out_servers.csv";
/// Files whose closed loops the constants were chosen on.
const CHOSEN_ON: [&str; 2] = ["servers_inferencex.csv", "servers_steady_state.csv"];
/// Largest difference of a mean error, in percentage points, from that in the file.
const MAX_DIFFERENCE: f64 = 0.05;

/// Errors of the closed loops of a model, or on a GPU, in percent: mean and median of the absolute ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Without {
    /// Name of the model or of the GPU.
    pub left_out: String,
    /// `tpot` or `ttft`.
    pub metric: &'static str,
    /// Number of rows.
    pub n: usize,
    /// With the constants of the engines.
    pub constants: [f64; 2],
    /// With constants fitted to all rows, to first order.
    pub all: [f64; 2],
    /// With constants fitted to all other rows.
    pub others: [f64; 2],
}

/// Returns the errors by model and by GPU that come with the project. `cargo run --release -p rooflut-fit --example
/// left_out_servers` computes them.
///
/// # Errors
/// The file is not that of the constants that made the `reports`.
pub fn without(reports: &[FileReport]) -> Result<Vec<Without>, Error> {
    let sheet = Sheet::read(FILE, include_bytes!("../left_out_servers.csv"))?;
    sheet.rows()?.map(|cells| of_row(&cells, reports)).collect()
}

fn of_row(cells: &Cells<'_>, reports: &[FileReport]) -> Result<Without, Error> {
    let left_out = cells.text("left_out");
    let metrics = [Metric::Tpot, Metric::Ttft];
    let metric = metrics.into_iter().find(|metric| metric.name() == cells.text("metric"));
    let metric = metric.ok_or_else(|| cells.refuse("metric", "tpot or ttft"))?;
    let pair = |mean, median| Ok([cells.finite(mean)?, cells.finite(median)?]);
    let constants: [f64; 2] = pair("files_mean", "files_median")?;
    let cases =
        reports.iter().filter(|report| CHOSEN_ON.contains(&report.file.as_str())).flat_map(|report| &report.cases);
    let of_group = cases.filter(|case| case.model == left_out || case.gpu == left_out);
    let errors: Vec<f64> = of_group.filter_map(|case| Some(case.comparison(metric)?.signed())).collect();
    let found = summarize(&errors).map(|errors| errors.mean_ape);
    if !found.is_some_and(|found| (found - constants[0]).abs() < MAX_DIFFERENCE) {
        return Err(cells.refuse(
            "files_mean",
            "the mean error of these rows (`cargo run --release -p rooflut-fit --example left_out_servers` prints the file)",
        ));
    }
    Ok(Without {
        left_out: left_out.to_owned(),
        metric: metric.name(),
        n: errors.len(),
        constants,
        all: pair("all_mean", "all_median")?,
        others: pair("without_mean", "without_median")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_other_constants_are_refused() {
        let message = without(&[]).unwrap_err().to_string();
        assert!(
            message.starts_with("left_out_servers.csv:2: files_mean: expected the mean error of these rows"),
            "{message}"
        );
    }
}
