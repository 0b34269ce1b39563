//! Runs that are stopped in their midst.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut::sim::{Observer, RequestRecord};
use rooflut_scenario::{Kind, Stop};

/// Stops the run after some requests.
struct StopAfter {
    requests: usize,
    stop: Stop,
}

impl Observer for StopAfter {
    fn finished(&mut self, _: usize, _: &RequestRecord) {
        self.requests = self.requests.saturating_sub(1);
        if self.requests == 0 {
            self.stop.stop();
        }
    }
}

#[test]
fn a_run_ends_in_the_midst_of_its_simulation() {
    for servers in
        ["", "replicas = 2", "prefill_replicas = 1\ndecode_replicas = 1\nlink_bandwidth = 50\nlink_latency = 10"]
    {
        // More requests than a test could wait for.
        let text = format!("[workload]\nrate = 20\nrequests = 10_000_000\n[server]\n{servers}\n");
        let stop = Stop::default();
        let run = support::run(&text).stopped_by(stop.clone());
        let mut observer = StopAfter { requests: 100, stop };
        let ended = run.run(&mut observer);
        assert_eq!(ended.unwrap_err().kind(), Kind::Stopped, "{servers}");
    }
}

#[test]
fn each_simulation_is_counted_once() {
    let stop = Stop::default();
    let text = "[workload]\nrate = 20\nrequests = 50\nseeds = 3\n";
    let run = support::run(text).stopped_by(stop.clone());
    assert_eq!(stop.simulations(), 0);
    run.run(&mut ()).unwrap();
    assert_eq!(stop.simulations(), 3);
}
