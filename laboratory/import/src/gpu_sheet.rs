//! The data sheet of a GPU that the library does not know.

use rooflut_error::{Error, Kind};
use rooflut_roofline::Gpu;
use toml::{Table, Value};

/// A `[gpu]` table of a `set.toml`: the data sheet of a GPU that the library does not know.
#[derive(Debug, Clone)]
pub struct GpuSheet {
    gpu: Gpu,
    toml: String,
}

impl GpuSheet {
    /// Reads a TOML file with one table `[gpu]`, as a `set.toml` has it.
    ///
    /// # Errors
    /// A key is missing, unknown or of another type.
    pub fn parse(file: &str, text: &str) -> Result<GpuSheet, Error> {
        let gpu = rooflut_codegen::own_gpu(file, text);
        let gpu = gpu.map_err(|error| Error::new(Kind::Contents, error.to_string()))?;
        // `own_gpu` has parsed the same text.
        let table: Table = toml::from_str(text).unwrap_or_default();
        let keys = table.get("gpu").and_then(Value::as_table);
        let toml = keys.map_or_else(String::new, Table::to_string);
        Ok(GpuSheet { gpu, toml })
    }

    /// Returns the GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns its keys, without the head of the table.
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
        let expected = Gpu::builder("mine")
            .description("d")
            .bf16_flops_per_s(1e14)
            .mem_bytes(1000)
            .mem_bw_bytes_per_s(2e9)
            .l2_bytes(3)
            .sms(4)
            .link_bytes_per_s(5e9)
            .build()
            .unwrap();
        assert_eq!(*sheet.gpu(), expected);
        assert!(!sheet.toml().contains("fp8"));
    }

    #[test]
    fn a_sheet_that_lacks_a_key_is_refused_on_one_line() {
        let error = GpuSheet::parse("gpu.toml", &SHEET.replace("sms = 4\n", "")).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("gpu.toml:") && message.contains("sms"), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}
