//! Runs of rooflut's own simulator, whose differences from AISimulate are introduced one after another.

use std::error::Error;

use rooflut::Deployment;
use rooflut::deployment::ServedModel;
use rooflut::engine::Scheduling;
use rooflut::sim::{Simulator, StepTimeError};
use rooflut::step::{Chunk, LatencyModel, StepBatch};
use rooflut::units::Seconds;

use crate::figures::Latencies;
use crate::workload::Workload;

/// Step times of a deployment, computed from as much of the batch as `passed` says.
pub(crate) struct Steps {
    model: ServedModel,
    passed: Passed,
}

#[derive(Clone, Copy)]
enum Passed {
    /// The length of each request.
    Lengths,
    /// The mean lengths of the prompt chunks.
    Means,
    /// The mean lengths of the prompt chunks, as a step of their own.
    MeansApart,
}

/// A simulator and its name.
type Named = (&'static str, Simulator<Steps>);

/// Returns rooflut's simulator and those that lack more and more of it: each has the changes of those before it.
pub(crate) fn simulators(deployment: &Deployment) -> Result<Vec<Named>, Box<dyn Error>> {
    let own = deployment.simulator()?;
    let whole = *own.config();
    let engine = whole.with_api_server_ns(0).with_api_token_ns(0).with_api_output_ns(0);
    let synchronous = engine.with_scheduling(Scheduling::Synchronous);
    [
        ("rooflut's simulator", whole, Passed::Lengths),
        ("… without an API server", engine, Passed::Lengths),
        ("… scheduling after each step", synchronous, Passed::Lengths),
        ("… from mean lengths", synchronous, Passed::Means),
        ("… prompts apart", synchronous, Passed::MeansApart),
    ]
    .into_iter()
    .map(|(name, config, passed)| {
        let model = own.model().clone();
        let simulator = Simulator::try_new(Steps { model, passed }, config)?;
        Ok((name, simulator))
    })
    .collect()
}

/// Serves a workload.
pub(crate) fn latencies(simulator: &Simulator<Steps>, workload: &Workload) -> Result<Latencies, StepTimeError> {
    let report = simulator.run(&workload.requests)?;
    let records = report.records.iter();
    Ok(Latencies {
        ttft_ms: records.clone().flat_map(|r| r.ttft()).map(Seconds::ms).collect(),
        tpot_ms: records.flat_map(|r| r.tpot()).map(Seconds::ms).collect(),
    })
}

impl LatencyModel for Steps {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        let prefill = mean_chunks(batch.prefill);
        let means = StepBatch { prefill: &prefill, ..*batch };
        match self.passed {
            Passed::Lengths => self.model.total_time(batch),
            Passed::Means => self.model.total_time(&means),
            Passed::MeansApart => {
                let (prefill, decode) = (means.prefill, means.decode);
                let prompts = StepBatch { prefill, decode: &[] };
                let others = StepBatch { prefill: &[], decode };
                self.model.total_time(&prompts) + self.model.total_time(&others)
            }
        }
    }
}

/// Returns as many chunks of the mean lengths, rounded down as AISimulate does.
fn mean_chunks(chunks: &[Chunk]) -> Vec<Chunk> {
    let mean = |tokens: fn(&Chunk) -> u32| {
        let sum: u64 = chunks.iter().map(|chunk| u64::from(tokens(chunk))).sum();
        sum.checked_div(chunks.len() as u64).unwrap_or(0) as u32
    };
    let (kv_len, context) = (mean(Chunk::kv_len), mean(Chunk::context));
    match Chunk::last(kv_len.saturating_sub(context), kv_len) {
        Ok(chunk) => vec![chunk; chunks.len()],
        Err(_) => Vec::new(), // No prompts: chunks have a token at least.
    }
}
