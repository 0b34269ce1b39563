//! The feed-forward part of a layer.

use rooflut::model::ModelSpecBuilder;

use crate::error::ConfigError;
use crate::family::{Family, Layers};
use crate::keys::{Dimension, Field, TOP_K};
use crate::object::{Object, shown};

/// The feed-forward part of each layer.
pub(crate) struct FfnFields {
    /// Its dimensions.
    pub(crate) fields: Vec<Field>,
    /// Whether the FFN has a gate.
    pub(crate) gated: bool,
    /// `intermediate_size` where the experts have a width of their own.
    pub(crate) dense_intermediate: Option<u32>,
}

/// Reads the feed-forward part of the `layers` layers of a model of this hidden size.
pub(crate) fn read(
    config: &Object<'_>,
    family: &Family,
    hidden: Dimension,
    layers: u32,
) -> Result<FfnFields, ConfigError> {
    let gated = gated(config, family)?;
    let width = config.dimension(WIDTH)?;
    let experts = match family.layers {
        Layers::Gated | Layers::Ungated => None,
        Layers::Experts | Layers::ExpertsAndOne => Some(config.required(EXPERTS)?),
        Layers::Assumed => config
            .dimension(EXPERTS)?
            .filter(|experts| experts.value > 1),
    };
    if let Some(experts) = experts {
        if !family.assumed {
            refuse_dense_layers(config, family, layers)?;
        }
        return expert_fields(config, family.layers, experts, width);
    }
    let width = match (width, family.layers) {
        (None, Layers::Ungated) => Dimension {
            key: "4 * hidden_size",
            value: hidden.value.saturating_mul(4),
        },
        (width, _) => width.ok_or_else(|| config.missing(WIDTH))?,
    };
    Ok(FfnFields {
        fields: vec![Field::new(
            "intermediate",
            ModelSpecBuilder::intermediate,
            width,
        )],
        gated,
        dense_intermediate: None,
    })
}

const WIDTH: &[&str] = &[
    "intermediate_size",
    "ffn_hidden_size",
    "ffn_dim",
    "n_inner",
    "ffn_config.ffn_hidden_size",
];
const EXPERTS: &[&str] = &[
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_num_experts",
    "ffn_config.moe_num_experts",
];
const EXPERTS_PER_TOKEN: &[&str] = &[
    TOP_K,
    "experts_per_token",
    "moe_k",
    "moe_topk",
    "ffn_config.moe_top_k",
];
const SHARED_EXPERTS: &[&str] = &[
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "moe_num_shared_experts",
];
const SHARED_WIDTH: &[&str] = &[
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
];

/// Activations of FFNs without a gate.
const UNGATED: [&str; 3] = ["relu2", "squared_relu", "xielu"];
/// Activations of both.
const EITHER: [&str; 11] = [
    "gelu",
    "gelu_fast",
    "gelu_new",
    "gelu_python",
    "gelu_pytorch_tanh",
    "quick_gelu",
    "relu",
    "silu",
    "swiglu",
    "swish",
    "geglu",
];

/// Returns whether the FFN has a gate. Refuses an activation that the family does not have.
fn gated(config: &Object<'_>, family: &Family) -> Result<bool, ConfigError> {
    let keys = ["hidden_act", "hidden_activation", "activation_function"];
    for key in keys {
        let Some(name) = config.text(key)? else {
            continue;
        };
        let is_ungated = UNGATED.contains(&name);
        match family.layers {
            Layers::Assumed => return Ok(!is_ungated),
            Layers::Ungated if is_ungated => {}
            _ if family.assumed => {}
            _ if EITHER.contains(&name) => {}
            _ => {
                return Err(ConfigError::Unsupported {
                    key: config.name(key),
                    feature: format!("the activation {} in layers of this type", shown(name)),
                });
            }
        }
    }
    Ok(family.layers != Layers::Ungated)
}

/// Reads the dimensions of a router and that many `experts`.
fn expert_fields(
    config: &Object<'_>,
    layers: Layers,
    experts: Dimension,
    width: Option<Dimension>,
) -> Result<FfnFields, ConfigError> {
    let own_width = config.dimension(&["moe_intermediate_size"])?;
    let intermediate = own_width.or(width).ok_or_else(|| config.missing(WIDTH))?;
    let top_k = config.required(EXPERTS_PER_TOKEN)?;
    let shared = shared_intermediate(config, layers, intermediate.value)?;
    Ok(FfnFields {
        fields: vec![
            Field::new("experts", ModelSpecBuilder::experts, experts),
            Field::new("top_k", ModelSpecBuilder::top_k, top_k),
            Field::new("intermediate", ModelSpecBuilder::intermediate, intermediate),
            Field::new(
                "shared_intermediate",
                ModelSpecBuilder::shared_intermediate,
                shared,
            ),
        ],
        gated: true,
        dense_intermediate: own_width.and(width).map(|width| width.value),
    })
}

/// Returns the intermediate size of the expert that every token visits, 0 if there is none.
fn shared_intermediate(
    config: &Object<'_>,
    layers: Layers,
    intermediate: u32,
) -> Result<Dimension, ConfigError> {
    let count = config.dimension(SHARED_EXPERTS)?;
    // Hunyuan: whether there are shared experts, which have their count as well.
    config.asked("use_mixed_mlp_moe");
    if let Some(shared) = config.dimension(SHARED_WIDTH)? {
        return Ok(shared);
    }
    Ok(match (count, layers) {
        (Some(Dimension { key, value }), _) => Dimension {
            key,
            value: value.saturating_mul(intermediate),
        },
        (None, Layers::ExpertsAndOne) => Dimension {
            key: "intermediate_size",
            value: intermediate,
        },
        (None, _) => Dimension {
            key: "n_shared_experts",
            value: 0,
        },
    })
}

fn mixed(config: &Object<'_>, key: &str) -> ConfigError {
    ConfigError::Unsupported {
        key: config.name(key),
        feature: "a mixture of dense and expert layers".to_owned(),
    }
}

/// Refuses models that have dense layers beside those of experts.
fn refuse_dense_layers(
    config: &Object<'_>,
    family: &Family,
    layers: u32,
) -> Result<(), ConfigError> {
    // Width of the dense layers that Llama 4 and MiniMax may have.
    config.asked("intermediate_size_mlp");
    config.asked("mlp_intermediate_size");
    let layers = i64::from(layers);
    type IsMixed = fn(&[i64], i64) -> bool;
    let rules: [(&'static str, IsMixed); 9] = [
        ("first_k_dense_replace", |first, _| {
            first.iter().any(|&k| k > 0)
        }),
        ("moe_layer_start_index", |start, _| {
            start.iter().any(|&k| k > 0)
        }),
        ("moe_layer_end_index", |end, layers| {
            end.iter().any(|&k| k >= 0 && k < layers - 1)
        }),
        ("decoder_sparse_step", |step, _| step.iter().any(|&k| k > 1)),
        ("interleave_moe_layer_step", |step, _| {
            step.iter().any(|&k| k > 1)
        }),
        ("moe_layer_interval", |step, _| step.iter().any(|&k| k > 1)),
        ("moe_layer_freq", |freq, _| freq.iter().any(|&k| k != 1)),
        ("mlp_only_layers", |dense, _| !dense.is_empty()),
        ("moe_layers", |moe, layers| {
            !moe.is_empty() && (moe.len() as i64) < layers
        }),
    ];
    for (key, is_mixed) in rules {
        let mut found = config.numbers(key)?;
        if found.is_empty() {
            found.extend(family.default(key, config).map(i64::from));
        }
        if is_mixed(&found, layers) {
            return Err(mixed(config, key));
        }
    }
    const KINDS: &str = "mlp_layer_types";
    match config.texts(KINDS)?.contains(&"dense") {
        true => Err(mixed(config, KINDS)),
        false => Ok(()),
    }
}
