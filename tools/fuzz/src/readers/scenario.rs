//! Scenarios.

use rooflut::model;
use rooflut::table::{TableSet, sets};
use rooflut_scenario::{Error, Kind, Model, Resources, Run, Scenario, ScenarioFile, Target};

use super::{check_error, check_message, is_line, open};

/// Most requests of a load that is prepared.
const MOST_REQUESTS: u32 = 10_000;

/// Reads `bytes` as a scenario and checks what comes of it.
pub(super) fn scenario(bytes: &[u8]) {
    match ScenarioFile::read(bytes) {
        Ok(mut file) => {
            let keys: Vec<(&str, u64)> = file.keys().collect();
            assert!(keys.is_sorted_by_key(|(_, line)| *line));
            assert!(keys.iter().all(|(_, line)| is_line(bytes, *line)));
            // A replacement of the whole text leaves nothing.
            let all = file.scenario().clone();
            check(&all);
            assert_eq!(file.clone().overlaid(&Scenario::default()).unwrap(), (all.clone(), Vec::new()));
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

/// Asserts that a scenario repeats itself as a command, and that its servers and its load are prepared or refused.
fn check(scenario: &Scenario) {
    let is_short = scenario.workload.requests.is_none_or(|requests| requests <= MOST_REQUESTS);
    let prepared = scenario.check().and_then(|()| {
        let words = scenario.command().unwrap_or_default();
        assert!(words.iter().take(2).all(|word| ["rooflut", "run"].contains(&word.as_str())));
        if is_short { prepare(scenario) } else { Ok(()) }
    });
    if let Err(error) = prepared {
        check_message(&error.to_string());
    }
}

fn prepare(scenario: &Scenario) -> Result<(), Error> {
    let (model, tables) = found(&scenario.target)?;
    let draft_model = scenario.server.draft_model().map(named).transpose()?;
    let run = Run::try_new(scenario.clone(), Resources { model, draft_model, tables, find: &found, read: &open })?;
    assert_eq!(run.scenario(), scenario);
    assert!(run.replicas() > 0 && run.kinds().all(|kind| kind.config().kv_blocks > 0));
    run.with_seed(7).map(drop)
}

fn found(target: &Target) -> Result<(Model, TableSet), Error> {
    let tables = sets::ALL.into_iter().find(|set| set.name().eq_ignore_ascii_case(target.gpu()));
    let tables = tables.ok_or_else(|| Error::new(Kind::UnknownName, "unknown GPU"))?;
    Ok((named(target.model())?, tables.clone()))
}

fn named(model: &str) -> Result<Model, Error> {
    let entry = model::find(model).ok_or_else(|| Error::new(Kind::UnknownName, "unknown model"))?;
    Ok(Model::new(entry.name, entry.spec))
}
