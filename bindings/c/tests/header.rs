//! The header is what cbindgen writes; `ROOFLUT_ACCEPT=1 cargo test -p rooflut-c --test header` writes it again.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_functions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(folder).with_config(config).generate().unwrap();
    let mut header = Vec::new();
    bindings.write(&mut header);
    let path = folder.join("include/rooflut.h");
    if std::env::var_os("ROOFLUT_ACCEPT").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let header = String::from_utf8(header).unwrap();
    assert!(header == known, "include/rooflut.h: ROOFLUT_ACCEPT=1 cargo test -p rooflut-c --test header");
}
