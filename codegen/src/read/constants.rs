//! Constants that were tuned on measurements: `constants.toml`, and the sections of `engines/*.toml`.

use std::fs;
use std::path::Path;

use super::error::Error;
use super::toml_file::{TomlFile, Value};

/// A constant as a file gives it.
pub(crate) struct Constant {
    /// Its section in the file.
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) meaning: String,
    pub(crate) source: String,
    /// The value in SI units.
    pub(crate) in_si: f64,
}

/// Reads the constants in the file at `path`, in its order.
///
/// # Errors
/// The file cannot be read. [`ErrorKind::Toml`](super::error::ErrorKind::Toml) for a key that is missing
/// or unknown, an unknown unit, a value that is not positive, or empty text.
pub(crate) fn read_constants(path: &Path) -> Result<Vec<Constant>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let file = TomlFile::new(&name, &text);
    let entries = file.parse()?;
    let sections = file.table(&entries).values().into_iter();
    let constants = sections.map(|(name, section)| {
        section.check_name(&name.replace('_', "-"))?;
        constant(name, &section, |unit, value| {
            let in_si = match unit.text()? {
                "GiB" => f64::from(1 << 30),
                "share" | "exponent" | "rows" => 1.0,
                _ => {
                    let expected = "\"GiB\", \"share\", \"exponent\" or \"rows\"";
                    return Err(unit.refuse(expected, "convert the value"));
                }
            };
            Ok(value.positive()? * in_si)
        })
    });
    constants.collect()
}

/// Reads a section with a constant; `in_si` takes its unit and its value and returns the value in SI units.
pub(super) fn constant(
    name: &str,
    section: &Value<'_>,
    in_si: impl FnOnce(&Value<'_>, &Value<'_>) -> Result<f64, Error>,
) -> Result<Constant, Error> {
    let table = section.table(&["value", "unit", "meaning", "source"])?;
    let text = |key| Ok::<_, Error>(table.required(key)?.text()?.to_owned());
    let (value, unit) = (table.required("value")?, table.required("unit")?);
    Ok(Constant {
        name: name.to_owned(),
        in_si: in_si(&unit, &value)?,
        value: value.number()?,
        unit: unit.string()?.to_owned(),
        meaning: text("meaning")?,
        source: text("source")?,
    })
}
