//! The feed-forward part of a layer.

use rooflut::model::ModelSpecBuilder;

use crate::error::ConfigError;
use crate::family::{Family, Layers};
use crate::keys::{Dimension, Field, TOP_K};
use crate::object::{Object, shown};
use crate::spans::expect_one_each;

/// The feed-forward part of each layer.
pub(crate) struct FfnFields {
    /// Its dimensions.
    pub(crate) fields: Vec<Field>,
    /// Whether the FFN has a gate.
    pub(crate) gated: bool,
    /// `intermediate_size` where the experts have a width of their own.
    pub(crate) dense_intermediate: Option<u32>,
    /// Dense layers beside those of experts.
    pub(crate) dense: DenseLayers,
}

/// Dense layers of a model that has experts in others.
#[derive(Default)]
pub(crate) struct DenseLayers {
    /// Their indices, in ascending order.
    pub(crate) layers: Vec<u32>,
    /// Their intermediate size.
    pub(crate) intermediate: u32,
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
        Layers::GatedAndExperts => match config.switch("enable_moe_block")? {
            Some(true) => Some(config.required(EXPERTS)?),
            _ => config.dimension(EXPERTS)?.and(None),
        },
        Layers::Assumed => config.dimension(EXPERTS)?.filter(|experts| experts.value > 1),
    };
    if let Some(experts) = experts {
        let dense = if family.assumed { DenseLayers::default() } else { dense_layers(config, family, layers, width)? };
        let fields = expert_fields(config, family.layers, experts, width)?;
        return Ok(FfnFields { dense, ..fields });
    }
    let width = match (width, family.layers) {
        (None, Layers::Ungated) => Dimension { key: "4 * hidden_size", value: hidden.value.saturating_mul(4) },
        (width, _) => width.ok_or_else(|| config.missing(WIDTH))?,
    };
    Ok(FfnFields {
        fields: vec![Field::new("intermediate", ModelSpecBuilder::intermediate, width)],
        gated,
        dense_intermediate: None,
        dense: DenseLayers::default(),
    })
}

const WIDTH: &[&str] = &["intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner", "ffn_config.ffn_hidden_size"];
const EXPERTS: &[&str] =
    &["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "ffn_config.moe_num_experts"];
const EXPERTS_PER_TOKEN: &[&str] =
    &[TOP_K, "experts_per_token", "moe_k", "moe_topk", "top_k_experts", "ffn_config.moe_top_k"];
const SHARED_EXPERTS: &[&str] =
    &["n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"];
const SHARED_WIDTH: &[&str] =
    &["shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"];

/// Activations of FFNs without a gate.
const UNGATED: [&str; 3] = ["relu2", "squared_relu", "xielu"];
/// Activations of both.
const EITHER: [&str; 12] = [
    "gelu",
    "gelu_fast",
    "gelu_new",
    "gelu_python",
    "gelu_pytorch_tanh",
    "quick_gelu",
    "relu",
    "silu",
    "swiglu",
    "swigluoai",
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
    const OWN_WIDTH: &[&str] = &["moe_intermediate_size"];
    let own_width = config.dimension(OWN_WIDTH)?;
    let (width_of_experts, keys) = match layers {
        Layers::GatedAndExperts => (own_width, OWN_WIDTH),
        _ => (own_width.or(width), WIDTH),
    };
    let intermediate = width_of_experts.ok_or_else(|| config.missing(keys))?;
    let top_k = config.required(EXPERTS_PER_TOKEN)?;
    let shared = match layers {
        Layers::GatedAndExperts => width.ok_or_else(|| config.missing(WIDTH))?,
        _ => shared_intermediate(config, layers, intermediate.value)?,
    };
    Ok(FfnFields {
        fields: vec![
            Field::new("experts", ModelSpecBuilder::experts, experts),
            Field::new("top_k", ModelSpecBuilder::top_k, top_k),
            Field::new("intermediate", ModelSpecBuilder::intermediate, intermediate),
            Field::new("shared_intermediate", ModelSpecBuilder::shared_intermediate, shared),
        ],
        gated: true,
        dense_intermediate: own_width.and(width).map(|width| width.value),
        dense: DenseLayers::default(),
    })
}

/// Returns the intermediate size of the expert that every token visits, 0 if there is none.
fn shared_intermediate(config: &Object<'_>, layers: Layers, intermediate: u32) -> Result<Dimension, ConfigError> {
    let count = config.dimension(SHARED_EXPERTS)?;
    // Hunyuan: whether there are shared experts, which have their count as well.
    config.asked("use_mixed_mlp_moe");
    if let Some(shared) = config.dimension(SHARED_WIDTH)? {
        return Ok(shared);
    }
    Ok(match (count, layers) {
        (Some(Dimension { key, value }), _) => Dimension { key, value: value.saturating_mul(intermediate) },
        (None, Layers::ExpertsAndOne) => Dimension { key: "intermediate_size", value: intermediate },
        (None, _) => Dimension { key: "n_shared_experts", value: 0 },
    })
}

/// Reads which layers of a model with experts are dense, and how wide they are.
fn dense_layers(
    config: &Object<'_>,
    family: &Family,
    layers: u32,
    width: Option<Dimension>,
) -> Result<DenseLayers, ConfigError> {
    // Llama 4 and MiniMax name the width of dense layers.
    let own_width = config.dimension(&["intermediate_size_mlp", "mlp_intermediate_size", "dense_intermediate_size"])?;
    let pattern = Pattern::read(config, family, layers)?;
    let dense = (0..layers).filter(|layer| !pattern.has_experts(*layer));
    let dense: Vec<u32> = dense.collect();
    let width = own_width.or(width).filter(|_| !dense.is_empty());
    if width.is_none() && !dense.is_empty() {
        return Err(config.missing(WIDTH));
    }
    Ok(DenseLayers { layers: dense, intermediate: width.map_or(0, |width| width.value) })
}

/// Which layers have experts.
struct Pattern<'c> {
    /// The first and the last one.
    ends: [i64; 2],
    /// Every so many layers, counted from 1: of each number, where they are several.
    steps: Vec<i64>,
    /// None, or every so many layers, or 1 for each that has some.
    frequency: Vec<i64>,
    /// All of them, if they are listed.
    listed: Vec<i64>,
    only_dense: Vec<i64>,
    kinds: Vec<&'c str>,
}

impl<'c> Pattern<'c> {
    fn read(config: &Object<'c>, family: &Family, layers: u32) -> Result<Pattern<'c>, ConfigError> {
        let numbers = |key| {
            let found = config.numbers(key)?;
            let default = || family.default(key, config).map(i64::from);
            if found.is_empty() { Ok(Vec::from_iter(default())) } else { Ok(found) }
        };
        let number = |key, default: i64| Ok(numbers(key)?.first().copied().unwrap_or(default));
        let all = |key, expected, accepts: &dyn Fn(i64) -> bool| {
            let found = numbers(key)?;
            match found.iter().find(|&&number| !accepts(number)) {
                Some(wrong) => Err(ConfigError::Type { key: config.name(key), expected, found: wrong.to_string() }),
                None => Ok(found),
            }
        };
        let first = number("first_k_dense_replace", 0)?.max(number("moe_layer_start_index", 0)?);
        let last = match number("moe_layer_end_index", -1)? {
            end if end < 0 => i64::from(layers),
            end => end,
        };
        // Ernie and Qwen count layers from 1, as does Llama 4 where it has no list.
        let mut steps = Vec::new();
        for key in ["decoder_sparse_step", "moe_layer_interval", "interleave_moe_layer_step"] {
            let step = all(key, "a positive number", &|step| step > 0)?;
            steps.push(step.first().copied().unwrap_or(1));
        }
        let is_layer = |layer| (0..i64::from(layers)).contains(&layer);
        let listed = all("moe_layers", "indices of layers", &is_layer)?;
        if !listed.is_empty() {
            steps.pop();
        }
        let only_dense = all("mlp_only_layers", "indices of layers", &is_layer)?;
        const FREQUENCY: &str = "moe_layer_freq";
        let frequency = match numbers(FREQUENCY)?.len() {
            0 | 1 => all(FREQUENCY, "a positive number", &|every| every > 0)?,
            each => {
                expect_one_each(config, FREQUENCY, each, layers)?;
                all(FREQUENCY, "0 or 1 for each layer", &|entry| entry == 0 || entry == 1)?
            }
        };
        Ok(Pattern { ends: [first, last], steps, frequency, listed, only_dense, kinds: kinds(config, layers)? })
    }

    fn has_experts(&self, layer: u32) -> bool {
        let index = layer as usize;
        let layer = i64::from(layer);
        let is_frequent = match self.frequency.as_slice() {
            [] => true,
            [every] => layer % every == 0,
            each => each.get(index) == Some(&1),
        };
        let [first, last] = self.ends;
        (first..=last).contains(&layer)
            && is_frequent
            && self.steps.iter().all(|step| (layer + 1) % step == 0)
            && (self.listed.is_empty() || self.listed.contains(&layer))
            && !self.only_dense.contains(&layer)
            && self.kinds.get(index) != Some(&"dense")
    }
}

/// Reads the kind of each layer, `dense` or `sparse`, where they are listed.
fn kinds<'c>(config: &Object<'c>, layers: u32) -> Result<Vec<&'c str>, ConfigError> {
    const KINDS: &str = "mlp_layer_types";
    let kinds = config.texts(KINDS)?;
    if !kinds.is_empty() {
        expect_one_each(config, KINDS, kinds.len(), layers)?;
    }
    let mut unknown = kinds.iter().filter(|kind| !["dense", "sparse"].contains(kind));
    match unknown.next() {
        Some(kind) => Err(ConfigError::Unsupported {
            key: config.name(KINDS),
            feature: format!("layers of type {}", shown(kind)),
        }),
        None => Ok(kinds),
    }
}
