//! Devices and engine stacks that rows name.

use std::collections::BTreeMap;

use rooflut_error::Error;
use rooflut_roofline::Gpu;

use crate::answers::MeasuredGpu;
use crate::error::wrong;
use crate::file::File;
use crate::reading::Reading;
use crate::text::{MAX_LISTED, condition, listed};

/// Device names of drivers, with the GPUs of the library that they are. Only parts with the peaks and the
/// bandwidth of the data sheet are listed: an H100 PCIe is not an H100 SXM.
const DEVICES: [(&str, &str); 10] = [
    ("NVIDIA A100-SXM4-80GB", "a100"),
    ("NVIDIA A100-SXM-80GB", "a100"),
    ("NVIDIA B200", "b200"),
    ("NVIDIA B300 SXM6 AC", "b300"),
    ("NVIDIA GB200", "gb200"),
    ("NVIDIA GB300", "gb300"),
    ("NVIDIA H100 80GB HBM3", "h100"),
    ("NVIDIA H200", "h200"),
    ("NVIDIA L40S", "l40s"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
];

/// Checks that the devices that rows name are the `measured` GPU.
///
/// # Errors
/// One is not.
pub(crate) fn check_devices<'r>(
    files: &[File<'_>],
    rows: impl Iterator<Item = &'r Reading>,
    measured: &MeasuredGpu,
    known: &[Gpu],
) -> Result<(), Error> {
    let devices = values(files, rows, &["device"]);
    let is_measured = |device: &String| match measured {
        MeasuredGpu::Known(gpu) => gpu_of(device) == Some(&*gpu.name),
        MeasuredGpu::Own(sheet) => {
            let name = &*sheet.gpu().name;
            gpu_of(device) == Some(name) || sheet_name(device) == name
        }
    };
    if devices.iter().all(is_measured) {
        return Ok(());
    }
    let gpu = &measured.gpu().name;
    let advice = match devices.iter().find(|device| is_measured(device)) {
        Some(own) => format!("select the rows of {gpu} with {}", condition("device", own)),
        None => {
            let fixes = devices.iter().take(MAX_LISTED).map(|device| {
                let only = match devices.len() {
                    1 => String::new(),
                    _ => format!(" and {}", condition("device", device)),
                };
                format!("rows of {device} need {}{only}", flag(device, known))
            });
            fixes.collect::<Vec<_>>().join("; ")
        }
    };
    let found = listed(&devices);
    let problem = format!("expected rows of {gpu}, found rows of {found}; {advice}");
    Err(wrong("device", problem))
}

/// Returns the flag for a set of this device.
fn flag(device: &str, known: &[Gpu]) -> String {
    match gpu_of(device).filter(|name| known.iter().any(|gpu| gpu.name == *name)) {
        Some(gpu) => format!("--gpu {gpu}"),
        None => format!("--gpu-sheet with a data sheet called {}", sheet_name(device)),
    }
}

/// Returns the engine stacks that rows name: `VLLM 0.24.0`.
pub(crate) fn engines<'r>(files: &[File<'_>], rows: impl Iterator<Item = &'r Reading>) -> Vec<String> {
    values(files, rows, &["framework", "version"])
}

/// Returns the GPU of the library that a device is.
fn gpu_of(device: &str) -> Option<&'static str> {
    let found = DEVICES.iter().find(|(name, _)| name.eq_ignore_ascii_case(device));
    found.map(|(_, gpu)| *gpu)
}

/// Returns a name for the data sheet of a device: `h100-pcie` for `NVIDIA H100 PCIe`.
fn sheet_name(device: &str) -> String {
    let lower = device.to_ascii_lowercase();
    let model = lower.strip_prefix("nvidia ").unwrap_or(&lower);
    let words = model.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// Returns the distinct values of these columns, for files that have all of them. Values that differ only
/// in case count once.
fn values<'r>(files: &[File<'_>], rows: impl Iterator<Item = &'r Reading>, columns: &[&str]) -> Vec<String> {
    let indices: Vec<Option<Vec<usize>>> =
        files.iter().map(|file| columns.iter().map(|column| file.index(column)).collect()).collect();
    let mut found = BTreeMap::new();
    let mut last = String::new();
    for row in rows {
        let (Some(file), Some(Some(indices))) = (files.get(row.file), indices.get(row.file)) else {
            continue;
        };
        let Some(source) = file.table.row(row.number) else {
            continue;
        };
        let cells = indices.iter().map(|index| source.cell(*index));
        let text = cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" ");
        // Consecutive rows are mostly of one device.
        if text.is_empty() || text == last {
            continue;
        }
        found.entry(text.to_ascii_lowercase()).or_insert_with(|| text.clone());
        last = text;
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_known_by_their_whole_names() {
        assert_eq!(gpu_of("nvidia h100 80gb hbm3"), Some("h100"));
        for other in ["NVIDIA H100 PCIe", "NVIDIA H20", "NVIDIA H100 NVL", ""] {
            assert_eq!(gpu_of(other), None, "{other}");
        }
        assert_eq!(sheet_name("NVIDIA H100 PCIe"), "h100-pcie");
        assert_eq!(sheet_name("AMD Instinct MI300X"), "amd-instinct-mi300x");
    }

    #[test]
    fn every_gpu_of_the_library_has_a_device() {
        let sheets: toml::Table = toml::from_str(include_str!("../../../bench_data/gpus.toml")).unwrap();
        assert!(!sheets.is_empty());
        for gpu in sheets.keys() {
            assert!(DEVICES.iter().any(|(_, name)| name == gpu), "{gpu}");
        }
        assert!(DEVICES.iter().all(|(_, gpu)| sheets.contains_key(*gpu)));
    }
}
