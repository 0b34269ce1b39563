//! What the rows themselves say of the device and the engine stack that were measured.

use std::collections::BTreeMap;

use rooflut_roofline::Gpu;

use crate::Error;
use crate::answers::MeasuredGpu;
use crate::file::File;
use crate::reading::Reading;

/// What drivers call the GPUs that the library has data sheets of: only parts whose peaks and bandwidth
/// are those. A H100 PCIe is no H100 SXM.
const DEVICES: [(&str, &str); 6] = [
    ("NVIDIA A100-SXM4-80GB", "a100"),
    ("NVIDIA A100-SXM-80GB", "a100"),
    ("NVIDIA B200", "b200"),
    ("NVIDIA H100 80GB HBM3", "h100"),
    ("NVIDIA H200", "h200"),
    ("NVIDIA L40S", "l40s"),
];

/// Holds the devices that rows name against the GPU that is meant.
///
/// # Errors
/// [`Error::Device`] if one is not it.
pub(crate) fn check_devices<'r>(
    files: &[File<'_>],
    rows: impl Iterator<Item = &'r Reading>,
    measured: &MeasuredGpu,
    known: &[Gpu],
) -> Result<(), Error> {
    let devices = values(files, rows, &["device"]);
    let is_meant = |device: &String| match measured {
        MeasuredGpu::Known(gpu) => gpu_of(device) == Some(&*gpu.name),
        MeasuredGpu::Own(sheet) => {
            let name = &*sheet.gpu().name;
            gpu_of(device) == Some(name) || sheet_name(device) == name
        }
    };
    if devices.iter().all(is_meant) {
        return Ok(());
    }
    let meant = devices.iter().find(|device| is_meant(device)).cloned();
    let described = devices.into_iter().map(|device| {
        let gpu = gpu_of(&device).filter(|name| known.iter().any(|gpu| gpu.name == *name));
        let way_out = match gpu {
            Some(gpu) => format!("--gpu {gpu}"),
            None => format!(
                "--gpu-sheet with a data sheet called {}",
                sheet_name(&device)
            ),
        };
        (device, way_out)
    });
    Err(Error::Device {
        gpu: measured.gpu().name.to_string(),
        devices: described.collect(),
        meant,
    })
}

/// The stacks that rows name: `VLLM 0.24.0`.
pub(crate) fn engines<'r>(
    files: &[File<'_>],
    rows: impl Iterator<Item = &'r Reading>,
) -> Vec<String> {
    values(files, rows, &["framework", "version"])
}

/// The GPU of the library that a device is.
fn gpu_of(device: &str) -> Option<&'static str> {
    let found = DEVICES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(device));
    found.map(|(_, gpu)| *gpu)
}

/// What the data sheet of a device is called: `h100-pcie` for `NVIDIA H100 PCIe`.
fn sheet_name(device: &str) -> String {
    let lower = device.to_ascii_lowercase();
    let model = lower.strip_prefix("nvidia ").unwrap_or(&lower);
    let words = model.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The different values that rows have in these columns, of files that have all of them; those that differ
/// only in case count once.
fn values<'r>(
    files: &[File<'_>],
    rows: impl Iterator<Item = &'r Reading>,
    columns: &[&str],
) -> Vec<String> {
    let place = |file: &File<'_>, column: &str| file.header.iter().position(|name| name == column);
    let places: Vec<Option<Vec<usize>>> = files
        .iter()
        .map(|file| columns.iter().map(|column| place(file, column)).collect())
        .collect();
    let mut found = BTreeMap::new();
    let mut last = String::new();
    for row in rows {
        let (Some(file), Some(Some(places))) = (files.get(row.file), places.get(row.file)) else {
            continue;
        };
        let rows = &file.table.rows;
        let source = rows.binary_search_by_key(&row.place, |source| source.place);
        let Some(source) = source.ok().and_then(|index| rows.get(index)) else {
            continue;
        };
        let cells = places.iter().filter_map(|place| source.cells.get(*place));
        let text = cells
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        // Rows of one device follow each other: most are known already.
        if text.is_empty() || text == last {
            continue;
        }
        found
            .entry(text.to_ascii_lowercase())
            .or_insert_with(|| text.clone());
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
        for other in ["NVIDIA H100 PCIe", "NVIDIA GB200", "NVIDIA H100 NVL", ""] {
            assert_eq!(gpu_of(other), None, "{other}");
        }
        assert_eq!(sheet_name("NVIDIA H100 PCIe"), "h100-pcie");
        assert_eq!(sheet_name("AMD Instinct MI300X"), "amd-instinct-mi300x");
    }

    #[test]
    fn every_gpu_of_the_library_has_a_device() {
        let sheets: toml::Table =
            toml::from_str(include_str!("../../../bench_data/gpus.toml")).unwrap();
        assert!(!sheets.is_empty());
        for gpu in sheets.keys() {
            assert!(DEVICES.iter().any(|(_, name)| name == gpu), "{gpu}");
        }
        assert!(DEVICES.iter().all(|(_, gpu)| sheets.contains_key(*gpu)));
    }
}
