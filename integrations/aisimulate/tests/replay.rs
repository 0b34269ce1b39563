//! Whole runs of AISimulate beside those of rooflut's simulator, with the modules of the example.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

#[path = "../examples/compare/figures.rs"]
#[allow(dead_code)]
mod figures;
#[path = "../examples/compare/replayed.rs"]
mod replayed;
#[path = "../examples/compare/simulated.rs"]
mod simulated;
#[path = "../examples/compare/workload.rs"]
#[allow(dead_code)]
mod workload;

use std::error::Error;

use rooflut::sim::Request;
use rooflut_aisimulate::RooflineTiming;

use figures::Latencies;
use workload::Workload;

fn workload(requests: Vec<Request>) -> Workload {
    Workload { name: "made up", deployment: workload::llama(8_192).unwrap(), requests }
}

fn replay(workload: &Workload) -> Result<Latencies, Box<dyn Error>> {
    let timing = RooflineTiming::try_new(&workload.deployment)?;
    replayed::latencies(timing.engine_config()?, Some(&timing), workload)
}

/// Serves the workload with the simulator of the example that has this name.
fn simulate(name: &str, workload: &Workload) -> Latencies {
    let simulators = simulated::simulators(&workload.deployment).unwrap();
    let (_, simulator) = simulators.iter().find(|(own, _)| *own == name).unwrap();
    simulated::latencies(simulator, workload).unwrap()
}

fn assert_close(found: Latencies, expected: Latencies, tolerance_ms: f64) {
    for (mut found, mut expected) in [(found.ttft_ms, expected.ttft_ms), (found.tpot_ms, expected.tpot_ms)] {
        assert_eq!(found.len(), expected.len());
        found.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < tolerance_ms, "{found}, {expected}");
        }
    }
}

#[test]
fn equal_requests_that_arrive_at_once_have_rooflut_s_latencies() {
    for count in [1, 8] {
        let workload = workload(vec![Request::new(1_000, 200); count]);
        let expected = simulate("… scheduling after each step", &workload);
        // Steps are whole nanoseconds, and AISimulate adds them up in f64 milliseconds.
        assert_close(replay(&workload).unwrap(), expected, 1e-6);
    }
}

#[test]
fn means_and_separate_prompts_are_all_that_differs() {
    for mut workload in [Workload::even().unwrap(), Workload::spread().unwrap()] {
        workload.requests.truncate(400);
        let expected = simulate("… prompts apart", &workload);
        // Two roundings in place of one, over the steps that a request waits for.
        assert_close(replay(&workload).unwrap(), expected, 1e-4);
        let other = simulate("… from mean lengths", &workload);
        let found = replay(&workload).unwrap();
        assert!(found.tpot_ms.iter().sum::<f64>() > 1.01 * other.tpot_ms.iter().sum::<f64>());
    }
}

#[test]
fn a_request_beyond_the_model_is_an_error() {
    let workload = workload(vec![Request::new(140_000, 1)]);
    let error = replay(&workload).err().unwrap().to_string();
    assert!(error.contains("Rejected"), "{error}");
}
