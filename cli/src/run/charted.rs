//! Figures that the report of a run draws.

use rooflut::interval::Coverage;
use rooflut_scenario::{Scenario, WindowWidth};

/// Returns a scenario whose answer also has what charts need and the scenario does not ask for: quantiles, windows, and
/// the interval where its errors are known.
pub(super) fn charted(scenario: &Scenario) -> Scenario {
    let mut charted = scenario.clone();
    let output = &mut charted.output;
    output.quantiles.get_or_insert(true);
    output.windows.get_or_insert(WindowWidth::Auto);
    // With other step times, a run may end before a server is lost, or within its warm-up.
    let may_fail = scenario.server.lose.is_some() || scenario.workload.warm_up.is_some();
    if output.interval.is_none() && !may_fail {
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
        scenario.output.quantiles = Some(false);
        let output = charted(&scenario).output;
        assert_eq!((output.quantiles, output.interval), (Some(false), None));
        scenario.target.pp = None;
        assert!(charted(&scenario).output.interval.is_some());
        scenario.workload.warm_up = Some(10.0);
        assert_eq!(charted(&scenario).output.interval, None);
    }
}
