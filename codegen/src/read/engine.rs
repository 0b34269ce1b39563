//! `engines/*.toml`: the time that an engine stack adds to the measured kernels.

use std::fs;
use std::path::Path;

use super::constants::{Constant, constant};
use super::error::Error;
use super::toml_file::{TomlFile, Value, is_simple};

/// A checked engine stack.
pub(crate) struct Engine {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) scheduling: Scheduling,
    /// In the order of [`CONSTANTS`].
    pub(crate) constants: Vec<(Constant, Unit)>,
}

/// When an engine prepares a step, by the name of the library's variant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scheduling {
    OneStepAhead,
    Synchronous,
}

/// The constants of an engine, and their units.
const CONSTANTS: [(&str, Unit); 11] = [
    ("layer", Unit::Microseconds),
    ("small_kernel_bandwidth", Unit::Share),
    ("logit", Unit::Nanoseconds),
    ("moe_layer", Unit::Microseconds),
    ("expert_bandwidth", Unit::Share),
    ("host", Unit::Microseconds),
    ("cuda_graph_max_tokens", Unit::Tokens),
    ("smoothed_rows", Unit::Rows),
    ("smoothing_width", Unit::LnRows),
    ("cold_kv", Unit::L2),
    ("api_server", Unit::Milliseconds),
];

/// The unit of a constant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Share,
    /// A batch size that CUDA graphs are captured for.
    Tokens,
    /// Rows of a GEMM.
    Rows,
    /// A width on a logarithmic axis of rows.
    LnRows,
    /// A multiple of the L2 cache.
    L2,
}

impl Engine {
    /// Reads the engine stack in the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read. [`ErrorKind::Toml`](super::error::ErrorKind::Toml) for a key that is
    /// missing or unknown, a unit other than that of [`CONSTANTS`], an impossible value, empty text, or a
    /// name other than that of the file.
    pub(crate) fn read(path: &Path) -> Result<Engine, Error> {
        let text = fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let stem = stem.to_string_lossy();
        let file = format!("engines/{stem}.toml");
        let file = TomlFile::new(&file, &text);
        let entries = file.parse()?;
        let sections = CONSTANTS.map(|(key, _)| key);
        let keys = [["name", "description", "scheduling"].as_slice(), &sections].concat();
        let table = file.table(&entries).only(&keys)?;
        let constants = CONSTANTS.into_iter().map(|(key, unit)| {
            let in_si = |name: &Value<'_>, value: &Value<'_>| unit.in_si(name, value);
            Ok((constant(key, &table.required(key)?, in_si)?, unit))
        });
        Ok(Engine {
            name: engine_name(&table.required("name")?, &stem)?,
            description: table.required("description")?.text()?.to_owned(),
            scheduling: Scheduling::parse(&table.required("scheduling")?)?,
            constants: constants.collect::<Result<_, Error>>()?,
        })
    }
}

/// The name of an engine: that of its file, and simple except for the dots of versions.
fn engine_name(value: &Value<'_>, stem: &str) -> Result<String, Error> {
    let name = value.string()?;
    if !is_simple(&name.replace('.', "-")) {
        let expected = "lower-case letters, digits, hyphens and dots, starting with a letter (and not \"all\")";
        return Err(value.refuse(expected, "rename it"));
    }
    if name != stem {
        return Err(value.refuse(format!("the name of the file, {stem:?}"), "rename one"));
    }
    Ok(name.to_owned())
}

impl Scheduling {
    fn parse(value: &Value<'_>) -> Result<Scheduling, Error> {
        match value.string()? {
            "one-step-ahead" => Ok(Scheduling::OneStepAhead),
            "synchronous" => Ok(Scheduling::Synchronous),
            _ => Err(value.refuse("\"one-step-ahead\" or \"synchronous\"", "correct it")),
        }
    }
}

impl Unit {
    /// The value of a constant in SI units.
    fn in_si(self, unit: &Value<'_>, value: &Value<'_>) -> Result<f64, Error> {
        let name = self.name();
        if unit.string()? != name {
            return Err(unit.refuse(format!("{name:?}"), "convert the value"));
        }
        match value.number()? {
            number if self.accepts(number) => Ok(number / self.per_si()),
            _ => Err(value.refuse(self.expected(), "correct it")),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "us",
            Unit::Milliseconds => "ms",
            Unit::Share => "share",
            Unit::Tokens => "tokens",
            Unit::Rows => "rows",
            Unit::LnRows => "ln(rows)",
            Unit::L2 => "L2",
        }
    }

    /// The number of these units in one SI unit; 1 where there is none.
    const fn per_si(self) -> f64 {
        match self {
            Unit::Nanoseconds => 1e9,
            Unit::Microseconds => 1e6,
            Unit::Milliseconds => 1e3,
            Unit::Share | Unit::Tokens | Unit::Rows | Unit::LnRows | Unit::L2 => 1.0,
        }
    }

    /// The values that [`accepts`](Self::accepts) accepts, for messages.
    const fn expected(self) -> &'static str {
        match self {
            Unit::Share => "a number above 0 and at most 1",
            Unit::Tokens => "0, 1, 2, 4 or a multiple of 8 below 2^32",
            Unit::Rows => "a whole number below 2^32",
            Unit::LnRows => "a number above 0",
            _ => "a number of at least 0",
        }
    }

    fn accepts(self, value: f64) -> bool {
        match self {
            Unit::Share => value > 0.0 && value <= 1.0,
            Unit::Tokens => {
                let small = [0.0, 1.0, 2.0, 4.0]
                    .iter()
                    .any(|size| (value - size).abs() <= 0.0);
                small || value > 0.0 && value % 8.0 <= 0.0 && value <= f64::from(u32::MAX)
            }
            Unit::Rows => value >= 0.0 && value % 1.0 <= 0.0 && value <= f64::from(u32::MAX),
            Unit::LnRows => value > 0.0 && value.is_finite(),
            _ => value >= 0.0 && value.is_finite(),
        }
    }
}
