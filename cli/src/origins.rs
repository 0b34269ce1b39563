//! Where the time of steps comes from, told.

use rooflut::step::Origins;
use rooflut::table::Provenance;
use serde::Serialize;

use crate::output::percent;

/// What is said of time that no table holds.
pub(crate) const FITTED: &str = "fitted";

/// For people: the origins that occur, with their shares.
pub(crate) fn describe(origins: &Origins) -> String {
    let names = Provenance::ALL.map(Provenance::name).into_iter();
    let named = names
        .zip(origins.shares())
        .chain([(FITTED, origins.fitted_share())]);
    let shares: Vec<String> = named
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{} {name}", percent(100.0 * share)))
        .collect();
    match shares.is_empty() {
        true => "no step was run".to_owned(),
        false => format!("{} (share of the time)", shares.join(", ")),
    }
}

/// Shares of the time by origin; 1 in all, unless no step was run.
#[derive(Serialize)]
pub(crate) struct OriginsJson {
    measured: f64,
    interpolated: f64,
    extrapolated: f64,
    transferred: f64,
    bound: f64,
    /// Constants fitted on servers, and traffic of small kernels.
    fitted: f64,
}

impl From<&Origins> for OriginsJson {
    fn from(origins: &Origins) -> OriginsJson {
        let [measured, interpolated, extrapolated, transferred, bound] = origins.shares();
        OriginsJson {
            measured,
            interpolated,
            extrapolated,
            transferred,
            bound,
            fitted: origins.fitted_share(),
        }
    }
}
