//! Predicted steps of models, with several formats of weights, on every set.

use std::collections::BTreeMap;

use rooflut::engine::stacks;
use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use rooflut::step::{Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{TableSet, sets};

use super::comparison::{Golden, Line};
use super::placed::{MODELS, Placed, SPARSE, own};

pub(crate) const GOLDEN: Golden =
    Golden { file: "steps.csv", header: "model,set,tp,kv_dtype,batch,step_us", unit: "us", decimals: 1 };

/// Models whose steps are also predicted for engines other than the default.
const ON_OTHER_ENGINES: [Placed; 3] =
    [own("llama-3.1-8b", &[1]), own("llama-3.1-70b", &[4]), own("mixtral-8x7b-v0.1", &[2])];

/// A step; its name is written as on the command line: NEW@CONTEXT, REQUESTSxKV.
struct Batch {
    prefill: Option<Chunk>,
    decode: Option<DecodeGroup>,
}

fn decode(requests: u32, kv_len: u32) -> Batch {
    Batch { prefill: None, decode: DecodeGroup::uniform(requests, kv_len).ok() }
}

fn prefill(new: u32, context: u32) -> Batch {
    Batch { prefill: Chunk::last(new, context + new).ok(), decode: None }
}

fn batches() -> [Batch; 9] {
    [
        decode(1, 500),
        decode(1, 16_000),
        decode(16, 1000),
        decode(128, 500),
        decode(128, 4000),
        prefill(512, 0),
        prefill(2048, 0),
        prefill(512, 4096),
        Batch { prefill: prefill(512, 1024).prefill, ..decode(64, 1000) },
    ]
}

/// Returns a line for each batch of each combination: every set with the engine of
/// [`StepOptions::default`], and H100 with the other engines.
pub(crate) fn predict() -> Vec<Line> {
    let mut lines = Vec::new();
    for placed in &MODELS {
        // GB200 and GB300 are left out for the size of the file; fingerprints cover their rows.
        for set in sets::ALL.into_iter().filter(|set| !set.name().starts_with("gb")) {
            for (tp, kv_dtype) in placed.with_kv_dtypes() {
                let options = StepOptions::default().with_kv_dtype(kv_dtype);
                let (name, spec) = placed.spec();
                lines.extend(predict_one(&name, &spec, (set, tp), options));
            }
        }
    }
    for placed in &SPARSE {
        let (name, spec) = placed.spec();
        for &tp in placed.tps {
            let options = StepOptions::default().with_kv_dtype(Dtype::Fp8);
            for set in [&sets::H200, &sets::B200, &sets::B300, &sets::L40S] {
                lines.extend(predict_one(&name, &spec, (set, tp), options));
            }
        }
    }
    let default = StepOptions::default();
    for engine in stacks::ALL {
        let options = StepOptions::for_engine(engine);
        if options == default {
            continue;
        }
        for placed in &ON_OTHER_ENGINES {
            let (name, spec) = placed.spec();
            let name = format!("{name} ({})", engine.name);
            for &tp in placed.tps {
                lines.extend(predict_one(&name, &spec, (&sets::H100, tp), options));
            }
        }
    }
    lines
}

/// Returns a line for each batch of a model on the ranks of a set.
fn predict_one(name: &str, spec: &ModelSpec, (set, tp): (&'static TableSet, u32), options: StepOptions) -> Vec<Line> {
    let model = RooflineModel::try_new(spec, set, Parallelism::tensor(tp), options);
    let line = |batch: &Batch| Line {
        name: format!("{name},{},{tp},{},{}", set.name(), options.kv_dtype, batch.name()),
        value: model.as_ref().ok().map(|model| batch.time_us(model)),
    };
    batches().iter().map(line).collect()
}

impl Batch {
    fn name(&self) -> String {
        let prefill = self.prefill.map(|chunk| format!("prefill {}@{}", chunk.new_tokens(), chunk.context()));
        let decode = self.decode.map(|group| {
            let (requests, kv_tokens) = (group.requests(), group.kv_tokens());
            format!("decode {requests}x{}", kv_tokens / u64::from(requests))
        });
        let parts: Vec<String> = prefill.into_iter().chain(decode).collect();
        parts.join(" + ")
    }

    fn time_us(&self, model: &RooflineModel) -> f64 {
        let step = model.step_time(&StepBatch { prefill: self.prefill.as_slice(), decode: self.decode.as_slice() });
        step.total().us()
    }
}

/// Steps of which each does more work than the one before.
const LONGER: [(&str, &str); 7] = [
    ("decode 1x500", "decode 1x16000"),
    ("decode 1x500", "decode 16x1000"),
    ("decode 16x1000", "decode 128x4000"),
    ("decode 128x500", "decode 128x4000"),
    ("prefill 512@0", "prefill 2048@0"),
    ("prefill 512@0", "prefill 512@4096"),
    ("prefill 512@0", "prefill 512@1024 + decode 64x1000"),
];

#[test]
fn more_work_takes_longer_and_a_refusal_does_not_depend_on_the_batch() {
    let mut placements: BTreeMap<String, BTreeMap<String, Option<f64>>> = BTreeMap::new();
    for Line { name, value } in predict() {
        let (placement, batch) = name.rsplit_once(',').expect("columns");
        let batches = placements.entry(placement.to_owned()).or_default();
        batches.insert(batch.to_owned(), value);
    }
    let refused = |batches: &BTreeMap<_, Option<f64>>| batches.values().all(Option::is_none);
    for (placement, batches) in &placements {
        for (less, more) in LONGER {
            // Rows of block-sparse attention with one request scatter by 5 % up to 16,384 tokens, and do not grow.
            let is_flat = placement.starts_with("minimax-m3") && more == "decode 1x16000";
            let scatter = if is_flat { 1.03 } else { 1.0 };
            let pair = (batches[less], batches[more]);
            let holds = match pair {
                (Some(less_us), Some(more_us)) => less_us < scatter * more_us,
                _ => refused(batches),
            };
            assert!(holds, "{placement}: {less}, {more}: {pair:?}");
        }
    }
    // The grid has numbers and errors.
    let refusals = placements.values().filter(|batches| refused(batches)).count();
    assert!((1..placements.len() / 2).contains(&refusals), "{refusals}");
}
