//! `rooflut models`: lists the built-in models.

use rooflut::hardware::Dtype;
use rooflut::model::{Attention, CATALOG, CatalogEntry, Ffn, LayerGroup, ModelSpec};
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, number, paragraph, to_json};

pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        return to_json(&CATALOG.iter().map(model_json).collect::<Vec<_>>());
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
    let legend = "Params are billions of weights, max len is the longest request in tokens. Heads are \
                  query/KV heads, query heads of latent attention (MLA; DSA where it is sparse), or GDN for a gated delta net; an \
                  FFN is its width, one of experts used/all x width and their format if it is not bf16. A \
                  model with several kinds of layers has one entry for each. `--model` also takes a Hugging \
                  Face id of these (`rooflut models --json` lists them) and the path of a config.json.";
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
            let kind = if heads.indexer.is_some() {
                "DSA"
            } else {
                "MLA"
            };
            format!("{} {kind}", heads.q_heads)
        }
        // Without keys and values in a cache.
        Attention::DeltaNet(_) => "GDN".to_owned(),
        _ => "-".to_owned(),
    }
}

fn ffn(group: &LayerGroup) -> String {
    match group.ffn {
        Ffn::Dense { intermediate, .. } => intermediate.to_string(),
        Ffn::Moe {
            experts,
            top_k,
            intermediate,
            ..
        } => {
            let dtype = match group.ffn_dtype {
                Dtype::Bf16 => String::new(),
                other => format!(" {other}"),
            };
            format!("{top_k}/{experts}x{intermediate}{dtype}")
        }
        _ => "-".to_owned(),
    }
}

fn model_json(entry: &CatalogEntry) -> Value {
    let spec = &entry.spec;
    json!({
        "name": entry.name,
        "aliases": entry.aliases,
        "weight_params": spec.weight_params(),
        "hidden": spec.hidden,
        "layers": spec.layers.total(),
        "mtp_layers": spec.mtp_layers,
        "groups": spec.layers.iter().map(group_json).collect::<Vec<_>>(),
        "vocab": spec.vocab,
        "max_model_len": spec.max_model_len,
        "tied_embeddings": spec.tied_embeddings,
        "sampler": spec.sampler.name(),
    })
}

fn group_json(group: &LayerGroup) -> Value {
    json!({
        "layers": group.layers,
        "attention": match group.attention {
            Attention::Gqa(heads) => json!({
                "kind": "gqa",
                "q_heads": heads.q_heads,
                "kv_heads": heads.kv_heads,
                "head_dim": heads.head_dim,
                "span": heads.span.to_string(),
                "dtype": group.attention_dtype.name(),
            }),
            Attention::Mla(heads) => json!({
                "kind": "mla",
                "q_heads": heads.q_heads,
                "q_rank": heads.q_rank,
                "kv_rank": heads.kv_rank,
                "nope_dim": heads.nope_dim,
                "rope_dim": heads.rope_dim,
                "v_dim": heads.v_dim,
                "indexer": heads.indexer.map(|indexer| json!({
                    "heads": indexer.heads,
                    "head_dim": indexer.head_dim,
                    "top_k": indexer.top_k,
                })),
                "dtype": group.attention_dtype.name(),
            }),
            Attention::DeltaNet(heads) => json!({
                "kind": "delta_net",
                "k_heads": heads.k_heads,
                "v_heads": heads.v_heads,
                "head_dim": heads.head_dim,
                "dtype": group.attention_dtype.name(),
            }),
            _ => json!({"kind": "other"}),
        },
        "ffn": match group.ffn {
            Ffn::Dense { intermediate, .. } => json!({
                "kind": "dense",
                "intermediate": intermediate,
                "dtype": group.ffn_dtype.name(),
            }),
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                shared_intermediate,
                ..
            } => json!({
                "kind": "moe",
                "experts": experts,
                "top_k": top_k,
                "intermediate": intermediate,
                "shared_intermediate": shared_intermediate,
                "dtype": group.ffn_dtype.name(),
                "shared_dtype": group.shared_dtype.name(),
            }),
            _ => json!({"kind": "other"}),
        },
    })
}
