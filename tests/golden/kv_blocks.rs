//! The KV blocks that fit the memory, for models on every GPU.

use rooflut::hardware::{Dtype, gpus};
use rooflut::model::{MemoryLimits, MemoryPlan};

use super::comparison::{Golden, Line};
use super::placed::{MODELS, SPARSE};

pub(crate) const GOLDEN: Golden =
    Golden { file: "kv_blocks.csv", header: "model,gpu,tp,kv_dtype,kv_blocks", unit: "blocks", decimals: 0 };

/// Returns a line for each combination, with vLLM's default limits.
pub(crate) fn predict() -> Vec<Line> {
    let mut lines = Vec::new();
    for placed in &MODELS {
        let (name, spec) = placed.spec();
        for gpu in &gpus::ALL {
            for (tp, kv_dtype) in placed.with_kv_dtypes() {
                let limits = MemoryLimits::default().with_kv_dtype(kv_dtype);
                let plan = MemoryPlan::try_new(&spec, gpu, tp, limits);
                lines.push(Line {
                    name: format!("{name},{},{tp},{kv_dtype}", gpu.name),
                    value: plan.ok().map(|plan| plan.kv_blocks.into()),
                });
            }
        }
    }
    for placed in &SPARSE {
        let (name, spec) = placed.spec();
        for &tp in placed.tps {
            let limits = MemoryLimits::default().with_kv_dtype(Dtype::Fp8);
            let plan = MemoryPlan::try_new(&spec, &gpus::B300, tp, limits);
            lines.push(Line {
                name: format!("{name},b300,{tp},fp8"),
                value: plan.ok().map(|plan| plan.kv_blocks.into()),
            });
        }
    }
    lines
}

#[test]
fn entries_of_half_the_size_leave_twice_the_blocks_and_more_ranks_more() {
    let lines = predict();
    let find = |name: &str| lines.iter().find(|line| line.name == name);
    let (mut halves, mut ranks) = (0, 0);
    for placed in &MODELS {
        let (name, _) = placed.spec();
        for gpu in &gpus::ALL {
            let blocks = |tp: u32, kv_dtype: &str| {
                let name = format!("{name},{},{tp},{kv_dtype}", gpu.name);
                find(&name).expect("in the grid").value
            };
            let fewest = placed.tps[0];
            if let Some(bf16) = blocks(fewest, "bf16") {
                let fp8 = blocks(fewest, "fp8").expect("smaller entries fit as well");
                // One more if half a block is left over.
                assert!((0.0..=1.0).contains(&(fp8 - 2.0 * bf16)), "{name} {bf16} {fp8}");
                halves += 1;
            }
            for pair in placed.tps.windows(2) {
                if let (Some(fewer), Some(more)) = (blocks(pair[0], "bf16"), blocks(pair[1], "bf16")) {
                    assert!(fewer < more, "{name} {pair:?} {fewer} {more}");
                    ranks += 1;
                }
            }
        }
    }
    assert!(halves > 0 && ranks > 0);
    // The grid has errors, too.
    assert!(lines.iter().any(|line| line.value.is_none()));
}
