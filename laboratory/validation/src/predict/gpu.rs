//! GPUs by the spellings of people and drivers.

use rooflut::table::{TableSet, sets};

use crate::reason::Reason;

/// Finds the set that `gpu` spells: its name in any case, with words separated by `-`, `_` or spaces,
/// optionally after `nvidia` and before words that fit every GPU of the set, as in
/// `NVIDIA H100 80GB HBM3`. Any other word may mean other hardware: an `A100-40GB`, an `H100 PCIe`.
pub(super) fn find(gpu: &str) -> Result<&'static TableSet, Reason> {
    let name = gpu.to_ascii_lowercase();
    let all: Vec<&str> = name.split(SEPARATORS).collect();
    let words = all.strip_prefix(&["nvidia"]).unwrap_or(&all);
    let spelled = |set: &&TableSet| {
        let own: Vec<&str> = set.name().split(SEPARATORS).collect();
        let rest = words.strip_prefix(own.as_slice());
        rest.is_some_and(|rest| rest.iter().all(|word| suffixes(set.name()).contains(word)))
    };
    let found = sets::ALL.into_iter().find(spelled);
    found.ok_or_else(|| {
        let known: Vec<&str> = sets::ALL.iter().map(|set| set.name()).collect();
        Reason::unknown("GPU", gpu, &format!("there are tables of {}", known.join(", ")))
    })
}

/// Returns whether `gpu` spells the set or the GPU that it was measured on.
pub(crate) fn is_of(gpu: &str, set: &TableSet) -> bool {
    let names = [set.name(), set.gpu().name.as_str()];
    names.iter().any(|name| name.eq_ignore_ascii_case(gpu))
        || find(gpu).is_ok_and(|found| found.name() == set.gpu().name.as_str())
}

const SEPARATORS: [char; 3] = ['-', '_', ' '];

/// Words that fit the hardware of the set and no other.
fn suffixes(set: &str) -> &'static [&'static str] {
    match set {
        "a100" => &["sxm", "sxm4", "80gb"],
        "b200" => &["sxm", "180gb"],
        "b300" => &["sxm", "288gb"],
        "gb200" => &["186gb"],
        "gb300" => &["288gb"],
        "rtx-pro-6000" => &["blackwell", "server", "edition", "96gb", "pcie"],
        "h100" => &["sxm", "sxm5", "80gb", "hbm3"],
        "h200" => &["sxm", "141gb"],
        "l40s" => &["48gb", "pcie"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_hardware_is_found() {
        for (gpu, set) in [
            ("H100", "h100"),
            ("H100-SXM5", "h100"),
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("nvidia_h100_sxm_80gb", "h100"),
            ("NVIDIA A100-SXM4-80GB", "a100"),
            ("h200 141GB", "h200"),
            ("B200 SXM 180GB", "b200"),
            ("NVIDIA B300 SXM", "b300"),
            ("GB200", "gb200"),
            ("NVIDIA GB300 288GB", "gb300"),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"),
            ("l40s 48GB", "l40s"),
            ("NVIDIA-L40S", "l40s"),
        ] {
            let found = find(gpu).unwrap_or_else(|reason| panic!("{reason}"));
            assert_eq!(found.name(), set, "{gpu}");
        }
    }

    #[test]
    fn a_set_is_of_the_hardware_that_was_measured() {
        for gpu in ["h200", "H200 SXM 141GB", "NVIDIA H200"] {
            assert!(is_of(gpu, &sets::H200), "{gpu}");
        }
        for gpu in ["h100", "h200 NVL", "", "h100-infersim"] {
            assert!(!is_of(gpu, &sets::H200), "{gpu}");
        }
    }

    #[test]
    fn other_hardware_is_unknown() {
        for gpu in [
            "A100-40GB",
            "h100_pcie",
            "H100 NVL",
            "NVIDIA H100 80GB HBM2e",
            "a100 80gb pcie",
            "h1000",
            "v100",
            "",
            "-h100",
            "nvidia",
            "tesla h100",
            "h100-infersim-sxm",
        ] {
            let reason = find(gpu).unwrap_err().to_string();
            let start = format!("unknown GPU \"{gpu}\" (there are tables of a100, b200, b300,");
            assert!(reason.starts_with(&start), "{reason}");
        }
    }
}
