//! The model that is asked for, on the GPUs of a table set.

use std::fmt;

use rooflut::table::TableSet;
use rooflut_scenario::{Model, RunError, Target};

use crate::error::Error;
use crate::model_source::{self, NamedModel};
use crate::table_set;

/// A model with what its file says, on the GPUs of a table set.
pub(crate) struct Placement {
    pub(crate) model: NamedModel,
    pub(crate) set: TableSet,
    /// Converts to the library's type.
    pub(crate) inner: rooflut_scenario::Placement,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Placement {
    /// Finds model and table set, and checks that the ranks can share the model.
    pub(crate) fn find(target: &Target) -> Result<Placement, Error> {
        let model = model_source::find(target.model())?;
        let set = table_set::find(table_set::of(target))?;
        let named = Model::new(&model.name, model.spec);
        let inner = rooflut_scenario::Placement::try_new(target, named, set.clone())
            .map_err(|error| run_error(error, &[Some(&model)]))?;
        let model = model.with_weights(target.dtype);
        Ok(Placement { model, set, inner })
    }
}

/// An error of the library, with dimensions as the files of these models call them.
pub(crate) fn run_error(error: RunError, models: &[Option<&NamedModel>]) -> Error {
    let RunError::Tp {
        model,
        error,
        possible,
    } = error
    else {
        return error.into();
    };
    let mut models = models.iter().flatten();
    let named = models.find(|named| named.name == model.name);
    let error = match named.and_then(|named| named.keys.as_ref()) {
        Some(keys) => keys.rename(error),
        None => error,
    };
    RunError::Tp {
        model,
        error,
        possible,
    }
    .into()
}
