//! Whole runs of AISimulate beside those of rooflut's simulator.

use std::sync::Arc;

use aisimulate_core::replay::{
    ReplayEngineConfig, ReplayReport, ReplaySpec, run_engine_replay_with_timing,
};
use rooflut::engine::Scheduling;
use rooflut::sim::{Request, Simulator};
use rooflut::table::sets;
use rooflut::{Deployment, model};
use rooflut_aisimulate::RooflineTiming;
use serde_json::json;

fn deployment() -> Deployment {
    let llama = model::find("llama-3.1-8b").unwrap();
    let builder = Deployment::builder(llama.spec, &sets::H100);
    builder.max_num_batched_tokens(8_192).build().unwrap()
}

/// Serves `requests` that arrive at once.
fn replay(requests: &[Request]) -> ReplayReport {
    let timing = RooflineTiming::try_new(&deployment()).unwrap();
    let rank = timing.engine_config().unwrap();
    let engine = ReplayEngineConfig {
        rank,
        ..ReplayEngineConfig::default()
    };
    let requests = requests.iter().enumerate().map(|(index, request)| {
        json!({
            "id": index.to_string(),
            "arrival_time_ms": 0.0,
            "input_tokens": request.prompt_tokens,
            "output_tokens": request.output_tokens,
        })
    });
    let spec: ReplaySpec = serde_json::from_value(json!({
        "topology": { "kind": "aggregated", "workers": { "initial_workers": 1 } },
        "engine": engine,
        "requests": requests.collect::<Vec<_>>(),
    }))
    .unwrap();
    run_engine_replay_with_timing(spec, Arc::new(timing)).unwrap()
}

#[test]
fn equal_prompts_that_arrive_at_once_have_rooflut_s_latencies() {
    let simulator = deployment().simulator().unwrap();
    let config = simulator
        .config()
        .with_scheduling(Scheduling::Synchronous)
        .with_api_server_ns(0)
        .with_api_token_ns(0)
        .with_api_output_ns(0);
    let simulator = Simulator::try_new(simulator.model(), config).unwrap();
    for count in [1, 8] {
        let requests = vec![Request::new(1_000, 200); count];
        let own = simulator.run(&requests).records;
        let replayed = replay(&requests).per_request;
        assert_eq!(replayed.len(), count);
        for (own, replayed) in own.iter().zip(replayed) {
            let [first, last] = [own.ttft(), own.e2e()].map(|time| time.unwrap().ms());
            // AISimulate adds 200 steps up in f64 milliseconds; each is rounded to a nanosecond.
            assert!((replayed.first_token_ms.unwrap() - first).abs() < 2e-6);
            assert!((replayed.last_token_ms.unwrap() - last).abs() < 300e-6);
        }
    }
}

#[test]
fn a_request_beyond_the_model_is_not_served() {
    let report = replay(&[Request::new(140_000, 1)]);
    assert_eq!(report.request_counts.completed_requests, 0);
}
