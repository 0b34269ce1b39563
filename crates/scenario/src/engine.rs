//! Engine stacks in files: those of a version, with constants of a server of one's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rooflut::engine::{self, Constant, EngineStack};
use rooflut::model;
use rooflut::units::Seconds;
use rooflut_error::{Error, Kind, either, hint, key, nearest, not_json, setting};
use serde::Deserialize;
use serde_json::Value;

use crate::data_sheet::names_file;
use crate::read::{Read, read_file};
use crate::scenario::Target;
use crate::text::{text_of, toml_error};

/// An engine of a target.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Engine {
    /// The stack.
    pub stack: &'static EngineStack,
    /// Settings of the server that its constants were fitted to, by key; empty for built-in stacks.
    pub fitted_to: &'static BTreeMap<String, String>,
}

/// The file of an engine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineFile {
    name: String,
    description: Option<String>,
    /// The built-in stack that provides what the file leaves out.
    inherits: String,
    #[serde(default)]
    fitted_to: BTreeMap<String, String>,
    #[serde(default)]
    constants: BTreeMap<String, FileConstant>,
    /// What the constants were fitted to, for `rooflut watch` and `rooflut calibrate --next`.
    #[serde(rename = "calibration")]
    _calibration: Option<toml::Table>,
}

/// A constant in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileConstant {
    value: f64,
    unit: String,
    source: Option<String>,
    #[serde(rename = "interval")]
    _interval: Option<[f64; 2]>,
}

impl Target {
    /// The path of the file that describes the engine, if its value is one.
    pub fn engine_file(&self) -> Option<&Path> {
        self.engine.as_deref().filter(|engine| names_file(engine)).map(Path::new)
    }

    /// Returns what tells a server apart from others: model, GPU, parallelism and formats.
    pub fn identity(&self) -> BTreeMap<String, String> {
        let model = model::find(self.model()).map_or(self.model(), |entry| entry.name);
        let tables = self.tables.as_ref().map(|path| path.display().to_string());
        let gpu = tables.is_none().then(|| self.gpu().to_lowercase());
        let formats = [("dtype", self.dtype), ("kv_dtype", self.kv_dtype)];
        let formats = formats.map(|(key, dtype)| (key, dtype.map(|dtype| dtype.to_string())));
        let ranks = [("tp", self.tp()), ("pp", self.pp()), ("dp", self.dp())];
        let ranks = ranks.map(|(key, ranks)| (key, Some(ranks.to_string())));
        let experts = self.expert_parallel.unwrap_or(false).then(|| "true".to_owned());
        let others =
            [("model", Some(model.to_owned())), ("gpu", gpu), ("tables", tables), ("expert_parallel", experts)];
        let all = others.into_iter().chain(ranks).chain(formats);
        all.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Returns the engine: of its file, which `read` opens, the stack of its version, or else the closest earlier one.
    ///
    /// # Errors
    /// An engine without a stack, and a file that cannot be read or is malformed.
    pub fn find_engine(&self, read: Read<'_>) -> Result<Engine, Error> {
        match self.engine_file() {
            Some(path) => Engine::read(path, &read_file("engine", path, read)?),
            None => Engine::find(self.engine()),
        }
    }
}

/// The stack of the default version.
impl Default for Engine {
    fn default() -> Engine {
        Engine::of(&engine::DEFAULT)
    }
}

impl Engine {
    /// Returns the built-in stack of an engine, or else the closest earlier one.
    ///
    /// # Errors
    /// An engine without a stack.
    pub fn find(name: &str) -> Result<Engine, Error> {
        let stack = engine::find(name).or_else(|| engine::closest(name)).ok_or_else(|| unknown_engine(name))?;
        Ok(Engine::of(stack))
    }

    /// Returns a built-in stack.
    pub fn of(stack: &'static EngineStack) -> Engine {
        static NOTHING: BTreeMap<String, String> = BTreeMap::new();
        Engine { stack, fitted_to: &NOTHING }
    }

    /// Reads the file of an engine: its `name`, the built-in stack that it `inherits`, and the constants in which it
    /// differs. What is read is kept until the program ends, once for equal files.
    ///
    /// ```
    /// use rooflut_scenario::Engine;
    /// let file = "name = 'mine'\ninherits = 'vllm-0.18.0'\n[constants]\nhost = { value = 1.5, unit = 'ms' }\n";
    /// let engine = Engine::read("mine.toml".as_ref(), file.as_bytes())?;
    /// assert_eq!((engine.stack.name, engine.stack.constants.host.ms()), ("mine", 1.5));
    /// let error = Engine::read("mine.toml".as_ref(), file.replace("host", "hots").as_bytes()).unwrap_err();
    /// assert!(error.to_string().starts_with("mine.toml: constants: unknown constant \"hots\" (nearest: host"));
    /// # Ok::<(), rooflut_scenario::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that is malformed, a name of a built-in stack, a stack that is not built in, unknown constants, and values
    /// out of range.
    pub fn read(path: &Path, file: &[u8]) -> Result<Engine, Error> {
        static READ: Mutex<Vec<(Vec<u8>, Engine)>> = Mutex::new(Vec::new());
        let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, engine)) = all.iter().find(|(known, _)| known == file) {
            return Ok(*engine);
        }
        let engine = Engine::parse(file).map_err(|error| error.in_file(path).about(["engine"]))?;
        all.push((file.to_owned(), engine));
        Ok(engine)
    }

    fn parse(file: &[u8]) -> Result<Engine, Error> {
        let text = text_of(file)?;
        let file: EngineFile = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
        let inherited = engine::stacks::ALL.into_iter().find(|stack| stack.name == file.inherits).ok_or_else(|| {
            let hint = hint(&nearest(&file.inherits, engine::stacks::ALL.map(|stack| stack.name)));
            contents(format!(
                "inherits: expected a built-in stack, found {:?}{hint}; `rooflut engines` lists all",
                file.inherits
            ))
        })?;
        if engine::find(&file.name).is_some() {
            let name = file.name;
            return Err(contents(format!("name: expected one that no built-in stack has, found {name:?}; rename it")));
        }
        let mut stack = *inherited;
        stack.name = file.name.leak();
        stack.inherits = Some(inherited.name);
        stack.released = None;
        stack.description = file.description.map_or(inherited.description, |text| text.leak());
        let mut about = inherited.about.to_vec();
        for (name, given) in file.constants {
            set(&mut stack, &mut about, &name, given)
                .map_err(|error| error.map(|text| format!("constants: {text}")))?;
        }
        stack.about = about.leak();
        stack.check().map_err(|invalid| contents(format!("constants: {invalid}")))?;
        Ok(Engine { stack: Box::leak(Box::new(stack)), fitted_to: Box::leak(Box::new(file.fitted_to)) })
    }

    /// Returns a remark on a server that is not the one that the constants were fitted to.
    pub(crate) fn elsewhere(&self, target: &Target) -> Option<String> {
        if self.fitted_to.is_empty() {
            return None;
        }
        let here = target.identity();
        let keys: BTreeSet<&String> = self.fitted_to.keys().chain(here.keys()).collect();
        let differing = keys.into_iter().filter_map(|key| {
            let [fitted, here] = [self.fitted_to.get(key), here.get(key)];
            let shown = |value: Option<&String>| value.map_or("its default", String::as_str).to_owned();
            (fitted != here).then(|| format!("{key} {} instead of {}", shown(here), shown(fitted)))
        });
        let differing: Vec<String> = differing.collect();
        let (name, differing_text) = (self.stack.name, differing.join(", "));
        (!differing.is_empty())
            .then(|| format!("the constants of {name} were fitted to another server: {differing_text}"))
    }
}

/// Sets a constant, and what is said of it.
fn set(stack: &mut EngineStack, about: &mut [Constant], name: &str, given: FileConstant) -> Result<(), Error> {
    let Some(known) = about.iter_mut().find(|known| known.name == name && field(stack, known.name).is_some()) else {
        let names: Vec<&str> =
            about.iter().map(|known| known.name).filter(|name| field(stack, name).is_some()).collect();
        let hint = hint(&nearest(name, names));
        let inherited = stack.inherits.unwrap_or_default();
        return Err(contents(format!("unknown constant {name:?}{hint}; `rooflut engines` lists those of {inherited}")));
    };
    let of_time =
        |unit: &str| ["s", "ms", "us", "ns"].iter().zip([1.0, 1e-3, 1e-6, 1e-9]).find(|(own, _)| **own == unit);
    let (own, given_unit) = (of_time(known.unit), of_time(&given.unit));
    let factor = match (own, given_unit) {
        (Some(_), Some((_, seconds))) => seconds,
        (None, None) if given.unit == known.unit => 1.0,
        (Some(_), _) => {
            return Err(contents(format!(
                "{name}: expected a unit of time, {}, found {:?}",
                either(&["ms", "us", "ns"]),
                given.unit
            )));
        }
        _ => return Err(contents(format!("{name}: expected the unit {:?}, found {:?}", known.unit, given.unit))),
    };
    if !(given.value.is_finite() && given.value >= 0.0) {
        return Err(contents(format!("{name}: expected a number of at least 0, found {}", given.value)));
    }
    known.value = given.value * factor / own.map_or(1.0, |(_, seconds)| seconds);
    known.source = given.source.map_or("", |source| source.leak());
    known.stack = stack.name;
    set_field(stack, name, given.value * factor)
}

/// Returns a constant of a step or of the API server, in seconds if it is a time; `None` for others.
fn field(stack: &EngineStack, name: &str) -> Option<f64> {
    match name {
        "api_server" => Some(stack.api_server.0),
        "api_token" => Some(stack.api_token.0),
        "api_output" => Some(stack.api_output.0),
        "first_token_error" => Some(stack.first_token_error),
        "other_first_token_error" => Some(stack.other_first_token_error),
        _ => serde_json::to_value(stack.constants).ok()?.get(name)?.as_f64(),
    }
}

fn set_field(stack: &mut EngineStack, name: &str, value: f64) -> Result<(), Error> {
    match name {
        "api_server" => stack.api_server = Seconds(value),
        "api_token" => stack.api_token = Seconds(value),
        "api_output" => stack.api_output = Seconds(value),
        "first_token_error" => stack.first_token_error = value,
        "other_first_token_error" => stack.other_first_token_error = value,
        _ => {
            let mut all = serde_json::to_value(stack.constants).map_err(not_json)?;
            if let Some(field) = all.get_mut(name) {
                // A whole number stays one.
                *field = if field.is_u64() { Value::from(value as u64) } else { Value::from(value) };
            }
            stack.constants = serde_json::from_value(all).map_err(|error| contents(format!("{name}: {error}")))?;
        }
    }
    Ok(())
}

fn contents(text: String) -> Error {
    Error::new(Kind::Contents, text)
}

/// The error of an engine without a stack.
fn unknown_engine(name: &str) -> Error {
    let known = engine::stacks::ALL.map(|stack| stack.name);
    let cause = match engine::oldest(name) {
        Some(oldest) => {
            format!("{name:?} is older than all stacks; use {}, the oldest", setting("engine", oldest.name))
        }
        None => format!("unknown engine {name:?}{}; `rooflut engines` lists all", hint(&nearest(name, known))),
    };
    Error::new(Kind::UnknownName, format!("{}: {cause}", key("engine")))
}
