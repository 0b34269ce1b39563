//! Sources of the time of steps.

use rooflut::step::{Binding, Part, TimeSources};
use rooflut::table::{self, Class};
use serde::{Serialize, Serializer};

/// Where looked-up time comes from; both null where nothing was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Provenance {
    /// Name of the [`Class`].
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

/// Names with their shares of the time, in JSON an object in this order.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shares(
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub  Vec<(&'static str, f64)>,
);

impl Shares {
    /// Shares by source: the classes of what was looked up, and `fitted` for constants that were fitted to servers and
    /// traffic of small kernels. 1 in all, unless no step was run.
    pub fn by_source(sources: &TimeSources) -> Shares {
        let classes = Class::ALL.map(Class::name).into_iter().zip(sources.class_shares());
        Shares(classes.chain([("fitted", sources.fitted_share())]).collect())
    }

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
