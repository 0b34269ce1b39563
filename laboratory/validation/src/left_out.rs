//! Predictions of load stages by constants that were fitted without their model family.

use rooflut_error::Error;

use crate::cells::Sheet;
use crate::compare::Metric;
use crate::rows::{Label, Stage};

const FILE: &str = "left_out.csv";

/// Predictions of the project's load stages without their model family, relative to predictions by the constants of the
/// engines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeftOut {
    rows: Vec<(String, Stage, String, f64)>,
}

impl LeftOut {
    /// Returns the predictions that come with the project. `cargo run --release -p rooflut-fit --example left_out`
    /// computes them.
    ///
    /// # Errors
    /// Never, as a test asserts.
    pub fn embedded() -> Result<LeftOut, Error> {
        let sheet = Sheet::read(FILE, include_bytes!("../left_out.csv"))?;
        let rows = sheet
            .rows()?
            .map(|cells| {
                let (id, metric) = (cells.text("id"), cells.text("metric"));
                let stage = Stage::Number(cells.whole("stage")?.into());
                let ln_ratio = cells.finite("ln_ratio")?;
                Ok((id.to_owned(), stage, metric.to_owned(), ln_ratio))
            })
            .collect::<Result<_, _>>()?;
        Ok(LeftOut { rows })
    }

    /// Returns ln(prediction without the family / prediction).
    pub fn ln_ratio(&self, label: &Label, metric: Metric) -> Option<f64> {
        let mut rows = self.rows.iter();
        let found = rows.find(|(id, stage, name, _)| *id == label.id && *stage == label.stage && name == metric.name());
        found.map(|(.., ln_ratio)| *ln_ratio)
    }
}
