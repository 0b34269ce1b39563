//! Scenarios.

use rooflut_scenario::{Scenario, ScenarioFile};

use super::{check_error, is_line};

/// Reads `bytes` as a scenario and checks what comes of it.
pub(super) fn scenario(bytes: &[u8]) {
    match ScenarioFile::read(bytes) {
        Ok(mut file) => {
            let keys: Vec<(&str, u64)> = file.keys().collect();
            assert!(keys.is_sorted_by_key(|(_, line)| *line));
            assert!(keys.iter().all(|(_, line)| is_line(bytes, *line)));
            // A replacement of the whole text leaves nothing.
            let all = file.scenario().clone();
            let replaced = file.remove_replaced(&all).unwrap();
            assert!(replaced.iter().eq(keys.iter().map(|(key, _)| key)));
            assert_eq!(file.scenario(), &Scenario::default());
        }
        Err(error) => {
            check_error(bytes, &error);
            assert!(error.line().is_some());
        }
    }
    // With the lists of a sweep.
    if let Err(error) = ScenarioFile::read_with_lists(bytes) {
        check_error(bytes, &error);
    }
}
