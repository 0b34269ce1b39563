//! Data sheets of GPUs: `gpus.toml`, and the `[gpu]` table of a set.

use std::collections::BTreeMap;

use rooflut_roofline::Gpu;

use super::error::{Error, ErrorKind, Found, Location};
use super::toml_file::{Table, TomlFile, Value};

/// The keys of a data sheet, in its units.
const KEYS: [&str; 12] = [
    "description",
    "bf16_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "mem_bytes",
    "mem_bw_gb_per_s",
    "l2_bytes",
    "sms",
    "link_gb_per_s",
    "tdp_w",
    "compute_capability",
    "source",
];

/// Reads a file with a single data sheet: a table `[gpu]`, as a `set.toml` has it.
///
/// # Errors
/// [`ErrorKind::Toml`](super::error::ErrorKind::Toml) for a key that is missing, unknown or of another
/// type, and for a number that is not positive and finite.
pub fn own_gpu(file: &str, text: &str) -> Result<Gpu, Error> {
    let file = TomlFile::new(file, text);
    let entries = file.parse()?;
    let table = file.table(&entries).only(&["gpu"])?;
    of_set(&table.required("gpu")?)
}

/// Reads a file with a single data sheet: a section named after the GPU, as `gpus.toml` has them, or `[gpu]` with a key
/// `name`, as a `set.toml` has it.
///
/// # Errors
/// As [`own_gpu`], and for a file that does not consist of one section.
pub fn data_sheet(file: &str, text: &str) -> Result<Gpu, Error> {
    let toml = TomlFile::new(file, text);
    let entries = toml.parse()?;
    let table = toml.table(&entries);
    match table.values().as_slice() {
        [("gpu", sheet)] => of_set(sheet),
        [(name, sheet)] => {
            let keys = sheet.table(&KEYS)?;
            sheet.check_name(name)?;
            of_sheet(&keys, name)
        }
        others => {
            let expected = "one section, named after the GPU, with its data sheet";
            let found = Found::words(match others.len() {
                0 => "none".to_owned(),
                count => format!("{count} keys or sections"),
            });
            let hint = "write a line such as [my-gpu] above the keys of one GPU";
            Err(Error::new(ErrorKind::Toml, Location::file(file), expected, found, hint))
        }
    }
}

/// The data sheet in the `[gpu]` table of a set.
///
/// # Errors
/// As [`own_gpu`].
pub(super) fn of_set(gpu: &Value<'_>) -> Result<Gpu, Error> {
    let keys = [["name"].as_slice(), &KEYS].concat();
    let sheet = gpu.table(&keys)?;
    let name = sheet.required("name")?;
    let text = name.string()?;
    name.check_name(text)?;
    of_sheet(&sheet, text)
}

/// A data sheet in SI units.
fn of_sheet(sheet: &Table<'_>, name: &str) -> Result<Gpu, Error> {
    let scaled = |value: Value<'_>, unit: f64| {
        let number = value.positive()? * unit;
        if number.is_finite() {
            return Ok(number);
        }
        Err(value.refuse("a positive number that is finite in SI units", "correct it"))
    };
    let rate = |key, unit| scaled(sheet.required(key)?, unit);
    let optional = |key, unit| {
        let value = sheet.optional(key);
        value.map(|value| scaled(value, unit)).transpose()
    };
    let whole = |key| sheet.required(key)?.whole();
    let description = sheet.required("description")?;
    let sms = sheet.required("sms")?;
    sheet.required("source")?.text()?;
    Gpu::builder(name.to_owned())
        .description(description.text()?.to_owned())
        .bf16_flops_per_s(rate("bf16_tflops", 1e12)?)
        .fp8_flops_per_s(optional("fp8_tflops", 1e12)?)
        .fp4_flops_per_s(optional("fp4_tflops", 1e12)?)
        .mem_bytes(whole("mem_bytes")?)
        .mem_bw_bytes_per_s(rate("mem_bw_gb_per_s", 1e9)?)
        .l2_bytes(whole("l2_bytes")?)
        .sms(u32::try_from(sms.whole()?).map_err(|_| sms.refuse("a whole number below 2^32", "correct it"))?)
        .link_bytes_per_s(rate("link_gb_per_s", 1e9)?)
        .tdp_w(optional("tdp_w", 1.0)?)
        .compute_capability(optional("compute_capability", 1.0)?)
        .build()
        .map_err(|error| description.refuse(error.to_string(), "correct the data sheet"))
}

/// The GPUs that a set may name.
#[derive(Debug)]
pub struct Gpus {
    sheets: BTreeMap<String, Gpu>,
}

impl Gpus {
    /// Reads the text of a `gpus.toml`.
    ///
    /// # Errors
    /// [`ErrorKind::Toml`](super::error::ErrorKind::Toml) with line and key.
    pub fn parse(text: &str) -> Result<Gpus, Error> {
        let file = TomlFile::new("gpus.toml", text);
        let entries = file.parse()?;
        let mut sheets = BTreeMap::new();
        for (name, value) in file.table(&entries).values() {
            value.check_name(name)?;
            let sheet = value.table(&KEYS)?;
            sheets.insert(name.to_owned(), of_sheet(&sheet, name)?);
        }
        Ok(Gpus { sheets })
    }

    /// The GPU of that name, or `None`.
    pub(super) fn find(&self, name: &str) -> Option<Gpu> {
        self.sheets.get(name).cloned()
    }

    /// All names, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        self.sheets.keys().map(String::as_str).collect()
    }

    /// All GPUs, in order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Gpu> {
        self.sheets.values()
    }
}

impl FromIterator<Gpu> for Gpus {
    /// GPUs whose data sheets were read before.
    fn from_iter<I: IntoIterator<Item = Gpu>>(gpus: I) -> Gpus {
        let named = gpus.into_iter().map(|gpu| (gpu.name.to_string(), gpu));
        Gpus { sheets: named.collect() }
    }
}
