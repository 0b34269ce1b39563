//! Sources of the time of steps.

use rooflut::step::{Binding, Part, TimeSources};
use rooflut::table;
use serde::{Serialize, Serializer};

/// Where looked-up time comes from; both null where nothing was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Provenance {
    /// Name of the [`Class`](table::Class).
    pub class: Option<&'static str>,
    /// `inside` or `outside` of the measured ranges.
    pub extent: Option<&'static str>,
}

impl From<Option<table::Provenance>> for Provenance {
    fn from(provenance: Option<table::Provenance>) -> Provenance {
        Provenance {
            class: provenance.map(|provenance| provenance.class.name()),
            extent: provenance.map(|provenance| provenance.extent.name()),
        }
    }
}

impl From<table::Provenance> for Provenance {
    fn from(provenance: table::Provenance) -> Provenance {
        Some(provenance).into()
    }
}

/// Shares of the time of all steps by source; 1 in all, unless no step was run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SourceShares {
    /// Measured rows.
    pub measured: f64,
    /// Interpolated between rows of a shape.
    pub interpolated: f64,
    /// Read from a smoothed curve.
    pub smoothed: f64,
    /// Transferred from another shape.
    pub transferred: f64,
    /// Physical bounds without a measurement.
    pub bound: f64,
    /// Constants fitted to servers, and traffic of small kernels.
    pub fitted: f64,
}

impl From<&TimeSources> for SourceShares {
    fn from(sources: &TimeSources) -> SourceShares {
        let [measured, interpolated, smoothed, transferred, bound] = sources.class_shares();
        SourceShares {
            measured,
            interpolated,
            smoothed,
            transferred,
            bound,
            fitted: sources.fitted_share(),
        }
    }
}

/// Names with their shares of the time, in JSON an object in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares(pub Vec<(&'static str, f64)>);

impl Shares {
    /// Shares by part of a step.
    pub fn by_part(sources: &TimeSources) -> Shares {
        let names = Part::ALL.map(Part::name);
        Shares(names.into_iter().zip(sources.part_shares()).collect())
    }

    /// Shares by what bounds the time.
    pub fn by_binding(sources: &TimeSources) -> Shares {
        let names = Binding::ALL.map(Binding::name);
        Shares(names.into_iter().zip(sources.binding_shares()).collect())
    }
}

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
