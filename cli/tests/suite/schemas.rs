//! The JSON Schemas of `docs/schemas/`; bindings/python/tests/test_schemas.py compares what commands write with them.

use std::path::Path;
use std::{env, fs};

#[test]
fn schemas_are_those_of_the_documentation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas");
    for (name, schema) in rooflut_cli::schemas().unwrap() {
        let path = folder.join(format!("{name}.json"));
        let found = format!("{schema:#}\n");
        if env::var_os("ROOFLUT_ACCEPT").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == expected,
            "{name}: expected the schema of {}; if a key was removed, renamed or changed, raise SCHEMA_VERSION; then \
             ROOFLUT_ACCEPT=1 cargo test -p rooflut-cli --all-features schemas",
            path.display()
        );
    }
}
