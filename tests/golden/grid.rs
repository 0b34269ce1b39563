//! What is predicted: models, with weights of some formats, on every set.

use rooflut::hardware::Dtype;
use rooflut::model;
use rooflut::step::{
    Chunk, DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepOptions,
};
use rooflut::table::{TableSet, sets};

use super::comparison::Line;

/// A model, the format of its weights where it is not its own, and the ranks that share it.
struct Placed {
    model: &'static str,
    weights: Option<Dtype>,
    tps: &'static [u32],
}

/// A model with its own weights.
const fn own(model: &'static str, tps: &'static [u32]) -> Placed {
    let weights = None;
    Placed {
        model,
        weights,
        tps,
    }
}

/// The 8B model with weights of another format.
const fn llama_8b(weights: Dtype) -> Placed {
    Placed {
        weights: Some(weights),
        ..own("llama-3.1-8b", &[1])
    }
}

/// A KV head for each query head and fewer, dense and with experts, 16-bit and narrower, KV heads
/// that are replicated (qwen3-30b-a3b on 8).
const MODELS: [Placed; 10] = [
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

/// A step; its name is written as on the command line: NEW@CONTEXT, REQUESTSxKV.
struct Batch {
    prefill: Option<Chunk>,
    decode: Option<DecodeGroup>,
}

const fn decode(requests: u32, kv_len: u32) -> Batch {
    let kv_tokens = requests as u64 * kv_len as u64;
    Batch {
        prefill: None,
        decode: Some(DecodeGroup {
            requests,
            kv_tokens,
        }),
    }
}

const fn prefill(new: u32, context: u32) -> Batch {
    let samples = 1;
    Batch {
        prefill: Some(Chunk {
            new,
            context,
            samples,
        }),
        decode: None,
    }
}

const BATCHES: [Batch; 9] = [
    decode(1, 500),
    decode(1, 16_000),
    decode(16, 1000),
    decode(128, 500),
    decode(128, 4000),
    prefill(512, 0),
    prefill(2048, 0),
    prefill(512, 4096),
    Batch {
        prefill: prefill(512, 1024).prefill,
        ..decode(64, 1000)
    },
];

/// A line for each batch of each combination.
///
/// 8-bit KV entries only on the fewest ranks of each model.
pub(crate) fn predict() -> Vec<Line> {
    let mut lines = Vec::new();
    for placed in &MODELS {
        for set in sets::ALL {
            for (place, &tp) in placed.tps.iter().enumerate() {
                lines.extend(predict_one(placed, set, tp, Dtype::Bf16));
                if place == 0 {
                    lines.extend(predict_one(placed, set, tp, Dtype::Fp8));
                }
            }
        }
    }
    lines
}

fn predict_one(
    placed: &Placed,
    set: &'static TableSet,
    tp: u32,
    kv_dtype: Dtype,
) -> impl Iterator<Item = Line> {
    let (name, spec) = placed.spec();
    let mut options = StepOptions::default();
    options.kv_dtype = kv_dtype;
    let model = RooflineModel::try_new(&spec, set, Parallelism::tensor(tp), options);
    BATCHES.iter().map(move |batch| Line {
        step: format!("{name},{},{tp},{kv_dtype},{}", set.name, batch.name()),
        us: model.as_ref().ok().map(|model| batch.time_us(model)),
    })
}

impl Placed {
    fn spec(&self) -> (String, model::ModelSpec) {
        let spec = model::find(self.model).expect("in the catalogue").spec;
        match self.weights {
            None => (self.model.to_owned(), spec),
            Some(dtype) => (
                format!("{} ({dtype} weights)", self.model),
                spec.with_weight_dtype(dtype),
            ),
        }
    }
}

impl Batch {
    fn name(&self) -> String {
        let prefill = self.prefill.map(|chunk| {
            let Chunk { new, context, .. } = chunk;
            format!("prefill {new}@{context}")
        });
        let decode = self.decode.map(|group| {
            let DecodeGroup {
                requests,
                kv_tokens,
            } = group;
            format!("decode {requests}x{}", kv_tokens / u64::from(requests))
        });
        let parts: Vec<String> = prefill.into_iter().chain(decode).collect();
        parts.join(" + ")
    }

    fn time_us(&self, model: &RooflineModel) -> f64 {
        let step = model.step_time(&StepBatch {
            prefill: self.prefill.as_slice(),
            decode: self.decode.as_slice(),
        });
        step.total().us()
    }
}
