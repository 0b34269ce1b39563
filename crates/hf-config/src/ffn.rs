//! The feed-forward part of a layer.

use rooflut::model::ModelSpecBuilder;

use crate::error::ConfigError;
use crate::keys::{Dimension, Field, TOP_K};
use crate::object::Object;

/// Returns the number of experts, under one of its names, where there are several.
pub(crate) fn experts(config: &Object<'_>) -> Result<Option<Dimension>, ConfigError> {
    for key in ["num_local_experts", "num_experts", "n_routed_experts"] {
        match config.dimension(key)? {
            Some(experts) if experts.value > 1 => return Ok(Some(experts)),
            _ => {}
        }
    }
    Ok(None)
}

/// Reads the dimensions of a dense FFN.
pub(crate) fn dense_fields(config: &Object<'_>) -> Result<Vec<Field>, ConfigError> {
    let intermediate = config.required("intermediate_size")?;
    Ok(vec![Field {
        name: "intermediate",
        set: ModelSpecBuilder::intermediate,
        dimension: intermediate,
    }])
}

/// Reads the dimensions of a router and that many `experts`.
pub(crate) fn expert_fields(
    config: &Object<'_>,
    experts: Dimension,
) -> Result<Vec<Field>, ConfigError> {
    refuse_dense_layers(config)?;
    let intermediate = match config.dimension("moe_intermediate_size")? {
        Some(intermediate) => intermediate,
        None => config.required("intermediate_size")?,
    };
    Ok(vec![
        Field {
            name: "experts",
            set: ModelSpecBuilder::experts,
            dimension: experts,
        },
        Field {
            name: "top_k",
            set: ModelSpecBuilder::top_k,
            dimension: config.required(TOP_K)?,
        },
        Field {
            name: "intermediate",
            set: ModelSpecBuilder::intermediate,
            dimension: intermediate,
        },
        Field {
            name: "shared_intermediate",
            set: ModelSpecBuilder::shared_intermediate,
            dimension: shared_intermediate(config, intermediate.value)?,
        },
    ])
}

/// The intermediate size of the expert that every token visits, 0 if there is none.
fn shared_intermediate(config: &Object<'_>, intermediate: u32) -> Result<Dimension, ConfigError> {
    if let Some(shared) = config.dimension("shared_expert_intermediate_size")? {
        return Ok(shared);
    }
    let key = "n_shared_experts";
    let model_type = config.text("model_type")?.unwrap_or_default();
    let value = match config.dimension(key)? {
        Some(shared) => shared.value.saturating_mul(intermediate),
        // Llama 4 has one shared expert, as wide as the others, and no key for it.
        None if model_type.starts_with("llama4") => intermediate,
        None => 0,
    };
    Ok(Dimension { key, value })
}

/// Refuses models that have dense layers beside those of experts.
fn refuse_dense_layers(config: &Object<'_>) -> Result<(), ConfigError> {
    let refuse = |key| {
        Err(ConfigError::Unsupported {
            key,
            feature: "a mixture of dense and expert layers".to_owned(),
        })
    };
    for (key, limit) in [
        ("first_k_dense_replace", 0),
        ("decoder_sparse_step", 1),
        ("interleave_moe_layer_step", 1),
    ] {
        match config.dimension(key)? {
            Some(found) if found.value > limit => return refuse(key),
            _ => {}
        }
    }
    match config.list("mlp_only_layers")? {
        [] => Ok(()),
        _ => refuse("mlp_only_layers"),
    }
}
