//! Formats of weights.

use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use serde::Serialize;

/// Formats of a model's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Weights {
    /// Format of the weights other than experts.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub weight_dtype: Dtype,
    /// Format of the experts; null without.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub expert_dtype: Option<Dtype>,
}

impl From<&ModelSpec> for Weights {
    fn from(spec: &ModelSpec) -> Weights {
        Weights {
            weight_dtype: spec.layers.first().attention_dtype,
            expert_dtype: spec.experts().map(|group| group.ffn_dtype),
        }
    }
}
