//! The model dimensions that the predecessors read.

use rooflut::model::{Attention, CatalogEntry, Ffn, Gqa, ModelSpec};
use rooflut_error::{Error, Kind};

/// The model dimensions that the predecessors read from a `config.json`. For a model with experts, these may include
/// an `intermediate_size` in addition to the experts' own size.
///
/// A [`ModelSpec`] converts into one without that size, a [`CatalogEntry`] into one with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompatSpec {
    pub(super) model: ModelSpec,
    dense_intermediate: Option<u32>,
}

/// Beginnings of names, and the `intermediate_size` of models whose `config.json` gives the experts' size separately as
/// `moe_intermediate_size`.
const DENSE_INTERMEDIATE: [(&str, u32); 2] = [("qwen3-30b-a3b", 6144), ("qwen3-235b-a22b", 12_288)];

impl CompatSpec {
    /// Sets the `intermediate_size` of a `config.json` that gives the experts' size separately as
    /// `moe_intermediate_size`.
    ///
    /// No layer has this size, but [`Blis`](super::Blis) and [`Calibrated`](super::Calibrated), which do not support
    /// experts, use it for the FFN, and [`InferSim`](super::InferSim) recognizes experts by it.
    #[must_use]
    pub const fn with_dense_intermediate(mut self, dense_intermediate: u32) -> CompatSpec {
        self.dense_intermediate = Some(dense_intermediate);
        self
    }

    /// Checks the model and returns the attention heads of its layers, which all have. The predecessors do not know
    /// windows.
    pub(super) fn heads(&self) -> Result<Gqa, Error> {
        self.model.check().map_err(|error| Error::new(Kind::Value, format!("model: {error}")))?;
        let first = self.model.layers.first();
        let differs = self.model.layers.iter().any(|group| {
            let attention = group.attention.with_span(first.attention.span());
            attention != first.attention || group.ffn != first.ffn
        });
        match first.attention {
            _ if differs || self.experts_or_dense().is_none() => Err(Error::new(
                Kind::NotModelled,
                "layers: expected equal heads and FFNs in all, found some that differ; the predecessors do not model them",
            )),
            Attention::Gqa(heads) if !heads.output_gate => Ok(heads),
            _ => Err(Error::new(
                Kind::NotModelled,
                "layers: expected heads that share keys and values, found latent attention (MLA), a gated delta net or \
                 an output gate; the predecessors do not model these",
            )),
        }
    }

    /// Returns the intermediate size of the layers and (experts, top_k), if there are any; `None` for another kind of
    /// FFN, which [`heads`](Self::heads) rejects.
    fn experts_or_dense(&self) -> Option<(u32, Option<(u32, u32)>)> {
        match self.model.layers.first().ffn {
            Ffn::Dense { intermediate, .. } => Some((intermediate, None)),
            Ffn::Moe { experts, top_k, intermediate, .. } => Some((intermediate, Some((experts, top_k)))),
            _ => None,
        }
    }

    /// Returns the `intermediate_size` of the `config.json`.
    pub(super) fn intermediate_size(&self) -> u32 {
        match self.experts_or_dense().unwrap_or_default() {
            (intermediate, None) => intermediate,
            (intermediate, Some(_)) => self.dense_intermediate.unwrap_or(intermediate),
        }
    }

    /// Returns the intermediate size and (experts, top_k) as InferSim reads them. It reads experts only from
    /// `num_experts`, which comes with an `intermediate_size` separate from that of the experts.
    pub(super) fn known_experts(&self) -> (u32, Option<(u32, u32)>) {
        let (intermediate, experts) = self.experts_or_dense().unwrap_or_default();
        (intermediate, experts.filter(|_| self.dense_intermediate.is_some()))
    }
}

impl From<&ModelSpec> for CompatSpec {
    fn from(model: &ModelSpec) -> CompatSpec {
        CompatSpec { model: *model, dense_intermediate: None }
    }
}

impl From<&CatalogEntry> for CompatSpec {
    fn from(entry: &CatalogEntry) -> CompatSpec {
        let mut named = DENSE_INTERMEDIATE.into_iter();
        CompatSpec {
            model: entry.spec,
            dense_intermediate: named.find(|&(name, _)| entry.name.starts_with(name)).map(|(_, size)| size),
        }
    }
}

/// The model cannot be divided among the ranks.
pub(super) fn impossible_ranks(tp: u32, world: u32, max_tp: u32) -> Error {
    let text = format!("tp {tp}, world {world}: expected a tp of 1 to {max_tp} and a world of at least tp");
    Error::new(Kind::Parallelism, text)
}
