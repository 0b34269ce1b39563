//! Step times as one number, which is equal on all machines if all bits are.
#![cfg_attr(target_os = "none", no_std)]

use core::ops::RangeInclusive;

use rooflut::model::{CATALOG, CatalogEntry, Parallelism};
use rooflut::step::{Chunk, DecodeGroup, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{TableSet, sets};

/// GPUs that share a model, at most.
const GPUS: u32 = 8;
/// Steps of each deployment.
const STEPS: u32 = 200;

/// The table sets.
const SETS: [&TableSet; 2] = [&sets::H100, &sets::B200];

/// Returns the hash of the step times on a GPU, 0 or 1, of all models of the catalogue in every division over up to eight
/// of them; 0 for another GPU.
#[unsafe(no_mangle)]
pub extern "C" fn hash(gpu: usize) -> u64 {
    let Some(set) = SETS.get(gpu) else { return 0 };
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for model in CATALOG.iter().flat_map(|entry| deployments(entry, set)) {
        steps(model, &mut hash);
    }
    hash.0
}

/// Returns how many divisions of [`hash`] can be modelled of the model that has fewest, with its name.
#[must_use]
pub fn fewest(gpu: usize) -> Option<(usize, &'static str)> {
    let set = SETS.get(gpu)?;
    CATALOG.iter().map(|entry| (deployments(entry, set).flatten().count(), entry.name)).min()
}

/// Returns a model in all divisions; `None` for one that cannot be modelled.
fn deployments(entry: &'static CatalogEntry, set: &TableSet) -> impl Iterator<Item = Option<RooflineModel>> {
    divisions(entry)
        .map(|parallelism| RooflineModel::try_new(&entry.spec, set, parallelism, StepOptions::default()).ok())
}

/// Returns the divisions of a model over up to eight GPUs.
fn divisions(entry: &CatalogEntry) -> impl Iterator<Item = Parallelism> + use<> {
    const RANKS: RangeInclusive<u32> = 1..=GPUS;
    let has_experts = entry.spec.experts().is_some();
    let all = RANKS.flat_map(|tp| RANKS.flat_map(move |pp| RANKS.map(move |dp| [tp, pp, dp])));
    all.filter(|ranks| ranks.iter().product::<u32>() <= GPUS).flat_map(move |[tp, pp, dp]| {
        let division = Parallelism::tensor(tp).with_pp(pp).with_dp(dp);
        let whole = has_experts.then(|| division.with_expert_parallel(true));
        [Some(division), whole].into_iter().flatten()
    })
}

/// Adds the times of steps of a deployment; of one that cannot be modelled, that it cannot be.
fn steps(model: Option<RooflineModel>, hash: &mut Hash) {
    let Some(model) = model else {
        return hash.add(u64::MAX);
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..STEPS {
        let (new, cached) = (random.below(2_048), random.below(4_096));
        let chunk = Chunk::last(new + 1, cached + new + 1);
        let group = DecodeGroup::uniform(random.below(256) + 1, random.below(8_192) + 1);
        let (Ok(chunk), Ok(group)) = (chunk, group) else { return hash.add(u64::MAX - 1) };
        let (chunks, groups) = ([chunk], [group]);
        let batch = match random.below(3) {
            0 => StepBatch { prefill: &chunks, decode: &groups },
            1 => StepBatch { prefill: &chunks, decode: &[] },
            _ => StepBatch { prefill: &[], decode: &groups },
        };
        hash.add(model.step_time(&batch).total().0.to_bits());
    }
}

/// FNV-1a over words.
struct Hash(u64);

impl Hash {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01b3);
    }
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32 % end
    }
}
