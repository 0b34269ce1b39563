//! Models by name.

use std::collections::BTreeSet;
use std::fmt;

use rooflut::hardware::Dtype;
use rooflut::model::{LayerGroup, ModelSpec, Sampler};

/// A model and the name that reports and messages give it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its name, or the path of its file.
    pub name: String,
    /// Dimensions of the model, with the weights as served.
    pub spec: ModelSpec,
    /// The format of the KV cache that its files name.
    pub(crate) kv_dtype: Option<Dtype>,
    /// The format that was asked for and that some of its weights have.
    dtype: Option<Dtype>,
    /// The format of its weights that no kernel has, where one of the same size stands in for it.
    pub(crate) replaced: Option<String>,
}

impl Model {
    /// A model with weights in its own format.
    pub fn new(name: impl Into<String>, spec: ModelSpec) -> Model {
        Model { name: name.into(), spec, kv_dtype: None, dtype: None, replaced: None }
    }

    /// Sets the format of the KV cache that its files name, if they do.
    #[must_use]
    pub fn with_kv_dtype(self, kv_dtype: Option<Dtype>) -> Model {
        Model { kv_dtype, ..self }
    }

    /// Sets the format of its weights that no kernel has, where the model has one of the same size in its place.
    /// [`Fits`](crate::Fits) answers for its memory; nothing answers for its times.
    #[must_use]
    pub fn with_replaced_format(self, replaced: Option<String>) -> Model {
        Model { replaced, ..self }
    }

    /// Sets the sampling of its tokens, if one is given.
    #[must_use]
    pub fn with_sampler(self, sampler: Option<Sampler>) -> Model {
        let spec = sampler.map_or(self.spec, |sampler| self.spec.with_sampler(sampler));
        Model { spec, ..self }
    }

    /// Sets the format of its weights, if one is given, by the rules of [`ModelSpec::with_weight_dtype`].
    #[must_use]
    pub fn with_weights(self, dtype: Option<Dtype>) -> Model {
        let spec = dtype.map_or(self.spec, |dtype| self.spec.with_weight_dtype(dtype));
        let model = Model { spec, ..self };
        let dtype = dtype.filter(|given| model.formats().contains(given));
        Model { dtype, ..model }
    }

    /// Returns the formats of its weights, each once.
    pub fn formats(&self) -> BTreeSet<Dtype> {
        let groups = self.spec.layers.iter();
        groups.flat_map(LayerGroup::dtypes).collect()
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.dtype.map_or(Ok(()), |dtype| write!(f, " ({dtype} weights)"))
    }
}
