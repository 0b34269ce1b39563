//! Sources of the time of steps, as text and JSON.

use rooflut::step::TimeSources;
use rooflut::table::{Class, Provenance};
use serde::Serialize;

use crate::output::percent;

/// For people: the sources that occur, with their shares of the time.
pub(crate) fn describe(sources: &TimeSources) -> String {
    let names = Class::ALL.map(Class::name).into_iter();
    let named = names
        .zip(sources.class_shares())
        .chain([("fitted", sources.fitted_share())]);
    let shares: Vec<String> = named
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{} {name}", percent(100.0 * share)))
        .collect();
    if shares.is_empty() {
        return "no step was run".to_owned();
    }
    let outside = match sources.outside_share() {
        share if share > 0.0 => format!(
            "; {} outside of the measured ranges",
            percent(100.0 * share)
        ),
        _ => String::new(),
    };
    format!("{}{outside}", shares.join(", "))
}

/// Where a looked-up number comes from, as JSON has it.
#[derive(Serialize)]
pub(crate) struct ProvenanceJson {
    /// None where nothing was looked up.
    class: Option<&'static str>,
    /// Inside or outside of the measured ranges.
    extent: Option<&'static str>,
}

impl From<Option<Provenance>> for ProvenanceJson {
    fn from(provenance: Option<Provenance>) -> ProvenanceJson {
        ProvenanceJson {
            class: provenance.map(|provenance| provenance.class.name()),
            extent: provenance.map(|provenance| provenance.extent.name()),
        }
    }
}

impl From<Provenance> for ProvenanceJson {
    fn from(provenance: Provenance) -> ProvenanceJson {
        Some(provenance).into()
    }
}

/// Shares of the time by source; 1 in all, unless no step was run.
#[derive(Serialize)]
pub(crate) struct SourcesJson {
    measured: f64,
    interpolated: f64,
    smoothed: f64,
    transferred: f64,
    bound: f64,
    /// Constants fitted to servers, and traffic of small kernels.
    fitted: f64,
}

impl From<&TimeSources> for SourcesJson {
    fn from(sources: &TimeSources) -> SourcesJson {
        let [measured, interpolated, smoothed, transferred, bound] = sources.class_shares();
        SourcesJson {
            measured,
            interpolated,
            smoothed,
            transferred,
            bound,
            fitted: sources.fitted_share(),
        }
    }
}
