//! What a report draws of a run.

use rooflut::interval::Coverage;
use rooflut_scenario::{Scenario, WindowWidth};

/// Returns a scenario whose answer also has what charts need and the scenario does not ask for: quantiles, windows, and
/// the interval where its errors are known.
pub(super) fn charted(scenario: &Scenario) -> Scenario {
    let mut charted = scenario.clone();
    let output = &mut charted.output;
    output.quantiles.get_or_insert(true);
    // Windows of a width that is not known take a second run.
    let is_read_once = scenario.workload.trace.as_deref().is_some_and(|trace| trace.as_os_str() == "-");
    if !is_read_once {
        output.windows.get_or_insert(WindowWidth::Auto);
    }
    if output.interval.is_none() {
        output.interval = Some(Coverage::default());
        if charted.check().is_err() {
            charted.output.interval = None;
        }
    }
    charted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_what_cannot_be_is_left_out() {
        let mut scenario = Scenario::default();
        let output = charted(&scenario).output;
        assert_eq!((output.quantiles, output.windows), (Some(true), Some(WindowWidth::Auto)));
        assert_eq!(output.interval, Some(Coverage::default()));
        scenario.target.pp = Some(2);
        scenario.workload.trace = Some("-".into());
        scenario.output.quantiles = Some(false);
        let output = charted(&scenario).output;
        assert_eq!((output.quantiles, output.windows, output.interval), (Some(false), None, None));
    }
}
