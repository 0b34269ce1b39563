//! The keys of a `config.json` that hold the dimensions of its model.

use rooflut::Invalid;
use rooflut::model::ModelSpecBuilder;

/// The key of the experts that each token visits.
pub(crate) const TOP_K: &str = "num_experts_per_tok";

/// A number and the key that holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dimension {
    pub(crate) key: &'static str,
    pub(crate) value: u32,
}

/// A field of [`ModelSpec`](rooflut::model::ModelSpec) and the dimension that it is read from.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) set: fn(ModelSpecBuilder, u32) -> ModelSpecBuilder,
    pub(crate) dimension: Dimension,
}

impl Field {
    pub(crate) fn new(
        name: &'static str,
        set: fn(ModelSpecBuilder, u32) -> ModelSpecBuilder,
        dimension: Dimension,
    ) -> Field {
        Field { name, set, dimension }
    }
}

/// The keys of a `config.json` that hold the dimensions of its model.
///
/// Files differ: the number of experts is `num_experts`, `num_local_experts` or `n_routed_experts`.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Names of fields, each with its key.
    pairs: Vec<(&'static str, &'static str)>,
}

impl Keys {
    pub(crate) fn new(fields: &[Field]) -> Keys {
        let pairs = fields.iter().map(|field| (field.name, field.dimension.key));
        Keys { pairs: pairs.collect() }
    }

    /// Returns `error` with the keys of the file instead of the fields of `ModelSpec`.
    pub fn rename(&self, error: Invalid) -> Invalid {
        error.renamed(|field| self.key(field))
    }

    fn key(&self, field: &'static str) -> &'static str {
        let mut pairs = self.pairs.iter();
        let pair = pairs.find(|(name, _)| *name == field);
        pair.map_or(field, |(_, key)| key)
    }
}
