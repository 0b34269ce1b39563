//! The errors of GPUs that are predicted as if they were not measured.

use rooflut::interval::Coverage;
use rooflut_validation::{Transfer, transfers_markdown};

#[test]
fn the_guide_has_the_errors_of_transfers() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hardware.md")).unwrap();
    let tables = transfers_markdown();
    assert!(
        tables.split("\n\n").all(|table| guide.contains(table.trim_end())),
        "docs/hardware.md lacks these tables of `cargo run -q -p rooflut-validation --example transfers`:\n{tables}"
    );
}

#[test]
fn intervals_cover_kernels_and_steps_of_gpus_that_were_not_measured() {
    for transfers in [Transfer::NEAR, Transfer::FAR] {
        let coverage = Coverage::default();
        let share = |covered: Vec<bool>| 100.0 * covered.iter().filter(|is| **is).count() as f64 / covered.len() as f64;
        let kernels = transfers.iter().flat_map(|transfer| transfer.kernels(coverage));
        let steps = transfers.iter().flat_map(|transfer| transfer.steps(coverage));
        let kernels = share(kernels.map(|kernel| kernel.is_covered()).collect());
        let steps = share(steps.map(|step| step.is_covered()).collect());
        assert!((74.0..=86.0).contains(&kernels), "{transfers:?}: {kernels} % of kernels");
        assert!((74.0..=86.0).contains(&steps), "{transfers:?}: {steps} % of steps");
    }
}
