//! What a set answers for which model.

use rooflut::model::{CATALOG, CatalogEntry, SpecError};
use rooflut::step::{ModelError, Parallelism, Part, RooflineModel, StepOptions};
use rooflut::table::{Class, Strictness, TableSet};

/// The numbers of GPUs that are looked at.
pub const TENSOR_PARALLEL: [u32; 4] = [1, 2, 4, 8];

/// What a set answers for a model on so many GPUs.
#[derive(Debug, Clone)]
pub struct Coverage {
    /// The model.
    pub model: &'static CatalogEntry,
    /// GPUs that share each layer.
    pub tp: u32,
    /// What the set answers.
    pub cover: Cover,
}

/// What a set answers for a model.
#[derive(Debug, Clone)]
pub enum Cover {
    /// A time for each kernel.
    Answers {
        /// The worst class that a kernel resolves to: the best class of its answers.
        class: Class,
        /// The first kernel of that class, where it is not [`Class::Measured`].
        part: Option<Part>,
    },
    /// The ranks cannot share the model.
    Uneven(SpecError),
    /// No time for some kernel.
    Refused(ModelError),
}

/// What the set answers for each model of the catalogue with its own weights and 16-bit KV entries, on
/// 1 to 8 GPUs. Whether the weights fit into memory is not looked at.
pub fn coverage(set: &TableSet) -> Vec<Coverage> {
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

fn cover(set: &TableSet, model: &CatalogEntry, tp: u32) -> Cover {
    let mut part = None;
    for class in Class::ALL {
        let options = StepOptions::default().with_strictness(Strictness::at_worst(class));
        match RooflineModel::try_new(&model.spec, set, Parallelism::tensor(tp), options) {
            Ok(_) => return Cover::Answers { class, part },
            Err(ModelError::TooUncertain { part: found, .. }) => part = Some(found),
            Err(ModelError::Spec(error)) => return Cover::Uneven(error),
            Err(error) => return Cover::Refused(error),
        }
    }
    // Strictness accepts the last class whatever it is.
    Cover::Answers {
        class: Class::Bound,
        part,
    }
}
