//! Models, with weights of some formats, and the ranks that share them.

use rooflut::hardware::Dtype;
use rooflut::model::{self, ModelSpec};

/// A model, the format of its weights if not its own, and the ranks that share it.
pub(crate) struct Placed {
    model: &'static str,
    weights: Option<Dtype>,
    pub(crate) tps: &'static [u32],
}

/// A model with its own weights.
pub(crate) const fn own(model: &'static str, tps: &'static [u32]) -> Placed {
    let weights = None;
    Placed { model, weights, tps }
}

/// The 8B model with weights of another format.
pub(crate) const fn llama_8b(weights: Dtype) -> Placed {
    Placed { weights: Some(weights), ..own("llama-3.1-8b", &[1]) }
}

/// Models with as many KV heads as query heads and with fewer, dense and with experts, 16-bit and narrower,
/// and with replicated KV heads (qwen3-30b-a3b on 8).
pub(crate) const MODELS: [Placed; 10] = [
    own("llama-2-7b", &[1, 2]),
    own("llama-3.1-8b", &[1, 2]),
    llama_8b(Dtype::Fp8),
    llama_8b(Dtype::Fp8Block),
    llama_8b(Dtype::Nvfp4),
    own("llama-3.1-70b", &[4, 8]),
    own("qwen2.5-7b", &[1, 4]),
    own("mixtral-8x7b-v0.1", &[2]),
    own("qwen3-30b-a3b", &[1, 8]),
    own("llama-4-scout-17b-16e-fp8-dynamic", &[4]),
];

/// Models whose attention selects or compresses keys, with KV entries in fp8.
pub(crate) const SPARSE: [Placed; 4] = [
    own("deepseek-v4-flash", &[1, 4]),
    own("deepseek-v4-pro", &[8]),
    own("glm-5.2-fp8", &[8]),
    own("minimax-m3", &[8]),
];

impl Placed {
    /// Returns its name in a line, and its dimensions.
    pub(crate) fn spec(&self) -> (String, ModelSpec) {
        let spec = model::find(self.model).expect("in the catalogue").spec;
        match self.weights {
            None => (self.model.to_owned(), spec),
            Some(dtype) => (format!("{} ({dtype} weights)", self.model), spec.with_weight_dtype(dtype)),
        }
    }

    /// Returns each number of ranks with each format of the KV entries; 8-bit only on the fewest ranks.
    pub(crate) fn with_kv_dtypes(&self) -> impl Iterator<Item = (u32, Dtype)> {
        let fewest = self.tps.first().copied();
        self.tps.iter().flat_map(move |&tp| {
            let fp8 = (Some(tp) == fewest).then_some(Dtype::Fp8);
            [Some(Dtype::Bf16), fp8].into_iter().flatten().map(move |dtype| (tp, dtype))
        })
    }
}
