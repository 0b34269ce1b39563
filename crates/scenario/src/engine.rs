//! Engine stacks in files: those of a version, with constants of a server of one's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rooflut::engine::{self, Constant, EngineStack};
use rooflut::model;
use rooflut::units::Seconds;
use rooflut_error::{Error, Kind, Whole, either, hint, key, nearest, not_json, setting};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::de::DeTable;

use crate::data_sheet::names_file;
use crate::read::{Read, read_file};
use crate::scenario::Target;
use crate::text::{contents_error, text_of, toml_error};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an engine")]
pub struct EngineFile {
    /// Its name.
    pub name: String,
    /// The server that it describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The built-in stack that provides what the file leaves out.
    pub inherits: String,
    /// [Identity](Target::identity) of the server that the constants were fitted to.
    #[serde(default)]
    pub fitted_to: BTreeMap<String, String>,
    /// The constants in which it differs, by name.
    #[serde(default)]
    pub constants: BTreeMap<String, FileConstant>,
    /// The measurements that the constants were fitted to, as `rooflut calibrate` wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<toml::Table>,
}

/// A constant in the file of an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a constant, as in { value = 1.5, unit = \"ms\" }")]
pub struct FileConstant {
    /// Its value in `unit`.
    pub value: f64,
    /// `s`, `ms`, `us` or `ns` for a time, and for others the unit that `rooflut engines` names.
    pub unit: String,
    /// Ends of its 80 % interval, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The source of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl EngineFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Text that is not TOML, unknown keys and values of the wrong type, with their line.
    pub fn read(bytes: &[u8]) -> Result<EngineFile, Error> {
        let text = text_of(bytes)?;
        toml::from_str(text).map_err(|error| match DeTable::parse(text) {
            Ok(_) => contents_error(text, &error),
            Err(error) => toml_error(text, &error),
        })
    }

    /// Returns the file as TOML.
    ///
    /// # Errors
    /// Numbers that TOML does not have.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(|error| contents(error.to_string()))
    }
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
            Some(path) => Engine::read(path, &read_file("engine", Whole::Engine, path, read)?),
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
        let file = EngineFile::read(file)?;
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
        stack.check().map_err(|invalid| contents(invalid.to_string()))?;
        Ok(Engine { stack: Box::leak(Box::new(stack)), fitted_to: Box::leak(Box::new(file.fitted_to)) })
    }

    /// Returns a remark on a server that is not the one that the constants were fitted to.
    pub fn mismatch(&self, target: &Target) -> Option<String> {
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
fn set(stack: &mut EngineStack, about: &mut Vec<Constant>, name: &str, given: FileConstant) -> Result<(), Error> {
    let mut known = *described(about, name).filter(|_| field(stack, name).is_some()).ok_or_else(|| {
        let names = about.iter().map(|known| known.name).filter(|name| field(stack, name).is_some());
        let (hint, inherited) = (hint(&nearest(name, names)), stack.inherits.unwrap_or_default());
        contents(format!("unknown constant {name:?}{hint}; `rooflut engines` lists those of {inherited}"))
    })?;
    let (own, unit) = (seconds_of(known.unit), seconds_of(&given.unit));
    if own.is_some() != unit.is_some() || (own.is_none() && given.unit != known.unit) {
        let expected = own.map_or_else(|| known.unit.to_owned(), |_| either(&["s", "ms", "us", "ns"]));
        return Err(contents(format!("{name}: expected the unit {expected}, found {:?}", given.unit)));
    }
    if !(given.value.is_finite() && given.value >= 0.0) {
        return Err(contents(format!("{name}: expected a number of at least 0, found {}", given.value)));
    }
    let value = given.value * unit.unwrap_or(1.0);
    known.value = value / own.unwrap_or(1.0);
    known.source = given.source.map_or("", |source| source.leak());
    known.stack = stack.name;
    about.retain(|other| other.name != name);
    about.push(known);
    set_field(stack, name, value)
}

/// Returns what is said of a constant: of the inherited stack, or else of any.
fn described<'a>(about: &'a [Constant], name: &str) -> Option<&'a Constant> {
    let of_all = engine::stacks::ALL.into_iter().flat_map(|stack| stack.about);
    about.iter().chain(of_all).find(|known| known.name == name)
}

/// Returns the seconds of a unit of time in the files of engines; `None` for other units.
pub fn seconds_of(unit: &str) -> Option<f64> {
    let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
    units.iter().find(|(own, _)| *own == unit).map(|(_, seconds)| *seconds)
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
                if field.is_u64() && value.fract() != 0.0 {
                    return Err(contents(format!("{name}: expected a whole number, found {value}")));
                }
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
