//! The attention heads of a layer.

use rooflut::model::{ModelSpecBuilder, SpecError};

use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::{Dimension, Field};
use crate::object::Object;

/// Reads the dimensions of the attention heads.
pub(crate) fn read(
    config: &Object<'_>,
    family: &Family,
    hidden: Dimension,
) -> Result<[Field; 3], ConfigError> {
    let q_heads = family.required(config, Q_HEADS)?;
    // Falcon has one KV head where these say so, ChatGLM as many as query heads.
    let is_new = config.switch("new_decoder_architecture")? == Some(true);
    let is_single = config.switch("multi_query")? == Some(true) && !is_new;
    let is_grouped = config.switch("multi_query_attention")? != Some(false);
    let kv_heads = family.dimension(config, KV_HEADS)?.filter(|_| is_grouped);
    let kv_heads = match is_single {
        true => Dimension {
            key: "multi_query",
            value: 1,
        },
        false => kv_heads.unwrap_or(q_heads),
    };
    let head_dim = match family.dimension(config, HEAD_DIM)? {
        Some(head_dim) => head_dim,
        None if hidden
            .value
            .checked_rem(q_heads.value)
            .is_some_and(|rest| rest > 0) =>
        {
            return Err(ConfigError::Spec(SpecError::NotDivisible {
                field: hidden.key,
                found: hidden.value,
                by: q_heads.key,
                divisor: q_heads.value,
            }));
        }
        None => Dimension {
            key: "hidden_size / num_attention_heads",
            value: hidden.value.checked_div(q_heads.value).unwrap_or(0),
        },
    };
    Ok([
        Field::new("q_heads", ModelSpecBuilder::q_heads, q_heads),
        Field::new("kv_heads", ModelSpecBuilder::kv_heads, kv_heads),
        Field::new("head_dim", ModelSpecBuilder::head_dim, head_dim),
    ])
}

const Q_HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads"];
const KV_HEADS: &[&str] = &[
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "attn_config.kv_n_heads",
];
const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels"];
