//! What a set answers for which model.

use rooflut::model::{CATALOG, CatalogEntry, SpecError};
use rooflut::step::{ModelError, Parallelism, Part, RooflineModel, StepOptions};
use rooflut::table::{Provenance, Strictness, TableSet};

/// The numbers of GPUs that are looked at.
pub const TENSOR_PARALLEL: [u32; 4] = [1, 2, 4, 8];

/// What a set answers for a model on so many GPUs.
#[derive(Debug, Clone, Copy)]
pub struct Coverage {
    /// The model.
    pub model: &'static CatalogEntry,
    /// GPUs that share each layer.
    pub tp: u32,
    /// What the set answers.
    pub cover: Cover,
}

/// What a set answers for a model.
#[derive(Debug, Clone, Copy)]
pub enum Cover {
    /// A time for each kernel.
    Answers {
        /// The worst that a kernel resolves to: its answers are this at best.
        provenance: Provenance,
        /// The first kernel of that provenance, where it is not [`Provenance::Measured`].
        part: Option<Part>,
    },
    /// The ranks cannot share the model.
    Uneven(SpecError),
    /// No time for some kernel.
    Refused(ModelError),
}

/// What the set answers for each model of the catalogue with its own weights and 16-bit KV entries, on
/// 1 to 8 GPUs. Whether the weights fit into memory is not looked at.
pub fn coverage(set: &'static TableSet) -> Vec<Coverage> {
    let pairs = CATALOG
        .iter()
        .flat_map(|model| TENSOR_PARALLEL.map(|tp| (model, tp)));
    let covered = pairs.map(|(model, tp)| Coverage {
        model,
        tp,
        cover: cover(set, model, tp),
    });
    covered.collect()
}

fn cover(set: &'static TableSet, model: &CatalogEntry, tp: u32) -> Cover {
    let mut part = None;
    for provenance in Provenance::ALL {
        let options = StepOptions::default().with_strictness(Strictness::at_worst(provenance));
        match RooflineModel::try_new(&model.spec, set, Parallelism::tensor(tp), options) {
            Ok(_) => return Cover::Answers { provenance, part },
            Err(ModelError::TooUncertain { part: found, .. }) => part = Some(found),
            Err(ModelError::Spec(error)) => return Cover::Uneven(error),
            Err(error) => return Cover::Refused(error),
        }
    }
    // Strictness accepts the last provenance whatever it is.
    Cover::Answers {
        provenance: Provenance::Bound,
        part,
    }
}
