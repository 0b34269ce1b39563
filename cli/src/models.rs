//! `rooflut models`: lists the built-in models.

use rooflut::hardware::{Dtype, Indexer};
use rooflut::model::{Attention, CATALOG, CatalogEntry, Ffn, LayerGroup, ModelSpec};
use serde::Serialize;

use crate::args::ListArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, number, paragraph, to_json};

pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        let models = CATALOG.iter().map(ModelJson::new).collect();
        return to_json(&ModelsJson { models });
    }
    let mut grid = Grid::new("model | >params B | >layers x hidden | >heads | FFN | >max len");
    for CatalogEntry { name, spec, .. } in CATALOG {
        grid.row(vec![
            (*name).to_owned(),
            number(spec.weight_params() as f64 / 1e9, 1),
            format!("{}x{}", spec.layers.total(), spec.hidden),
            each(spec, heads),
            each(spec, ffn),
            count(spec.max_model_len.into()),
        ]);
    }
    let legend = "\
        Params are billions of weights, max len is the longest request in tokens. Heads are query/KV heads \
        (MSA for as many with block-sparse attention), query heads of latent attention (MLA; DSA where it \
        is sparse) or of attention over compressed keys (CSA), or GDN for a gated delta net; an FFN is its \
        width, one of experts used/all x width and their format if it is not bf16. A model with several \
        kinds of layers has one entry for each. `--model` also takes a Hugging Face id of these (`rooflut \
        models --json` lists them) and the path of a config.json.";
    Ok(format!("{}\n{}", grid.render(0), paragraph(legend)))
}

/// Returns what the groups of layers have, without repetitions.
fn each(spec: &ModelSpec, of: fn(&LayerGroup) -> String) -> String {
    let mut each: Vec<String> = spec.layers.iter().map(of).collect();
    each.dedup();
    each.join(", ")
}

fn heads(group: &LayerGroup) -> String {
    match group.attention {
        Attention::Gqa(heads) => format!("{}/{}", heads.q_heads, heads.kv_heads),
        Attention::Mla(heads) => {
            let kind = if heads.indexer.is_some() { "DSA" } else { "MLA" };
            format!("{} {kind}", heads.q_heads)
        }
        Attention::Compressed(heads) => format!("{} CSA", heads.q_heads),
        // With the heads of the layers beside them.
        Attention::Msa(_) => "MSA".to_owned(),
        // Without keys and values in a cache.
        Attention::DeltaNet(_) => "GDN".to_owned(),
        _ => "-".to_owned(),
    }
}

fn ffn(group: &LayerGroup) -> String {
    match group.ffn {
        Ffn::Dense { intermediate, .. } => intermediate.to_string(),
        Ffn::Moe { experts, top_k, intermediate, .. } => {
            let dtype = match group.ffn_dtype {
                Dtype::Bf16 => String::new(),
                other => format!(" {other}"),
            };
            format!("{top_k}/{experts}x{intermediate}{dtype}")
        }
        _ => "-".to_owned(),
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// The built-in models.
pub(crate) struct ModelsJson {
    models: Vec<ModelJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ModelJson {
    name: &'static str,
    /// Hugging Face ids with these dimensions, and shorter names.
    aliases: &'static [&'static str],
    weight_params: u64,
    hidden: u32,
    layers: u32,
    /// Layers for multi-token prediction.
    mtp_layers: u32,
    /// Residual streams; left out if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<u32>,
    /// Layers of each kind.
    groups: Vec<GroupJson>,
    vocab: u32,
    /// Longest request, tokens.
    max_model_len: u32,
    tied_embeddings: bool,
    sampler: &'static str,
}

impl ModelJson {
    fn new(entry: &CatalogEntry) -> ModelJson {
        let spec = &entry.spec;
        ModelJson {
            name: entry.name,
            aliases: entry.aliases,
            weight_params: spec.weight_params(),
            hidden: spec.hidden,
            layers: spec.layers.total(),
            mtp_layers: spec.mtp_layers,
            streams: (spec.streams > 0).then_some(spec.streams),
            groups: spec.layers.iter().map(GroupJson::new).collect(),
            vocab: spec.vocab,
            max_model_len: spec.max_model_len,
            tied_embeddings: spec.tied_embeddings,
            sampler: spec.sampler.name(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct GroupJson {
    layers: u32,
    attention: AttentionJson,
    ffn: FfnJson,
}

impl GroupJson {
    fn new(group: &LayerGroup) -> GroupJson {
        let dtype = group.attention_dtype.name();
        let attention = match group.attention {
            Attention::Gqa(heads) => AttentionJson::Gqa {
                q_heads: heads.q_heads,
                kv_heads: heads.kv_heads,
                head_dim: heads.head_dim,
                span: heads.span.to_string(),
                dtype,
            },
            Attention::Mla(heads) => AttentionJson::Mla {
                q_heads: heads.q_heads,
                q_rank: heads.q_rank,
                kv_rank: heads.kv_rank,
                nope_dim: heads.nope_dim,
                rope_dim: heads.rope_dim,
                v_dim: heads.v_dim,
                indexer: heads.indexer.map(IndexerJson::new),
                dtype,
            },
            Attention::Compressed(heads) => AttentionJson::Compressed {
                q_heads: heads.q_heads,
                q_rank: heads.q_rank,
                head_dim: heads.head_dim,
                window: heads.window,
                ratio: heads.ratio,
                o_groups: heads.o_groups,
                o_rank: heads.o_rank,
                indexer: heads.indexer.map(IndexerJson::new),
                dtype,
            },
            Attention::Msa(heads) => AttentionJson::Msa {
                q_heads: heads.q_heads,
                kv_heads: heads.kv_heads,
                head_dim: heads.head_dim,
                index_dim: heads.index_dim,
                block: heads.block,
                top_blocks: heads.top_blocks,
                dtype,
            },
            Attention::DeltaNet(heads) => AttentionJson::DeltaNet {
                k_heads: heads.k_heads,
                v_heads: heads.v_heads,
                head_dim: heads.head_dim,
                dtype,
            },
            _ => AttentionJson::Other,
        };
        let dtype = group.ffn_dtype.name();
        let ffn = match group.ffn {
            Ffn::Dense { intermediate, .. } => FfnJson::Dense { intermediate, dtype },
            Ffn::Moe { experts, top_k, intermediate, shared_intermediate, .. } => FfnJson::Moe {
                experts,
                top_k,
                intermediate,
                shared_intermediate,
                dtype,
                shared_dtype: group.shared_dtype.name(),
            },
            _ => FfnJson::Other,
        };
        GroupJson { layers: group.layers, attention, ffn }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum AttentionJson {
    Gqa {
        q_heads: u32,
        kv_heads: u32,
        head_dim: u32,
        /// The keys that a token sees: `full`, a window, a chunk.
        span: String,
        dtype: &'static str,
    },
    Mla {
        q_heads: u32,
        q_rank: u32,
        kv_rank: u32,
        nope_dim: u32,
        rope_dim: u32,
        v_dim: u32,
        /// Keys of sparse attention; null where all keys are read.
        indexer: Option<IndexerJson>,
        dtype: &'static str,
    },
    Msa {
        q_heads: u32,
        kv_heads: u32,
        head_dim: u32,
        index_dim: u32,
        /// Tokens of a block of keys.
        block: u32,
        /// Blocks that a token sees at most.
        top_blocks: u32,
        dtype: &'static str,
    },
    DeltaNet {
        k_heads: u32,
        v_heads: u32,
        head_dim: u32,
        dtype: &'static str,
    },
    Compressed {
        q_heads: u32,
        q_rank: u32,
        head_dim: u32,
        /// Last tokens that a token sees.
        window: u32,
        /// Tokens of a compressed key; 0 without such keys.
        ratio: u32,
        o_groups: u32,
        o_rank: u32,
        /// Keys that it selects; null where all compressed keys are read.
        indexer: Option<IndexerJson>,
        dtype: &'static str,
    },
    Other,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct IndexerJson {
    heads: u32,
    head_dim: u32,
    /// Keys that it selects.
    top_k: u32,
}

impl IndexerJson {
    fn new(indexer: Indexer) -> IndexerJson {
        let Indexer { heads, head_dim, top_k } = indexer;
        IndexerJson { heads, head_dim, top_k }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum FfnJson {
    Dense {
        intermediate: u32,
        dtype: &'static str,
    },
    Moe {
        experts: u32,
        /// Experts of a token.
        top_k: u32,
        intermediate: u32,
        shared_intermediate: u32,
        dtype: &'static str,
        shared_dtype: &'static str,
    },
    Other,
}
