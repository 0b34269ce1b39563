//! `rooflut models`: lists the built-in models.

use rooflut::model::{CATALOG, CatalogEntry, Ffn, ModelSpec};
use serde::Serialize;

use crate::args::ListArgs;
use crate::error::Error;
use crate::output::{Align, Grid, count, json, number};

/// Returns the text to print.
pub(crate) fn run(args: &ListArgs) -> Result<String, Error> {
    if args.json {
        return json(&CATALOG.iter().map(ModelJson::new).collect::<Vec<_>>());
    }
    let mut grid = Grid::new(&[
        ("model", Align::Left),
        ("weights", Align::Right),
        ("layers", Align::Right),
        ("hidden", Align::Right),
        ("heads", Align::Right),
        ("FFN", Align::Left),
        ("max len", Align::Right),
    ]);
    for CatalogEntry { name, spec, .. } in &CATALOG {
        grid.row(vec![
            (*name).to_owned(),
            format!("{} B", number(spec.weight_params() as f64 / 1e9, 1)),
            spec.layers.to_string(),
            spec.hidden.to_string(),
            format!("{}/{}", spec.q_heads, spec.kv_heads),
            ffn(spec),
            count(spec.max_model_len.into()),
        ]);
    }
    Ok(format!(
        "{}\nHeads are query/KV heads. `--model` also takes a Hugging Face id of these \
         (`rooflut models --json`\nlists them) and the path of a config.json.\n",
        grid.render(0)
    ))
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
            format!("{top_k} of {experts} x {intermediate}{dtype}")
        }
        _ => "-".to_owned(),
    }
}

#[derive(Serialize)]
struct ModelJson {
    name: &'static str,
    aliases: &'static [&'static str],
    weight_params: u64,
    hidden: u32,
    layers: u32,
    q_heads: u32,
    kv_heads: u32,
    head_dim: u32,
    vocab: u32,
    max_model_len: u32,
    weight_dtype: &'static str,
    tied_embeddings: bool,
    ffn: FfnJson,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum FfnJson {
    Dense {
        intermediate: u32,
    },
    Moe {
        experts: u32,
        top_k: u32,
        intermediate: u32,
        shared_intermediate: u32,
        expert_dtype: &'static str,
    },
    Other,
}

impl ModelJson {
    fn new(entry: &CatalogEntry) -> ModelJson {
        let spec = &entry.spec;
        ModelJson {
            name: entry.name,
            aliases: entry.aliases,
            weight_params: spec.weight_params(),
            hidden: spec.hidden,
            layers: spec.layers,
            q_heads: spec.q_heads,
            kv_heads: spec.kv_heads,
            head_dim: spec.head_dim,
            vocab: spec.vocab,
            max_model_len: spec.max_model_len,
            weight_dtype: spec.weight_dtype.name(),
            tied_embeddings: spec.tied_embeddings,
            ffn: match spec.ffn {
                Ffn::Dense { intermediate, .. } => FfnJson::Dense { intermediate },
                Ffn::Moe {
                    experts,
                    top_k,
                    intermediate,
                    shared_intermediate,
                    expert_dtype,
                    ..
                } => FfnJson::Moe {
                    experts,
                    top_k,
                    intermediate,
                    shared_intermediate,
                    expert_dtype: expert_dtype.name(),
                },
                _ => FfnJson::Other,
            },
        }
    }
}
