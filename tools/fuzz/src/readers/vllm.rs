//! Commands of vLLM in scripts and manifests.

use std::fs;

use super::{check_message, files, folder};

/// Reads the first file as a command, a script and a manifest. `$CONFIG` is the path of the second.
pub(super) fn vllm(bytes: &[u8]) {
    let folder = folder("vllm");
    let files = files(bytes);
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("config.yaml"), files.get(1).unwrap_or(&&b""[..])).unwrap();
    let (script, manifest) = (path("serve.sh"), path("serve.yaml"));
    fs::write(&manifest, files[0]).unwrap();
    let command = [format!("CONFIG={}\n", path("config.yaml")).as_bytes(), files[0]].concat();
    fs::write(&script, &command).unwrap();
    let text = String::from_utf8_lossy(&command);
    for source in [text.into_owned(), format!("@{script}"), format!("@{manifest}"), format!("@{manifest}#m")] {
        match rooflut_cli::vllm::scenario_of(&source) {
            Ok((scenario, notes)) => {
                scenario.target.check().unwrap();
                notes.iter().for_each(|note| check_message(note));
            }
            Err(error) => check_message(&error.to_string()),
        }
    }
}
