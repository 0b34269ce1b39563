//! Coverage: the models that a set can answer for.

use rooflut::model::{CATALOG, CatalogEntry};
use rooflut::step::{Parallelism, Part, RooflineModel, StepOptions};
use rooflut::table::{Class, Strictness, TableSet};
use rooflut::{Error, ErrorKind, Invalid};
use rooflut_roofline::Subject;

/// The numbers of GPUs that are tried.
pub(crate) const TENSOR_PARALLEL: [u32; 4] = [1, 2, 4, 8];

/// The answer of a set for a model on a number of GPUs.
#[derive(Debug, Clone)]
pub(crate) struct Coverage {
    /// The model.
    pub(crate) model: &'static CatalogEntry,
    /// GPUs that share each layer.
    pub(crate) tp: u32,
    /// The answer of the set.
    pub(crate) cover: Cover,
}

/// The answer of a set for a model.
#[derive(Debug, Clone)]
pub(crate) enum Cover {
    /// A time for each kernel.
    Answers {
        /// The worst class over the kernels, each by its best answer.
        class: Class,
        /// The first kernel of that class; `None` for [`Class::Measured`].
        part: Option<Part>,
    },
    /// The ranks cannot share the model.
    Uneven(Invalid),
    /// Some kernel has no time.
    Refused(Error),
}

/// Returns the answers for each model of the catalogue with its own formats of weights and 16-bit KV entries,
/// on 1 to 8 GPUs. Does not check whether the weights fit into memory.
pub(crate) fn coverage(set: &TableSet) -> Vec<Coverage> {
    let pairs = CATALOG.iter().flat_map(|model| TENSOR_PARALLEL.map(|tp| (model, tp)));
    let covered = pairs.map(|(model, tp)| Coverage { model, tp, cover: cover(set, model, tp) });
    covered.collect()
}

fn cover(set: &TableSet, model: &CatalogEntry, tp: u32) -> Cover {
    let mut part = None;
    for class in Class::ALL {
        let options = StepOptions::default().with_strictness(Strictness::at_worst(class));
        match RooflineModel::try_new(&model.spec, set, Parallelism::tensor(tp), options) {
            Ok(_) => return Cover::Answers { class, part },
            Err(error) => match error.kind() {
                ErrorKind::TooUncertain { part: found, .. } => part = Some(*found),
                ErrorKind::Invalid(invalid) if invalid.is_of_model() => {
                    return Cover::Uneven(invalid.of(Subject::Itself));
                }
                _ => return Cover::Refused(error),
            },
        }
    }
    // The last class is always accepted.
    Cover::Answers { class: Class::Bound, part }
}
