//! Modules whose weights stay 16-bit in a quantised model.

use regex_lite::Regex;
use rooflut::model::{Attention, Ffn, ModelSpec};

use crate::error::{ConfigError, Remedy};
use crate::family;
use crate::object::{Object, shown};

/// The modules of a model that have weights to quantise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modules<'m> {
    /// Layers.
    pub(crate) layers: u32,
    /// The modules of the attention.
    pub(crate) attention: Part,
    /// The modules of the routed experts, if layers have any.
    pub(crate) experts: Option<Part>,
    /// The modules of the expert that every token visits, if there is one.
    pub(crate) shared: Option<Part>,
    /// Layers without experts in a model that has some, in ascending order.
    pub(crate) dense: &'m [u32],
}

/// The parts of a layer that stay 16-bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Attention projections.
    pub(crate) attention: bool,
    /// FFN or routed experts.
    pub(crate) ffn: bool,
    /// Shared expert.
    pub(crate) shared: bool,
}

/// Keys of lists of modules that stay 16-bit, one for each method.
const LISTS: [&str; 4] = ["ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules"];

/// Names of a layer's modules: those of one list entry are quantised together, or are alternatives.
pub(crate) type Part = &'static [&'static [&'static str]];
pub(crate) const ATTENTION: Part = &[
    &["self_attn.q_proj", "self_attn.qkv_proj"],
    &["self_attn.k_proj", "self_attn.qkv_proj"],
    &["self_attn.v_proj", "self_attn.qkv_proj"],
    &["self_attn.o_proj"],
];
pub(crate) const LATENT: Part = &[
    &["self_attn.q_a_proj", "self_attn.kv_a_proj_with_mqa", "self_attn.fused_qkv_a_proj"],
    &["self_attn.q_b_proj", "self_attn.q_proj"],
    &["self_attn.kv_b_proj"],
    &["self_attn.o_proj"],
];
pub(crate) const DENSE: Part = &[
    &["mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj", "feed_forward.gate_proj", "feed_forward.up_proj"],
    &["mlp.down_proj", "feed_forward.down_proj"],
];
pub(crate) const EXPERTS: Part = &[
    &[
        "mlp.experts.0.gate_proj",
        "mlp.experts.0.up_proj",
        "mlp.experts.gate_up_proj",
        "block_sparse_moe.experts.0.w1",
        "block_sparse_moe.experts.0.w3",
        "feed_forward.experts.0.gate_proj",
        "feed_forward.experts.0.up_proj",
        "feed_forward.experts.gate_up_proj",
    ],
    &[
        "mlp.experts.0.down_proj",
        "mlp.experts.down_proj",
        "block_sparse_moe.experts.0.w2",
        "feed_forward.experts.0.down_proj",
        "feed_forward.experts.down_proj",
    ],
];
/// Experts beside an MLP, which takes the place of a shared one.
pub(crate) const BESIDE: Part = &[
    &["experts.0.gate_proj", "experts.0.up_proj", "experts.gate_up_proj"],
    &["experts.0.down_proj", "experts.down_proj"],
];
pub(crate) const SHARED: Part = &[
    &[
        "mlp.shared_expert.gate_proj",
        "mlp.shared_expert.up_proj",
        "mlp.shared_experts.gate_proj",
        "mlp.shared_experts.up_proj",
        "feed_forward.shared_expert.gate_proj",
        "feed_forward.shared_expert.up_proj",
        "block_sparse_moe.shared_experts.gate_proj",
        "block_sparse_moe.shared_experts.up_proj",
    ],
    &[
        "mlp.shared_expert.down_proj",
        "mlp.shared_experts.down_proj",
        "feed_forward.shared_expert.down_proj",
        "block_sparse_moe.shared_experts.down_proj",
    ],
];

impl Kept {
    /// Reads the lists of a `quantization_config`, and returns the parts of each layer that stay 16-bit. Refuses a part
    /// of which some modules do.
    pub(crate) fn read(quantization: &Object<'_>, modules: Modules<'_>) -> Result<Vec<Kept>, ConfigError> {
        let mut patterns = Vec::new();
        let mut list = "ignore";
        for key in LISTS {
            for entry in quantization.texts(key)? {
                list = key;
                let pattern = Pattern::read(entry);
                let unknown = || format!("the pattern \"{}\"", shown(entry));
                patterns.push(pattern.ok_or_else(|| refused(quantization, key, unknown()))?);
            }
        }
        let error = |format| refused(quantization, list, format);
        let mut matched = vec![false; patterns.len()];
        let mut is_kept = |layer: u32, part: Part, name| {
            let mut kept = 0;
            for alternatives in part {
                let path = |module| format!("model.layers.{layer}.{module}");
                let paths: Vec<String> = alternatives.iter().map(path).collect();
                let mut any = false;
                for (pattern, matched) in patterns.iter().zip(&mut matched) {
                    if paths.iter().any(|path| pattern.matches(path)) {
                        (any, *matched) = (true, true);
                    }
                }
                kept += usize::from(any);
            }
            match kept {
                0 => Ok(false),
                all if all == part.len() => Ok(true),
                _ => Err(error(format!("{name} with 16-bit weights in some modules only"))),
            }
        };
        let layers = (0..modules.layers).map(|layer| {
            let has_experts = modules.has_experts_in(layer);
            let experts = modules.experts.filter(|_| has_experts);
            Ok(Kept {
                attention: is_kept(layer, modules.attention, "attention")?,
                ffn: is_kept(layer, experts.unwrap_or(DENSE), "an FFN")?,
                shared: match modules.shared.filter(|_| has_experts) {
                    Some(shared) => is_kept(layer, shared, "a shared expert")?,
                    None => false,
                },
            })
        });
        let kept = layers.collect::<Result<Vec<Kept>, ConfigError>>()?;
        let mut unmatched = patterns.iter().zip(&matched).filter(|(_, matched)| !**matched);
        match unmatched.find_map(|(pattern, _)| pattern.names_weights_of(modules.layers)) {
            Some(name) => Err(error(format!("the 16-bit module {}", shown(name)))),
            None => Ok(kept),
        }
    }
}

fn refused(quantization: &Object<'_>, key: &str, format: String) -> ConfigError {
    let key = quantization.name(key);
    ConfigError::Format { key, format, remedy: Remedy::WeightDtype }
}

impl<'m> Modules<'m> {
    /// Returns the modules of a model whose layers have the FFN of the first group, except for the `dense` ones.
    pub(crate) fn of(spec: &ModelSpec, dense: &'m [u32], layers: family::Layers) -> Modules<'m> {
        let shared = match spec.layers.first().ffn {
            Ffn::Moe { shared_intermediate, .. } => Some(shared_intermediate),
            _ => None,
        };
        let (experts, beside) = match layers {
            family::Layers::GatedAndExperts => (BESIDE, DENSE),
            _ => (EXPERTS, SHARED),
        };
        Modules {
            layers: spec.layers.total(),
            attention: match spec.layers.first().attention {
                Attention::Mla(_) => LATENT,
                _ => ATTENTION,
            },
            experts: shared.map(|_| experts),
            shared: shared.filter(|width| *width > 0).map(|_| beside),
            dense,
        }
    }

    /// Whether this layer has experts.
    pub(crate) fn has_experts_in(&self, layer: u32) -> bool {
        self.experts.is_some() && self.dense.binary_search(&layer).is_err()
    }
}

/// An entry of a list.
enum Pattern {
    /// Consecutive parts of a module's path.
    Path(String),
    /// A regular expression or a wildcard.
    Regex(Regex),
}

impl Pattern {
    /// Reads an entry: `re:` and a regular expression that matches from the start, a path with wildcards, or a part of
    /// a path. Returns `None` for an expression that is not understood.
    fn read(entry: &str) -> Option<Pattern> {
        let regex = match entry.strip_prefix("re:") {
            Some(expression) => format!("^(?:{expression})"),
            None if entry.contains('*') => {
                let path = regex_lite::escape(entry).replace(r"\*", ".*");
                format!(r"^(?:{path})(?:\.|$)")
            }
            None => return Some(Pattern::Path(entry.replace("language_model.", ""))),
        };
        Some(Pattern::Regex(Regex::new(&regex).ok()?))
    }

    /// Whether the entry means the module at this path.
    fn matches(&self, path: &str) -> bool {
        match self {
            Pattern::Path(name) => path.match_indices(name.as_str()).any(|(start, name)| {
                let before = path.get(..start).unwrap_or_default();
                let after = path.get(start + name.len()..).unwrap_or_default();
                let is_edge = |rest: &str, dot| rest.is_empty() || dot;
                is_edge(before, before.ends_with('.')) && is_edge(after, after.starts_with('.'))
            }),
            // The text model of a multimodal one has a longer path.
            Pattern::Regex(regex) => {
                let nested = [format!("language_model.{path}"), path.replacen("model.", "model.language_model.", 1)];
                regex.is_match(path) || nested.iter().any(|path| regex.is_match(path))
            }
        }
    }

    /// Returns the path if it names weights of one of the `layers` of the text model. Norms, gates of experts and
    /// towers for images or sound are not counted, nor are layers beyond the last, which draft tokens.
    fn names_weights_of(&self, layers: u32) -> Option<&str> {
        const OTHERS: [&str; 9] =
            ["norm", "router", "bias", "rotary", "indexer", "vision", "visual", "audio", "projector"];
        let Pattern::Path(path) = self else {
            return None;
        };
        let (_, below) = path.split_once("layers.")?;
        let layer: u32 = below.split('.').next()?.parse().ok()?;
        let is_gate = |module: &str| module == "gate" || module.ends_with("_gate");
        let is_other = OTHERS.iter().any(|part| path.contains(part)) || below.split('.').any(is_gate);
        (layer < layers && !is_other).then_some(path)
    }
}
