//! `gpus.toml`: data sheets by name.

use std::collections::BTreeMap;
use std::path::Path;

use rooflut_roofline::Gpu;
use serde::Deserialize;

use crate::Error;

/// A GPU as a file describes it: units as in data sheets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GpuSheet {
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
    /// The data sheet in SI units.
    ///
    /// # Errors
    /// [`Error::Toml`] where a number is not positive and finite.
    pub(crate) fn to_gpu(&self, name: &str, file: &str) -> Result<Gpu, Error> {
        let positive = |key: &str, value: f64| {
            if value > 0.0 && value.is_finite() {
                return Ok(value);
            }
            Err(Error::Toml {
                file: file.to_owned(),
                message: format!("{name}: {key}: expected a positive number, found {value}"),
            })
        };
        let tera = |key: &str, value: f64| Ok(positive(key, value)? * 1e12);
        Ok(Gpu {
            // A generator runs once and ends; names live as long as it does.
            name: Box::leak(name.to_owned().into_boxed_str()),
            description: Box::leak(self.description.clone().into_boxed_str()),
            bf16_flops_per_s: tera("bf16_tflops", self.bf16_tflops)?,
            fp8_flops_per_s: self.fp8_tflops.map(|v| tera("fp8_tflops", v)).transpose()?,
            fp4_flops_per_s: self.fp4_tflops.map(|v| tera("fp4_tflops", v)).transpose()?,
            mem_bytes: positive("mem_bytes", self.mem_bytes as f64).map(|_| self.mem_bytes)?,
            mem_bw_bytes_per_s: positive("mem_bw_gb_per_s", self.mem_bw_gb_per_s)? * 1e9,
            l2_bytes: positive("l2_bytes", self.l2_bytes as f64).map(|_| self.l2_bytes)?,
            sms: positive("sms", f64::from(self.sms)).map(|_| self.sms)?,
            link_bytes_per_s: positive("link_gb_per_s", self.link_gb_per_s)? * 1e9,
        })
    }
}

/// The GPUs that sets may name.
#[derive(Debug)]
pub(crate) struct Gpus(BTreeMap<String, Gpu>);

impl Gpus {
    /// Reads the text of a `gpus.toml`.
    ///
    /// # Errors
    /// [`Error::Toml`] with line and column.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Gpus, Error> {
        let file = path.display().to_string();
        let sheets: BTreeMap<String, GpuSheet> =
            toml::from_str(text).map_err(|error| Error::Toml {
                file: file.clone(),
                message: error.to_string(),
            })?;
        let gpus = sheets
            .iter()
            .map(|(name, sheet)| Ok((name.clone(), sheet.to_gpu(name, &file)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Gpus(gpus))
    }

    /// The GPU of that name.
    pub(crate) fn find(&self, name: &str) -> Option<Gpu> {
        self.0.get(name).copied()
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// All GPUs, in order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Gpu> {
        self.0.values()
    }
}
