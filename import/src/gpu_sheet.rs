//! The data sheet of a GPU that the library does not know.

use rooflut_roofline::Gpu;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A `[gpu]` table of a `set.toml`: the data sheet of a GPU that the library does not know.
#[derive(Debug, Clone)]
pub struct GpuSheet {
    gpu: Gpu,
    toml: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetFile {
    gpu: Sheet,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    name: String,
    description: String,
    bf16_tflops: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fp8_tflops: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fp4_tflops: Option<f64>,
    mem_bytes: u64,
    mem_bw_gb_per_s: f64,
    l2_bytes: u64,
    sms: u32,
    link_gb_per_s: f64,
    source: String,
}

impl GpuSheet {
    /// Reads a TOML file with one table `[gpu]`, as a `set.toml` has it.
    ///
    /// The values are checked with the set that they become part of.
    ///
    /// # Errors
    /// [`Error::Sheet`] for a key that is missing, unknown or of another type.
    pub fn parse(file: &str, text: &str) -> Result<GpuSheet, Error> {
        let refuse = |message: &str| Error::Sheet {
            file: file.to_owned(),
            message: message.trim_end().replace('\n', ", "),
        };
        let SheetFile { gpu: sheet } = toml::from_str(text).map_err(|error| {
            let before = text.get(..error.span().map_or(0, |span| span.start));
            let line = before.unwrap_or_default().matches('\n').count() + 1;
            refuse(&format!("line {line}: {}", error.message()))
        })?;
        let toml = toml::to_string(&sheet).map_err(|error| refuse(&error.to_string()))?;
        let gpu = Gpu {
            // One import a process; names live as long as it does.
            name: Box::leak(sheet.name.into_boxed_str()),
            description: Box::leak(sheet.description.into_boxed_str()),
            bf16_flops_per_s: sheet.bf16_tflops * 1e12,
            fp8_flops_per_s: sheet.fp8_tflops.map(|tflops| tflops * 1e12),
            fp4_flops_per_s: sheet.fp4_tflops.map(|tflops| tflops * 1e12),
            mem_bytes: sheet.mem_bytes,
            mem_bw_bytes_per_s: sheet.mem_bw_gb_per_s * 1e9,
            l2_bytes: sheet.l2_bytes,
            sms: sheet.sms,
            link_bytes_per_s: sheet.link_gb_per_s * 1e9,
        };
        Ok(GpuSheet { gpu, toml })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Its keys, without the head of the table.
    pub(crate) fn toml(&self) -> &str {
        &self.toml
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: &str = "[gpu]\nname = \"mine\"\ndescription = \"d\"\nbf16_tflops = 100.0\n\
        mem_bytes = 1000\nmem_bw_gb_per_s = 2.0\nl2_bytes = 3\nsms = 4\nlink_gb_per_s = 5.0\n\
        source = \"s\"\n";

    #[test]
    fn a_sheet_is_in_units_of_data_sheets() {
        let sheet = GpuSheet::parse("gpu.toml", SHEET).unwrap();
        let expected = Gpu {
            name: "mine",
            description: "d",
            bf16_flops_per_s: 1e14,
            fp8_flops_per_s: None,
            fp4_flops_per_s: None,
            mem_bytes: 1000,
            mem_bw_bytes_per_s: 2e9,
            l2_bytes: 3,
            sms: 4,
            link_bytes_per_s: 5e9,
        };
        assert_eq!(*sheet.gpu(), expected);
        assert!(!sheet.toml().contains("fp8"));
    }

    #[test]
    fn a_sheet_that_lacks_a_key_is_refused_on_one_line() {
        let error = GpuSheet::parse("gpu.toml", &SHEET.replace("sms = 4\n", "")).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("gpu.toml: ") && message.contains("sms"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1);
    }
}
