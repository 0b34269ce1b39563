//! `engines/*.toml`: the time that an engine stack adds to the measured kernels.

use std::fs;
use std::path::Path;

use super::constants::{Constant, constant};
use super::defaults::{self, Defaults};
use super::error::Error;
use super::rules::{RULES, Rule};
use super::toml_file::{Table, TomlFile, Value, is_simple};

/// A checked engine stack.
pub(crate) struct Engine {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Date of the release, YYYY-MM-DD.
    pub(crate) released: Option<String>,
    pub(crate) inherits: Option<String>,
    pub(crate) table_version: Option<String>,
    /// In the order of [`RULES`].
    pub(crate) rules: Vec<Given<Rule>>,
    pub(crate) defaults: Defaults,
    /// All constants: those of [`OF_STEP`], [`OF_REQUEST`] and [`OF_MEMORY`], in this order.
    pub(crate) constants: Vec<Given<(Constant, Unit)>>,
}

/// A value, and the name of the stack whose file gives it.
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) stack: String,
}

/// The file of a stack.
struct Stack<'a> {
    name: &'a str,
    table: Table<'a>,
    rules: Option<Table<'a>>,
    defaults: Option<Table<'a>>,
}

/// The constants of a step, and their units: the fields of the library's `StepConstants`.
pub(crate) const OF_STEP: [(&str, Unit); 38] = [
    ("layer", Unit::Microseconds),
    ("small_kernel_bandwidth", Unit::Share),
    ("sustained_math", Unit::Share),
    ("blackwell_sustained_math", Unit::Share),
    ("sustained_reads", Unit::Share),
    ("logit", Unit::Nanoseconds),
    ("sort", Unit::Microseconds),
    ("sorted_logit", Unit::Nanoseconds),
    ("penalty", Unit::Microseconds),
    ("all_reduce_wait", Unit::Microseconds),
    ("all_reduce_growth", Unit::Times),
    ("fused_all_reduce", Unit::Microseconds),
    ("fused_all_reduce_bandwidth", Unit::Share),
    ("moe_layer", Unit::Microseconds),
    ("blackwell_moe_layer", Unit::Microseconds),
    ("tuned_experts", Unit::Share),
    ("expert_bandwidth", Unit::Share),
    ("fp8_block_expert_bandwidth", Unit::Share),
    ("blackwell_fp8_block_experts", Unit::Times),
    ("fp8_block_unreached_experts", Unit::Part),
    ("routed_padding", Unit::Part),
    ("shared_expert_tokens", Unit::Tokens),
    ("routing", Unit::Exponent),
    ("prompt_layer", Unit::Microseconds),
    ("blackwell_prompt_layer", Unit::Microseconds),
    ("prompt_moe_layer", Unit::Microseconds),
    ("prompt_state_layer", Unit::Microseconds),
    ("uncaptured_state_layer", Unit::Microseconds),
    ("uncaptured_layer", Unit::Microseconds),
    ("host", Unit::Microseconds),
    ("host_request", Unit::Microseconds),
    ("cuda_graph_max_tokens", Unit::Tokens),
    ("smoothed_rows", Unit::Rows),
    ("smoothing_width", Unit::LnRows),
    ("cold_kv", Unit::L2),
    ("lookup_error_share", Unit::Share),
    ("step_error", Unit::Share),
    ("other_step_error", Unit::Share),
];

/// The constants of a request.
pub(crate) const OF_REQUEST: [(&str, Unit); 5] = [
    ("api_server", Unit::Milliseconds),
    ("api_token", Unit::Microseconds),
    ("api_output", Unit::Microseconds),
    ("first_token_error", Unit::Share),
    ("other_first_token_error", Unit::Share),
];

/// The constants of the memory.
pub(crate) const OF_MEMORY: [(&str, Unit); 7] = [
    ("non_torch_memory", Unit::Gibibytes),
    ("communication_memory", Unit::Gibibytes),
    ("logit_memory", Unit::Bytes),
    ("logit_buffer", Unit::Bytes),
    ("kept_expert_workspace", Unit::Part),
    ("graph_memory", Unit::Gibibytes),
    ("graph_layer_memory", Unit::Mebibytes),
];

/// All constants of an engine, and their units.
fn constants() -> impl Iterator<Item = (&'static str, Unit)> {
    OF_STEP.into_iter().chain(OF_REQUEST).chain(OF_MEMORY)
}

/// The unit of a constant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Share,
    /// A share that may be none.
    Part,
    /// A batch size that CUDA graphs are captured for.
    Tokens,
    /// Rows of a GEMM.
    Rows,
    /// A width on a logarithmic axis of rows.
    LnRows,
    /// A multiple of the L2 cache.
    L2,
    /// A multiple of what a benchmark measures.
    Times,
    /// An exponent.
    Exponent,
    Bytes,
    Mebibytes,
    Gibibytes,
}

impl Engine {
    /// Reads the engine stacks in the files at `paths`, in this order. A stack has the rules, the defaults and the
    /// constants that its file does not name from the stack that it inherits from.
    ///
    /// # Errors
    /// A file cannot be read. [`ErrorKind::Toml`](super::error::ErrorKind::Toml) for a key that is
    /// missing or unknown, a unit other than declared here, an impossible value, empty text, a
    /// name other than that of the file, and a stack that inherits from an unknown one or from itself.
    pub(crate) fn read_all(paths: &[&Path]) -> Result<Vec<Engine>, Error> {
        let texts = paths.iter().map(|path| read(path));
        let texts: Vec<(String, String)> = texts.collect::<Result<_, _>>()?;
        let files: Vec<TomlFile<'_>> = texts.iter().map(|(name, text)| TomlFile::new(name, text)).collect();
        let entries = files.iter().map(TomlFile::parse);
        let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
        let tables = files.iter().zip(&entries);
        let stacks = tables.zip(paths).map(|((file, entries), path)| Stack::new(path, file.table(entries)));
        let stacks: Vec<Stack<'_>> = stacks.collect::<Result<_, _>>()?;
        stacks.iter().map(|stack| stack.engine(&stacks)).collect()
    }
}

/// The name of a file in messages, and its text.
fn read(path: &Path) -> Result<(String, String), Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
    Ok((format!("engines/{}.toml", stem(path)), text))
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

impl<'a> Stack<'a> {
    fn new(path: &Path, table: Table<'a>) -> Result<Stack<'a>, Error> {
        let mut keys = vec!["name", "description", "released", "inherits", "table_version"];
        keys.extend(["rules", "defaults"]);
        keys.extend(constants().map(|(key, _)| key));
        let table = table.only(&keys)?;
        let rules = table.optional("rules").map(|rules| {
            let names = RULES.each_ref().map(|rule| rule.name);
            rules.table(&names)
        });
        let defaults = table.optional("defaults").map(|defaults| defaults.table(&defaults::KEYS));
        Ok(Stack {
            name: engine_name(&table.required("name")?, &stem(path))?,
            rules: rules.transpose()?,
            defaults: defaults.transpose()?,
            table,
        })
    }

    /// The stack with what it inherits from others of `stacks`.
    fn engine(&self, stacks: &[Stack<'a>]) -> Result<Engine, Error> {
        let line = self.line(stacks)?;
        let rules = RULES.iter().map(|kind| {
            let rule = |stack: &Stack<'a>| stack.rules.as_ref()?.optional(kind.name);
            let (stack, value) = match (given(&line, rule), &self.rules) {
                (Some(given), _) => given,
                (None, Some(rules)) => (self.name, rules.required(kind.name)?),
                (None, None) => (self.name, self.table.required("rules")?),
            };
            let value = kind.read(&value)?;
            let stack = stack.to_owned();
            Ok(Given { value, stack })
        });
        let constants = constants().map(|(key, unit)| {
            let (stack, section) = match given(&line, |stack| stack.table.optional(key)) {
                Some(given) => given,
                None => (self.name, self.table.required(key)?),
            };
            let in_si = |name: &Value<'_>, value: &Value<'_>| unit.in_si(name, value);
            let value = (constant(key, &section, in_si)?, unit);
            let stack = stack.to_owned();
            Ok(Given { value, stack })
        });
        let of_defaults = |key: &str| {
            let found = given(&line, |stack| stack.defaults.as_ref()?.optional(key));
            match (found, &self.defaults) {
                (Some((_, value)), _) => Ok(value),
                (None, Some(defaults)) => defaults.required(key),
                (None, None) => self.table.required("defaults"),
            }
        };
        let defaults = Defaults::read(of_defaults)?;
        let table_version = given(&line, |stack| stack.table.optional("table_version"));
        let table_version = table_version.map(|(_, value)| Ok::<_, Error>(value.text()?.to_owned()));
        let released = self.table.optional("released").map(|value| date(&value));
        Ok(Engine {
            name: self.name.to_owned(),
            description: self.table.required("description")?.text()?.to_owned(),
            released: released.transpose()?,
            table_version: table_version.transpose()?,
            inherits: line.get(1).map(|stack| stack.name.to_owned()),
            rules: rules.collect::<Result<_, Error>>()?,
            defaults,
            constants: constants.collect::<Result<_, Error>>()?,
        })
    }

    /// The stack and those that it inherits from, the closest first.
    fn line<'s>(&'s self, stacks: &'s [Stack<'a>]) -> Result<Vec<&'s Stack<'a>>, Error> {
        let mut line = vec![self];
        let mut last = self;
        while let Some(inherits) = last.table.optional("inherits") {
            let name = inherits.string()?;
            let Some(next) = stacks.iter().find(|stack| stack.name == name) else {
                let names: Vec<_> = stacks.iter().map(|stack| stack.name).collect();
                let expected = format!("the name of a stack ({})", names.join(", "));
                return Err(inherits.refuse(expected, "correct it or add the file"));
            };
            if line.iter().any(|heir| heir.name == name) {
                let expected = format!("a stack that does not inherit from {}", last.name);
                let hint = "remove it from one of the two files";
                return Err(inherits.refuse(expected, hint));
            }
            line.push(next);
            last = next;
        }
        Ok(line)
    }
}

/// The value that the first stack of a line has, and the name of that stack.
fn given<'a, 's>(
    line: &[&'s Stack<'a>],
    find: impl Fn(&'s Stack<'a>) -> Option<Value<'a>>,
) -> Option<(&'a str, Value<'a>)> {
    line.iter().find_map(|stack| Some((stack.name, find(stack)?)))
}

/// A date, YYYY-MM-DD.
fn date(value: &Value<'_>) -> Result<String, Error> {
    let text = value.string()?;
    let fits = |(byte, like): (u8, u8)| match like {
        b'-' => byte == like,
        _ => byte.is_ascii_digit(),
    };
    if text.len() == 10 && text.bytes().zip(*b"YYYY-MM-DD").all(fits) {
        Ok(text.to_owned())
    } else {
        Err(value.refuse("a date, YYYY-MM-DD", "correct it"))
    }
}

/// The name of an engine: that of its file, and simple except for the dots of versions.
fn engine_name<'a>(value: &Value<'a>, stem: &str) -> Result<&'a str, Error> {
    let name = value.string()?;
    if !is_simple(&name.replace('.', "-")) {
        let expected = "lower-case letters, digits, hyphens and dots, starting with a letter (and not \"all\")";
        return Err(value.refuse(expected, "rename it"));
    }
    if name != stem {
        return Err(value.refuse(format!("the name of the file, {stem:?}"), "rename one"));
    }
    Ok(name)
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
            Unit::Share | Unit::Part => "share",
            Unit::Tokens => "tokens",
            Unit::Rows => "rows",
            Unit::LnRows => "ln(rows)",
            Unit::L2 => "L2",
            Unit::Times => "times",
            Unit::Exponent => "exponent",
            Unit::Bytes => "bytes",
            Unit::Mebibytes => "MiB",
            Unit::Gibibytes => "GiB",
        }
    }

    /// The number of these units in one SI unit; 1 where there is none.
    const fn per_si(self) -> f64 {
        match self {
            Unit::Nanoseconds => 1e9,
            Unit::Microseconds => 1e6,
            Unit::Milliseconds => 1e3,
            Unit::Mebibytes => 1.0 / 1_048_576.0,
            Unit::Gibibytes => 1.0 / 1_073_741_824.0,
            _ => 1.0,
        }
    }

    /// The values that [`accepts`](Self::accepts) accepts, for messages.
    const fn expected(self) -> &'static str {
        match self {
            Unit::Share => "a number above 0 and at most 1",
            Unit::Part => "a number from 0 to 1",
            Unit::Tokens => "0, 1, 2, 4 or a multiple of 8 below 2^32",
            Unit::Rows => "a whole number below 2^32",
            Unit::LnRows => "a number above 0",
            Unit::Times => "a number of at least 1",
            _ => "a number of at least 0",
        }
    }

    fn accepts(self, value: f64) -> bool {
        match self {
            Unit::Share => value > 0.0 && value <= 1.0,
            Unit::Part => (0.0..=1.0).contains(&value),
            Unit::Tokens => {
                let small = [0.0, 1.0, 2.0, 4.0].iter().any(|size| (value - size).abs() <= 0.0);
                small || value > 0.0 && value % 8.0 <= 0.0 && value <= f64::from(u32::MAX)
            }
            Unit::Rows => value >= 0.0 && value % 1.0 <= 0.0 && value <= f64::from(u32::MAX),
            Unit::LnRows => value > 0.0 && value.is_finite(),
            Unit::Times => value >= 1.0 && value.is_finite(),
            _ => value >= 0.0 && value.is_finite(),
        }
    }
}
