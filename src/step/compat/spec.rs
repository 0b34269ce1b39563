//! A model as the predecessors read it.

use crate::model::{CatalogEntry, Ffn, ModelSpec};

/// A model as the predecessors read it from its `config.json`: its dimensions, and for a model with
/// experts the `intermediate_size` that may stand beside the experts' own size.
///
/// A [`ModelSpec`] converts into one without that size, a [`CatalogEntry`] into one with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompatSpec {
    pub(super) model: ModelSpec,
    dense_intermediate: Option<u32>,
}

/// `intermediate_size` of the `config.json` of models that give the experts' size as
/// `moe_intermediate_size` beside it.
const DENSE_INTERMEDIATE: [(&str, u32); 1] = [("qwen3-30b-a3b", 6144)];

impl CompatSpec {
    /// The same model with the `intermediate_size` of a `config.json` that gives the experts' size
    /// beside it, as `moe_intermediate_size`.
    ///
    /// No layer has this size, but [`Blis`](super::Blis) and [`Calibrated`](super::Calibrated), which
    /// know no experts, take it for the FFN, and [`InferSim`](super::InferSim) knows experts by it.
    #[must_use]
    pub const fn with_dense_intermediate(mut self, dense_intermediate: u32) -> CompatSpec {
        self.dense_intermediate = Some(dense_intermediate);
        self
    }

    /// `intermediate_size` of the `config.json`.
    pub(super) fn intermediate_size(&self) -> u32 {
        match self.model.ffn {
            Ffn::Dense { intermediate } => intermediate,
            Ffn::Moe { intermediate, .. } => self.dense_intermediate.unwrap_or(intermediate),
        }
    }

    /// The intermediate size and (experts, top_k) as InferSim reads them: experts only from
    /// `num_experts`, which comes with an `intermediate_size` beside that of the experts.
    pub(super) fn known_experts(&self) -> (u32, Option<(u32, u32)>) {
        match self.model.ffn {
            Ffn::Dense { intermediate } => (intermediate, None),
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                ..
            } => {
                let known = self.dense_intermediate.map(|_| (experts, top_k));
                (intermediate, known)
            }
        }
    }
}

impl From<&ModelSpec> for CompatSpec {
    fn from(model: &ModelSpec) -> CompatSpec {
        CompatSpec {
            model: *model,
            dense_intermediate: None,
        }
    }
}

impl From<&CatalogEntry> for CompatSpec {
    fn from(entry: &CatalogEntry) -> CompatSpec {
        let mut named = DENSE_INTERMEDIATE.into_iter();
        CompatSpec {
            model: entry.spec,
            dense_intermediate: named
                .find(|&(name, _)| name == entry.name)
                .map(|(_, size)| size),
        }
    }
}
