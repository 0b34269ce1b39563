//! Block-sparse attention, as in MiniMax-M3.

use rooflut::model::{Attention, ModelSpec, ModelSpecBuilder};

use crate::error::ConfigError;
use crate::family::Family;
use crate::keys::{Dimension, Field, Keys};
use crate::object::{Object, shown};
use crate::spans::expect_one_each;
use crate::structure;

/// The layers of a model whose attention is block-sparse.
pub(crate) struct BlockSparse {
    /// Whether the layers are such, in order.
    layers: Vec<bool>,
    /// Dimension of a head of the indexer, tokens of a block, and blocks that it selects.
    fields: [Field; 3],
}

/// Reads which of `layers` layers are block-sparse, and their indexer; `None` in other families.
pub(crate) fn read(config: &Object<'_>, family: &Family, layers: u32) -> Result<Option<BlockSparse>, ConfigError> {
    const LAYERS: &str = "sparse_attention_freq";
    const VALUES: &str = "sparse_disable_index_value";
    if !family.block_sparse {
        return Ok(None);
    }
    let Some(sparse) = config.object("sparse_attention_config")? else {
        return Err(config.missing(&["sparse_attention_config"]));
    };
    let refuse = |key: &str, feature: String| Err(ConfigError::Unsupported { key: sparse.name(key), feature });
    if sparse.switch("use_sparse_attention")? == Some(false) {
        return refuse("use_sparse_attention", "layers of this type without sparse attention".to_owned());
    }
    let listed = sparse.numbers(LAYERS)?;
    expect_one_each(&sparse, LAYERS, listed.len(), layers)?;
    let without_values = sparse.numbers(VALUES)?;
    if !without_values.is_empty() && without_values != listed {
        return refuse(VALUES, "an indexer with values".to_owned());
    }
    if let Some(score) = sparse.text("sparse_score_type")?.filter(|score| *score != "max") {
        return refuse("sparse_score_type", format!("the score {}", shown(score)));
    }
    // As many as KV heads, which vLLM asserts.
    let heads = sparse.required(&["sparse_num_index_heads"])?;
    let kv_heads = family.required(config, &["num_key_value_heads"])?;
    if heads.value != kv_heads.value {
        let feature = format!("{} heads of the indexer beside {} KV heads", heads.value, kv_heads.value);
        return refuse(heads.key, feature);
    }
    let required = |key| match sparse.required(&[key])? {
        Dimension { key, value: 0 } => {
            Err(ConfigError::Type { key: sparse.name(key), expected: "a positive number", found: "0".to_owned() })
        }
        found => Ok(found),
    };
    let fields = [
        Field::new("index_dim", ModelSpecBuilder::index_dim, required("sparse_index_dim")?),
        Field::new("sparse_block", ModelSpecBuilder::sparse_block, required("sparse_block_size")?),
        Field::new("top_blocks", ModelSpecBuilder::top_blocks, required("sparse_topk_blocks")?),
    ];
    // Which blocks are always among the selected ones.
    ["sparse_init_block", "sparse_local_block"].iter().for_each(|key| sparse.asked(key));
    if let Some(key) = structure::unread(&sparse).into_iter().next() {
        return Err(ConfigError::Unsupported {
            key,
            feature: "a key of sparse attention that is not known".to_owned(),
        });
    }
    Ok(Some(BlockSparse { layers: listed.iter().map(|sparse| *sparse != 0).collect(), fields }))
}

impl BlockSparse {
    /// Returns the attention of block-sparse layers with these heads.
    ///
    /// # Errors
    /// A dimension of the indexer that no model has.
    pub(crate) fn of(&self, heads: &[Field]) -> Result<Attention, ConfigError> {
        let fields = [heads, &self.fields].concat();
        let builder = ModelSpec::builder().hidden(1).layers(1).intermediate(1).vocab(1).max_model_len(1);
        let builder = fields.iter().fold(builder, |builder, field| (field.set)(builder, field.dimension.value));
        let keys = Keys::new(&fields);
        let model = builder.build().map_err(|error| ConfigError::Spec(keys.rename(error)))?;
        Ok(model.layers.first().attention)
    }

    /// Whether a layer is block-sparse.
    pub(crate) fn has(&self, layer: u32) -> bool {
        self.layers.get(layer as usize) == Some(&true)
    }
}
