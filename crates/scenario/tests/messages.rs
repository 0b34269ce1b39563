//! `messages.txt` has scenarios, with ` / ` for line breaks, and what is said about each. `ROOFLUT_ACCEPT=1 cargo test
//! -p rooflut-scenario --test messages` writes it again.

#[path = "../../../tests/support/messages.rs"]
mod page;

use rooflut_scenario::ScenarioFile;

#[test]
fn each_scenario_has_its_message() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");
    page::replay(path, |line| {
        if line.is_empty() || line.starts_with("== ") {
            return Vec::new();
        }
        let file = ScenarioFile::read(line.replace(" / ", "\n").as_bytes());
        vec![match file.and_then(|file| file.scenario().check()) {
            Ok(()) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        }]
    });
}
