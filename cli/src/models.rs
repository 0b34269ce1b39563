//! `rooflut models`: lists the built-in models.

use rooflut::model::{CATALOG, CatalogEntry, Ffn, ModelSpec};
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
    for CatalogEntry { name, spec, .. } in &CATALOG {
        grid.row(vec![
            (*name).to_owned(),
            number(spec.weight_params() as f64 / 1e9, 1),
            format!("{}x{}", spec.layers, spec.hidden),
            format!("{}/{}", spec.q_heads, spec.kv_heads),
            ffn(spec),
            count(spec.max_model_len.into()),
        ]);
    }
    let legend = "Heads are query/KV heads; an FFN of experts is used/all x width. `--model` also takes \
                  a Hugging Face id of these (`rooflut models --json` lists them) and the path of a \
                  config.json.";
    Ok(format!("{}\n{}", grid.render(0), paragraph(legend)))
}

fn ffn(spec: &ModelSpec) -> String {
    match spec.ffn {
        Ffn::Dense { intermediate, .. } => intermediate.to_string(),
        Ffn::Moe {
            experts,
            top_k,
            intermediate,
            expert_dtype,
            ..
        } => {
            let dtype = match expert_dtype == spec.weight_dtype {
                true => String::new(),
                false => format!(" {expert_dtype}"),
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
        "layers": spec.layers,
        "q_heads": spec.q_heads,
        "kv_heads": spec.kv_heads,
        "head_dim": spec.head_dim,
        "vocab": spec.vocab,
        "max_model_len": spec.max_model_len,
        "weight_dtype": spec.weight_dtype.name(),
        "tied_embeddings": spec.tied_embeddings,
        "attention": spec.attention.name(),
        "sampler": spec.sampler.name(),
        "ffn": match spec.ffn {
            Ffn::Dense { intermediate, .. } => json!({"kind": "dense", "intermediate": intermediate}),
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                shared_intermediate,
                expert_dtype,
                ..
            } => json!({
                "kind": "moe",
                "experts": experts,
                "top_k": top_k,
                "intermediate": intermediate,
                "shared_intermediate": shared_intermediate,
                "expert_dtype": expert_dtype.name(),
            }),
            _ => json!({"kind": "other"}),
        },
    })
}
