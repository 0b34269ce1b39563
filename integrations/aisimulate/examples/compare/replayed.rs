//! Runs of AISimulate.

use std::error::Error;
use std::sync::Arc;

use aisimulate_core::engine::EngineConfig;
use aisimulate_core::replay::{
    ReplayEngineConfig, ReplaySpec, ReplayTerminalStatus, run_engine_replay, run_engine_replay_with_timing,
};
use rooflut_aisimulate::RooflineTiming;
use serde_json::json;

use crate::figures::Latencies;
use crate::workload::Workload;

/// Serves a workload on one engine.
pub(crate) fn latencies(
    rank: EngineConfig,
    timing: Option<&RooflineTiming>,
    workload: &Workload,
) -> Result<Latencies, Box<dyn Error>> {
    let requests = workload.requests.iter().enumerate().map(|(index, request)| {
        json!({
            "id": index.to_string(),
            "arrival_time_ms": request.arrival_ns as f64 / 1e6,
            "input_tokens": request.prompt_tokens,
            "output_tokens": request.output_tokens,
        })
    });
    let engine = ReplayEngineConfig { rank, ..ReplayEngineConfig::default() };
    let spec: ReplaySpec = serde_json::from_value(json!({
        "topology": { "kind": "aggregated", "workers": { "initial_workers": 1 } },
        "engine": engine,
        "requests": requests.collect::<Vec<_>>(),
    }))?;
    let report = match timing {
        Some(timing) => run_engine_replay_with_timing(spec, Arc::new(timing.clone()))?,
        None => run_engine_replay(spec)?,
    };
    let mut latencies = Latencies::default();
    for record in report.per_request {
        let (Some(first), Some(last)) = (record.first_token_ms, record.last_token_ms) else {
            return Err(format!("{}: {:?}", record.uuid, record.terminal_status).into());
        };
        assert_eq!(record.terminal_status, ReplayTerminalStatus::Completed);
        latencies.ttft_ms.push(first - record.arrival_time_ms);
        let gaps = record.output_length.saturating_sub(1);
        if gaps > 0 {
            latencies.tpot_ms.push((last - first) / gaps as f64);
        }
    }
    Ok(latencies)
}
