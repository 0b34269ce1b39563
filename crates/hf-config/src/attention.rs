//! The attention heads of a layer.

use rooflut::model::{Attention, ModelSpec, ModelSpecBuilder};
use rooflut::{Invalid, MessagePart};

use crate::compressed;
use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::{Dimension, Field, Keys};
use crate::object::Object;

/// Reads the dimensions of the attention heads.
pub(crate) fn read(config: &Object<'_>, family: &Family, hidden: Dimension) -> Result<Vec<Field>, ConfigError> {
    let q_heads = family.required(config, Q_HEADS)?;
    let q_heads_field = Field::new("q_heads", ModelSpecBuilder::q_heads, q_heads);
    if family.latent {
        let mut fields = latent(config, family)?;
        fields.push(q_heads_field);
        return Ok(fields);
    }
    if family.compressed {
        let mut fields = compressed::fields(config, family)?;
        fields.push(q_heads_field);
        return Ok(fields);
    }
    // Falcon has one KV head where these say so, ChatGLM as many as query heads.
    let is_new = config.switch("new_decoder_architecture")? == Some(true);
    let is_single = config.switch("multi_query")? == Some(true) && !is_new;
    let is_grouped = config.switch("multi_query_attention")? != Some(false);
    let kv_heads = family.dimension(config, KV_HEADS)?.filter(|_| is_grouped);
    let kv_heads = if is_single { Dimension { key: "multi_query", value: 1 } } else { kv_heads.unwrap_or(q_heads) };
    let head_dim = match family.dimension(config, HEAD_DIM)? {
        Some(head_dim) => head_dim,
        None if hidden.value.checked_rem(q_heads.value).is_some_and(|rest| rest > 0) => {
            return Err(ConfigError::Spec(Invalid::new(
                hidden.key,
                "expected a multiple of {} ({}), found {}",
                &[MessagePart::Setting(q_heads.key), q_heads.value.into(), hidden.value.into()],
            )));
        }
        None => Dimension {
            key: "hidden_size / num_attention_heads",
            value: hidden.value.checked_div(q_heads.value).unwrap_or(0),
        },
    };
    Ok(vec![
        q_heads_field,
        Field::new("kv_heads", ModelSpecBuilder::kv_heads, kv_heads),
        Field::new("head_dim", ModelSpecBuilder::head_dim, head_dim),
    ])
}

/// Reads the attention heads of layers without a window, where a family has others in these, given the heads of the
/// other layers. Refuses what such families may have beside them.
///
/// Where keys and values have the same weights, vLLM loads them into both, so that they count twice.
pub(crate) fn read_global(
    config: &Object<'_>,
    family: &Family,
    heads: &[Field],
) -> Result<Option<Attention>, ConfigError> {
    let &[q_heads, kv_heads, _] = heads else {
        return Ok(None);
    };
    if !family.has_global_heads {
        return Ok(None);
    }
    let refused = [
        (&["hidden_size_per_layer_input"], "per-layer embeddings"),
        (&["num_kv_shared_layers"], "layers that share KV entries"),
    ];
    for (keys, feature) in refused.into_iter().filter(|_| !family.assumed) {
        let found = family.dimension(config, keys)?;
        if let Some(Dimension { key, .. }) = found.filter(|found| found.value > 0) {
            return Err(ConfigError::Unsupported { key: config.name(key), feature: feature.to_owned() });
        }
        config.asked("vocab_size_per_layer_input");
    }
    let head_dim = family.required(config, &["global_head_dim"])?;
    let own = config.dimension(&["num_global_key_value_heads"])?;
    let is_shared = config.switch("attention_k_eq_v")? == Some(true);
    let kv_heads = own.filter(|_| is_shared).unwrap_or(kv_heads.dimension);
    let fields = [
        q_heads,
        Field::new("kv_heads", ModelSpecBuilder::kv_heads, kv_heads),
        Field::new("head_dim", ModelSpecBuilder::head_dim, head_dim),
    ];
    let builder = ModelSpec::builder().hidden(1).layers(1).intermediate(1).vocab(1).max_model_len(1);
    let builder = fields.iter().fold(builder, |builder, field| (field.set)(builder, field.dimension.value));
    let keys = Keys::new(&fields);
    let model = builder.build().map_err(|error| ConfigError::Spec(keys.rename(error)))?;
    Ok(Some(model.layers.first().attention))
}

/// Reads the dimensions of latent attention.
fn latent(config: &Object<'_>, family: &Family) -> Result<Vec<Field>, ConfigError> {
    // As many as query heads, and the dimension of a head with rotary embedding or that of a whole one.
    ["num_key_value_heads", "head_dim", "qk_head_dim"].iter().for_each(|key| config.asked(key));
    let kv_rank = family.required(config, KV_RANK)?;
    if kv_rank.value == 0 {
        return Err(ConfigError::zero(kv_rank.key));
    }
    // A `null`: not compressed.
    let q_rank = family.dimension(config, Q_RANK)?.unwrap_or(Dimension { key: "q_lora_rank", value: 0 });
    let required = |keys| family.required(config, keys);
    let mut fields = vec![
        Field::new("q_rank", ModelSpecBuilder::q_rank, q_rank),
        Field::new("kv_rank", ModelSpecBuilder::kv_rank, kv_rank),
        Field::new("nope_dim", ModelSpecBuilder::nope_dim, required(NOPE_DIM)?),
        Field::new("rope_dim", ModelSpecBuilder::rope_dim, required(ROPE_DIM)?),
        Field::new("v_dim", ModelSpecBuilder::v_dim, required(V_DIM)?),
    ];
    if family.has_indexer {
        let heads = required(INDEX_HEADS)?;
        if heads.value == 0 {
            return Err(ConfigError::zero(heads.key));
        }
        let (dim, top_k) = (required(INDEX_DIM)?, required(INDEX_TOP_K)?);
        fields.extend([
            Field::new("index_heads", ModelSpecBuilder::index_heads, heads),
            Field::new("index_dim", ModelSpecBuilder::index_dim, dim),
            Field::new("index_top_k", ModelSpecBuilder::index_top_k, top_k),
        ]);
    }
    Ok(fields)
}

const Q_RANK: &[&str] = &["q_lora_rank"];
const KV_RANK: &[&str] = &["kv_lora_rank"];
const NOPE_DIM: &[&str] = &["qk_nope_head_dim"];
const ROPE_DIM: &[&str] = &["qk_rope_head_dim"];
const V_DIM: &[&str] = &["v_head_dim"];
const INDEX_HEADS: &[&str] = &["index_n_heads"];
const INDEX_DIM: &[&str] = &["index_head_dim"];
const INDEX_TOP_K: &[&str] = &["index_topk"];
const Q_HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads"];
const KV_HEADS: &[&str] =
    &["num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "attn_config.kv_n_heads"];
const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels"];
