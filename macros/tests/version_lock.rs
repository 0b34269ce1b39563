//! The crates of rooflut work together in one version only: code emitted by a macro of another version
//! might not compile, or have another meaning.

mod support;

use support::fixture;

/// The members of the workspace that a user's crate depends on.
const PUBLISHED: [&str; 4] = ["", "roofline/", "codegen/", "macros/"];

#[test]
fn every_crate_wants_exactly_the_others_of_its_version() {
    let own = |line: &&str| line.starts_with("rooflut") && line.contains(['=', '.']);
    let manifest = fixture("Cargo.toml");
    let (_, rest) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let (locked, rest) = rest.split_once("\n\n").unwrap();
    let version = format!("version = \"={}\"", env!("CARGO_PKG_VERSION"));
    let locked: Vec<&str> = locked.lines().filter(own).collect();
    for line in &locked {
        assert!(line.contains(&version), "expected {version} in {line}");
    }
    // Members inherit these entries and have none of their own.
    let mut inherited = 0;
    for member in PUBLISHED {
        let manifest = match member {
            "" => rest.to_owned(),
            _ => fixture(&format!("{member}Cargo.toml")),
        };
        for line in manifest.lines().filter(own) {
            let (name, how) = line.split_once(['.', ' ']).unwrap();
            assert!(how.contains("workspace = true"), "{member}: {line}");
            assert!(locked.iter().any(|line| line.starts_with(name)));
            inherited += 1;
        }
    }
    assert!(inherited >= 6, "{inherited} of the crates use others");
}
