//! Configurations whose rows constants of engines are fitted to.

use std::sync::LazyLock;

use crate::cells::Cells;
use crate::kind::Kind;

/// Columns by which rows of a kind of file are of one configuration.
const fn columns(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::ClosedLoops => &["gpu", "engine", "model", "precision", "tp", "dp", "expert_parallel"],
        Kind::EngineSteps => &["model", "tp", "dp", "expert_parallel"],
        _ => &[],
    }
}

static LOOPS: LazyLock<Vec<String>> = LazyLock::new(|| every_second(Kind::ClosedLoops));
static STEPS: LazyLock<Vec<String>> = LazyLock::new(|| every_second(Kind::EngineSteps));

/// No constant was chosen on its steps.
const UNFITTED: &str = "deepseek-ai/DeepSeek-V4-Flash";

/// Returns whether the row of a closed loop or of an engine step is of a configuration that constants are fitted to:
/// every second one of the shipped file, but for `UNFITTED`.
pub(crate) fn is_fitted(kind: Kind, cells: &Cells<'_>) -> bool {
    let all: &[String] = match kind {
        Kind::ClosedLoops => &LOOPS,
        Kind::EngineSteps => &STEPS,
        _ => &[],
    };
    let cells: Vec<&str> = columns(kind).iter().map(|name| cells.text(name)).collect();
    all.contains(&cells.join(" "))
}

/// Returns the second, the fourth and so on of the configurations of the shipped file, in the order of their first rows.
fn every_second(kind: Kind) -> Vec<String> {
    let mut rows = (kind.shipped().lines()).map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    let mut all = Vec::new();
    for row in rows {
        let cell = |column: &&str| {
            let mut cells = header.iter().zip(&row);
            cells.find(|(name, _)| *name == column).map_or("", |(_, cell)| *cell)
        };
        let cells: Vec<&str> = columns(kind).iter().map(cell).collect();
        let configuration = cells.join(" ");
        if !configuration.starts_with(UNFITTED) && !all.contains(&configuration) {
            all.push(configuration);
        }
    }
    all.into_iter().skip(1).step_by(2).collect()
}
