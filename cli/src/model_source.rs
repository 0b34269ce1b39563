//! The model that `--model` names.

use std::io::ErrorKind;
use std::path::Path;

use rooflut::model::{self, CATALOG, Parallelism};
use rooflut_error::{Whole, hint, nearest, no_effect};
use rooflut_hf_config::{ConfigError, Keys, Options, Remedy};
use rooflut_scenario::{Kind, Model, Target, model_files};

use crate::error::Error;
use crate::input;

/// A model, and what is known of it beside its dimensions.
pub(crate) struct NamedModel {
    /// Its short name, or the path of its file, and its dimensions.
    pub(crate) model: Model,
    /// The `intermediate_size` of its file, if that gives the size of experts apart.
    pub(crate) dense_intermediate: Option<u32>,
    /// The keys of its dimensions in its file.
    keys: Option<Keys>,
    /// The keys of its file that were ignored.
    ignored: Vec<String>,
}

impl NamedModel {
    /// Returns a remark on what was ignored.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let (name, ignored) = (&self.model.name, self.ignored.join(", "));
        let ignored = (!ignored.is_empty()).then(|| format!("{name} is read as a Llama, in spite of {ignored}"));
        ignored.into_iter()
    }
}

/// Refuses `--assume-llama` where no file of the `models` needs it.
pub(crate) fn check(target: &Target, models: &[&NamedModel]) -> Result<(), rooflut_scenario::Error> {
    let is_needed = models.iter().any(|model| !model.ignored.is_empty());
    if target.assume_llama == Some(true) && !is_needed {
        Err(no_effect("assume_llama", "the model is known without it"))
    } else {
        Ok(())
    }
}

/// Returns how the file of the model is read.
pub(crate) fn options(target: &Target) -> Options<'static> {
    let options = draft_options(target).with_weight_dtype(target.dtype);
    options.with_kv_dtype(target.kv_dtype)
}

/// Returns how the file of a draft model is read, which has its own weights.
pub(crate) fn draft_options(target: &Target) -> Options<'static> {
    match target.assume_llama {
        Some(true) => Options::default().assuming_llama(),
        _ => Options::default(),
    }
}

/// Finds a built-in model by name or Hugging Face id, or reads the `config.json` at this path (or in this
/// folder).
pub(crate) fn find(name: &str, options: Options<'_>) -> Result<NamedModel, Error> {
    if let Some(entry) = model::find(name) {
        return Ok(NamedModel {
            model: Model::new(entry.name, entry.spec),
            dense_intermediate: None,
            keys: None,
            ignored: Vec::new(),
        });
    }
    let [path, formats, generation] = model_files(name).ok_or_else(|| unknown(name))?;
    let text = input::read(&path, Whole::Model).map_err(Error::reading(&path))?;
    let (formats, generation) = (if_present(&formats)?, if_present(&generation)?);
    let options = options.with_hf_quant_config(formats.as_deref()).with_generation_config(generation.as_deref());
    let config = rooflut_hf_config::read(&text, options).map_err(|error| match error {
        ConfigError::TooLarge(error) => error.in_file(&path).into(),
        error => Error::in_file(&path, None, with_flag(&error)),
    })?;
    Ok(NamedModel {
        model: Model::new(name, config.spec)
            .with_kv_dtype(config.kv_dtype)
            .with_replaced_format(config.stand_in.map(|stand_in| stand_in.format)),
        dense_intermediate: config.dense_intermediate,
        keys: Some(config.keys),
        ignored: config.ignored,
    })
}

/// Reads a file; `None` if there is none.
fn if_present(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match input::read(path, Whole::Model) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::reading(path)(error)),
    }
}

/// Returns the message of an error with the flag that reads the file all the same.
fn with_flag(error: &ConfigError) -> String {
    match error.remedy() {
        Some(Remedy::AssumeLlama) => format!("{error} (--assume-llama)"),
        Some(Remedy::WeightDtype) => format!("{error} (--dtype)"),
        Some(Remedy::KvDtype) => format!("{error} (--kv-dtype)"),
        _ => error.to_string(),
    }
}

/// Returns an error with dimensions as the files of the `models` of `target`, the draft model last, call them.
pub(crate) fn with_keys(error: rooflut_scenario::Error, target: &Target, models: &[&NamedModel]) -> Error {
    if error.kind() != Kind::Parallelism {
        return error.into();
    }
    let degrees = [target.parallelism(), Parallelism::tensor(target.tp())];
    let undivided = models.iter().zip(degrees).find_map(|(named, degrees)| {
        let cause = named.model.spec.check_parallelism(degrees).err()?;
        Some((cause, named.keys.as_ref()))
    });
    match undivided {
        Some((cause, Some(keys))) => {
            error.map(|text| text.replacen(&cause.to_string(), &keys.rename(cause).to_string(), 1)).into()
        }
        _ => error.into(),
    }
}

fn unknown(name: &str) -> Error {
    let known = CATALOG.iter().flat_map(|entry| {
        let ids = entry.aliases.iter().filter(|id| name.contains('/') == id.contains('/'));
        let own = (!name.contains('/')).then_some(&entry.name);
        ids.chain(own).copied()
    });
    Error::new(format!(
        "unknown model \"{name}\"{}; `rooflut models` lists all, or give the path of a config.json",
        hint(&nearest(name, known))
    ))
}
