//! `messages.txt` has scenarios, with ` / ` for line breaks, and what is said about each. `ROOFLUT_ACCEPT=1 cargo test
//! -p rooflut-scenario --test messages` writes it again.

use std::{env, fs};

use rooflut_scenario::ScenarioFile;

#[test]
fn each_scenario_has_its_message() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages.txt");
    let listed = fs::read_to_string(path).unwrap();
    let (title, cases) = listed.split_once('\n').unwrap();
    let mut found = format!("{title}\n");
    for line in cases.lines().filter(|line| !line.starts_with("    ")) {
        found += &format!("{line}\n");
        if !line.is_empty() && !line.starts_with("== ") {
            let file = ScenarioFile::read(line.replace(" / ", "\n").as_bytes());
            let message = match file.and_then(|file| file.scenario().check()) {
                Ok(()) => "accepted".to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(!message.contains(char::is_control), "{message:?}");
            found += &format!("    {message}\n");
        }
    }
    if env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
        fs::write(path, &found).unwrap();
    } else {
        let mut lines = listed.lines().zip(found.lines());
        let differs = lines.find(|(listed, found)| listed != found);
        assert!(listed == found, "{differs:#?}");
    }
}
