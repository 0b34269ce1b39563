//! `gpus.toml`: data sheets by name.

use std::collections::BTreeMap;

use rooflut_roofline::Gpu;
use serde::Deserialize;
use toml::Spanned;

use crate::Error;
use crate::toml_file::TomlFile;

/// A GPU as a file describes it: units as in data sheets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GpuSheet {
    /// In a set's own sheet only: in `gpus.toml` the key is the name.
    name: Option<String>,
    description: String,
    bf16_tflops: f64,
    fp8_tflops: Option<f64>,
    fp4_tflops: Option<f64>,
    mem_bytes: u64,
    mem_bw_gb_per_s: f64,
    l2_bytes: u64,
    sms: u32,
    link_gb_per_s: f64,
    #[serde(rename = "source")]
    _source: String,
}

impl GpuSheet {
    /// The GPU of a set's own `[gpu]` table, which begins at `place`.
    ///
    /// # Errors
    /// [`Error::Toml`] where the name is missing or bad or a number not positive and finite.
    pub(crate) fn to_own_gpu(&self, file: &TomlFile<'_>, place: usize) -> Result<Gpu, Error> {
        match &self.name {
            Some(name) => self.to_gpu("gpu", name, file, place),
            None => {
                let message = "gpu: expected a name, found none; add name = \"…\" to [gpu]";
                Err(file.error(place, message.to_owned()))
            }
        }
    }

    /// The data sheet in SI units; `table` is its key in the file.
    fn to_gpu(
        &self,
        table: &str,
        name: &str,
        file: &TomlFile<'_>,
        place: usize,
    ) -> Result<Gpu, Error> {
        file.simple_name(&format!("{table}.name"), name, place)?;
        let scaled = |key: &str, value: f64, unit: f64| {
            let key = format!("{table}.{key}");
            file.positive(&key, value, place)?;
            // A number of 1e300 teraflop/s is finite, in FLOP/s it is not.
            file.positive(&key, value * unit, place)
        };
        let peak = |key: &str, value: Option<f64>| value.map(|v| scaled(key, v, 1e12)).transpose();
        scaled("mem_bytes", self.mem_bytes as f64, 1.0)?;
        scaled("l2_bytes", self.l2_bytes as f64, 1.0)?;
        scaled("sms", f64::from(self.sms), 1.0)?;
        Gpu::builder(name.to_owned())
            .description(self.description.clone())
            .bf16_flops_per_s(scaled("bf16_tflops", self.bf16_tflops, 1e12)?)
            .fp8_flops_per_s(peak("fp8_tflops", self.fp8_tflops)?)
            .fp4_flops_per_s(peak("fp4_tflops", self.fp4_tflops)?)
            .mem_bytes(self.mem_bytes)
            .mem_bw_bytes_per_s(scaled("mem_bw_gb_per_s", self.mem_bw_gb_per_s, 1e9)?)
            .l2_bytes(self.l2_bytes)
            .sms(self.sms)
            .link_bytes_per_s(scaled("link_gb_per_s", self.link_gb_per_s, 1e9)?)
            .build()
            .map_err(|error| file.error(place, error.to_string()))
    }
}

/// Reads a file with a data sheet alone: a table `[gpu]`, as a `set.toml` has it.
///
/// # Errors
/// [`Error::Toml`] with file and line for a key that is missing, unknown or of another type, and for a number
/// that is not positive and finite.
pub fn own_gpu(file: &str, text: &str) -> Result<Gpu, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SheetFile {
        gpu: Spanned<GpuSheet>,
    }
    let file = TomlFile::new(file, text);
    let SheetFile { gpu } = file.parse("[gpu] in bench_data/README.md")?;
    gpu.as_ref().to_own_gpu(&file, gpu.span().start)
}

/// The GPUs that sets may name.
#[derive(Debug)]
pub struct Gpus(BTreeMap<String, Gpu>);

impl Gpus {
    /// Reads the text of a `gpus.toml`.
    ///
    /// # Errors
    /// [`Error::Toml`] with the line.
    pub fn parse(text: &str) -> Result<Gpus, Error> {
        let file = TomlFile::new("gpus.toml", text);
        let sheets: BTreeMap<String, Spanned<GpuSheet>> = file.parse("bench_data/gpus.toml")?;
        let gpu = |(name, sheet): (&String, &Spanned<GpuSheet>)| {
            let place = sheet.span().start;
            let sheet = sheet.as_ref();
            if sheet.name.is_some() {
                let message = format!(
                    "{name}: expected no key name ([{name}] is the name), found one; remove it"
                );
                return Err(file.error(place, message));
            }
            Ok((name.clone(), sheet.to_gpu(name, name, &file, place)?))
        };
        Ok(Gpus(sheets.iter().map(gpu).collect::<Result<_, Error>>()?))
    }

    /// The GPU of that name.
    pub(crate) fn find(&self, name: &str) -> Option<Gpu> {
        self.0.get(name).cloned()
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// All GPUs, in order of their names.
    #[cfg(feature = "emit")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Gpu> {
        self.0.values()
    }
}

impl FromIterator<Gpu> for Gpus {
    /// Data sheets that have been read before.
    fn from_iter<I: IntoIterator<Item = Gpu>>(gpus: I) -> Gpus {
        let named = gpus.into_iter().map(|gpu| (gpu.name.to_string(), gpu));
        Gpus(named.collect())
    }
}
