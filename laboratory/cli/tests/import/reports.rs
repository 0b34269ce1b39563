//! `rooflut-lab import`, on made-up files in the layouts as they are published.

use crate::imports::{Place, SAID, TREE, counts, fixture, has_finding};
use crate::support::{json, list, text};

#[test]
fn a_tree_of_blis_becomes_a_set_and_its_defects_are_told() {
    let place = Place::new();
    let answer = place.import("blis", &fixture("blis"), &format!("{SAID} {TREE}"));
    assert_eq!(counts(&answer, "gemm", "repeated with the same latency"), (8, 1));
    assert_eq!(counts(&answer, "prefill", ""), (3, 0));
    assert_eq!(counts(&answer, "decode", "warm-up"), (10, 1));
    assert_eq!(counts(&answer, "decode", "faster than the GPU can be"), (10, 1));
    for defect in ["warm-up", "eager floor", "mfu of 0", "ragged grid"] {
        assert!(has_finding(&answer, "decode", defect), "{defect}");
    }
    let not_imported: Vec<&str> = list(&answer, "/not_imported").iter().map(|file| text(file, "/why")).collect();
    assert_eq!(not_imported.len(), 3);
    assert!(not_imported[0].contains("folder h20"), "{not_imported:?}");
    assert!(not_imported[1].contains("grouped GEMM"), "{not_imported:?}");
    assert!(not_imported[2].contains("multi-head latent attention"), "{not_imported:?}");

    assert!(place.read("gemm.csv").starts_with("dtype,k,n,m,latency_us\nfp8_block,4096,4096,8,9.5\n"));
    assert!(place.read("attention_decode.csv").contains("\nbf16,bf16,32,8,128,2,32,4096,101.4\n"));
    let report = place.read("import-report.txt");
    assert!(report.contains("32-8-128-tp1.csv: line 2: the first row of its file"), "{report}");
    assert!(report.contains("data.csv: line 10: repeated with the same latency"), "{report}");
    assert!(place.read("set.toml").starts_with("name = \"mine\"\ngpu = \"h100\"\n"));
    // Other commands read the written set.
    let gemm = place.dest().join("gemm.csv");
    let score = json(&format!("tables score {} --gpu h100-infersim", gemm.display()));
    assert_eq!(list(&score, "/rows").len(), 8);
}
