//! Gated delta nets in place of attention in some layers.

use rooflut::model::{Attention, ModelSpec};

use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::Dimension;
use crate::object::{Object, shown};
use crate::spans::{KINDS, LINEAR, expect_one_each};

/// The gated delta nets of a model.
pub(crate) struct DeltaNets {
    /// One of them.
    pub(crate) attention: Attention,
    /// Whether the layers are such, in order.
    pub(crate) layers: Vec<bool>,
    /// Whether the attention of the others has a gate of its output.
    pub(crate) output_gate: bool,
}

/// Reads the gated delta nets of `layers` layers, if the family has some.
pub(crate) fn read(config: &Object<'_>, family: &Family, layers: u32) -> Result<Option<DeltaNets>, ConfigError> {
    if !family.has_delta_nets {
        return Ok(None);
    }
    let one = |key: &'static [&'static str]| family.required(config, key);
    let refuse = |key: &str, feature: String| Err(ConfigError::Unsupported { key: config.name(key), feature });
    let k_heads = one(&["linear_num_key_heads"])?;
    let v_heads = one(&["linear_num_value_heads"])?;
    let head_dim = one(&["linear_key_head_dim"])?;
    let other = one(&["linear_value_head_dim"])?;
    if other.value != head_dim.value {
        let feature = format!("heads of values of {}, not {},", other.value, head_dim.value);
        return refuse(other.key, feature);
    }
    let kernel = one(&["linear_conv_kernel_dim"])?;
    if kernel.value != 4 {
        return refuse(kernel.key, format!("a convolution of {}", kernel.value));
    }
    if let Some(dtype) = config.text(STATE)?.filter(|dtype| *dtype != "float32") {
        return refuse(STATE, format!("a state in {}", shown(dtype)));
    }
    let kinds = config.texts(KINDS)?;
    let listed = kinds.iter().map(|kind| *kind == LINEAR);
    let layers = if kinds.is_empty() {
        let every = one(&["full_attention_interval"])?.value;
        (0..layers).map(|layer| (layer + 1).checked_rem(every) != Some(0)).collect()
    } else {
        expect_one_each(config, KINDS, kinds.len(), layers)?;
        listed.collect()
    };
    Ok(Some(DeltaNets {
        attention: attention([k_heads, v_heads, head_dim])?,
        layers,
        output_gate: config.switch("attn_output_gate")?.unwrap_or(true),
    }))
}

fn attention(dimensions: [Dimension; 3]) -> Result<Attention, ConfigError> {
    if let Some(Dimension { key: field, .. }) = dimensions.iter().find(|dimension| dimension.value == 0) {
        return Err(ConfigError::zero(field));
    }
    let [k_heads, v_heads, head_dim] = dimensions.map(|dimension| dimension.value);
    let builder =
        ModelSpec::builder().hidden(1).layers(1).intermediate(1).k_heads(k_heads).v_heads(v_heads).head_dim(head_dim);
    let model = builder.vocab(1).max_model_len(1).build().map_err(ConfigError::Spec)?;
    Ok(model.layers.first().attention)
}

/// Format of the recurrent state.
const STATE: &str = "mamba_ssm_dtype";
