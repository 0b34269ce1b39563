//! Models.

use std::ffi::c_char;

use rooflut::model::{self, CATALOG};
use rooflut_error::{hint, nearest};
use rooflut_hf_config::{Options, read};
use rooflut_scenario::Model;
use serde_json::json;

use crate::Handle;
use crate::error::{Error, Failure};
use crate::pointer::{input, text};
use crate::registry::REGISTRY;
use crate::text::{json as json_text, list, returning};

/// The files of a model as Hugging Face has them. Files that are left out are null.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ConfigFiles {
    /// Name of the model in reports and messages.
    pub name: *const c_char,
    /// Bytes of `name`.
    pub name_length: usize,
    /// Text of `config.json`.
    pub config: *const c_char,
    /// Bytes of `config`.
    pub config_length: usize,
    /// Text of `hf_quant_config.json`, or null.
    pub hf_quant_config: *const c_char,
    /// Bytes of `hf_quant_config`.
    pub hf_quant_config_length: usize,
    /// Text of `generation_config.json`, or null.
    pub generation_config: *const c_char,
    /// Bytes of `generation_config`.
    pub generation_config_length: usize,
    /// 1 to read a file of any type as a Llama's, else 0.
    pub assume_llama: u32,
}

/// Returns a built-in model by its name or Hugging Face id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_model_find(
    name: *const c_char,
    name_length: usize,
    model: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, name_length, "name") }?;
        REGISTRY.models.insert(find(name)?)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((model, "model"), error, make) }
}

/// Reads a model from the texts of its files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_model_read(files: *const ConfigFiles, model: *mut Handle, error: *mut Error) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let (files, [name, config, formats, generation]) = unsafe {
            let files = input(files, "files")?;
            (files, files.texts()?)
        };
        let formats = (!files.hf_quant_config.is_null()).then_some(formats.as_bytes());
        let generation = (!files.generation_config.is_null()).then_some(generation.as_bytes());
        let options = Options::default().with_hf_quant_config(formats).with_generation_config(generation);
        let options = match files.assume_llama {
            0 => options,
            1 => options.assuming_llama(),
            found => return Err(Failure::value("assume_llama", "0 or 1", found)),
        };
        let read = read(config, options).map_err(|error| Failure::refused(format_args!("config: {error}")))?;
        let model = Model::new(name, read.spec).with_kv_dtype(read.kv_dtype);
        REGISTRY.models.insert(model)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((model, "model"), error, make) }
}

/// Returns the dimensions of a model as a text of JSON: its name and its specification.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_model_describe(model: Handle, description: *mut Handle, error: *mut Error) -> u32 {
    let make = || REGISTRY.models.read(model, |model| json_text(&json!({"name": model.name, "spec": model.spec})));
    // SAFETY: the caller's promise.
    unsafe { returning((description, "description"), error, make) }
}

/// Returns the names of the built-in models as a text of JSON, a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_model_names(names: *mut Handle, error: *mut Error) -> u32 {
    let make = || list(&CATALOG.iter().map(|entry| entry.name).collect::<Vec<_>>());
    // SAFETY: the caller's promise.
    unsafe { returning((names, "names"), error, make) }
}

/// Finds a built-in model.
pub(crate) fn find(name: &str) -> Result<Model, Failure> {
    let found = model::find(name).map(|entry| Model::new(entry.name, entry.spec));
    found.ok_or_else(|| {
        let known = CATALOG.iter().map(|entry| entry.name);
        let hint = hint(&nearest(name, known));
        Failure::refused(format_args!(
            "model: expected a built-in model, found {name:?}{hint}; list them with rooflut_model_names, or read a config.json"
        ))
    })
}

impl ConfigFiles {
    /// Returns name, config, formats and generation.
    ///
    /// # Safety
    /// The pointers are null or valid for reads of their lengths for `'a`.
    unsafe fn texts<'a>(&self) -> Result<[&'a str; 4], Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok([
                text(self.name, self.name_length, "name")?,
                text(self.config, self.config_length, "config")?,
                text(self.hf_quant_config, self.hf_quant_config_length, "hf_quant_config")?,
                text(self.generation_config, self.generation_config_length, "generation_config")?,
            ])
        }
    }
}
