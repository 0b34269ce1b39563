//! Engine steps per second of the host.

use std::error::Error;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aisimulate_core::engine::generalized::{EngineIdentity, SchedulerCommand};
use aisimulate_core::engine::{Command, EngineFactory, Request, TimingModelConfig};
use rooflut_aisimulate::RooflineTiming;
use uuid::Uuid;

use crate::workload::Workload;

const RUNS: usize = 5;

/// Prints how fast each simulator serves the workload, all of whose requests arrive at once.
pub(crate) fn compare(workload: &Workload) -> Result<(), Box<dyn Error>> {
    println!("\nSpeed: the requests of the first workload, all at once; best of {RUNS} runs\n");
    println!("| | steps | steps per second |");
    println!("|---|---|---|");
    let timing = RooflineTiming::try_new(&workload.deployment)?;
    let config = timing.engine_config()?;
    let mut default = config.clone();
    default.timing_model = TimingModelConfig::Polynomial;
    let default = EngineFactory::new(default)?;
    print("AISimulate by default", || drained(&default, workload))?;
    let factory = EngineFactory::with_timing_model(config, Arc::new(timing))?;
    print("AISimulate with rooflut", || drained(&factory, workload))?;

    let simulator = workload.deployment.simulator()?;
    let requests: Vec<_> = workload.requests.iter().map(|r| r.at_ns(0)).collect();
    print("rooflut's simulator", || {
        let begin = Instant::now();
        let steps = simulator.run(&requests)?.summary.steps;
        Ok((steps, begin.elapsed()))
    })
}

fn print(name: &str, run: impl Fn() -> Result<(u64, Duration), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let mut best: Option<(u64, Duration)> = None;
    for _ in 0..RUNS {
        let found = run()?;
        best = Some(best.map_or(found, |best| if found.1 < best.1 { found } else { best }));
    }
    let (steps, time) = best.ok_or("no runs")?;
    println!("| {name} | {steps} | {:.0} |", steps as f64 / time.as_secs_f64());
    Ok(())
}

/// Returns the number of passes in which a new engine serves all requests, and the time that they take.
fn drained(factory: &EngineFactory, workload: &Workload) -> Result<(u64, Duration), Box<dyn Error>> {
    let mut engine = factory.build(EngineIdentity::new(0), NonZeroU32::MIN)?;
    for (index, request) in workload.requests.iter().enumerate() {
        let request = Request {
            request_id: Uuid::from_u128(index as u128),
            tokens: vec![index as u32; request.prompt_tokens as usize],
            max_output_tokens: request.output_tokens as usize,
            output_token_ids: None,
        };
        let submit = SchedulerCommand::new(0, Command::Submit(request));
        engine.apply_command_effects(submit, 0.0)?;
    }
    let begin = Instant::now();
    let (mut passes, mut now_ms) = (0, 0.0);
    while let Some(started) = engine.execute_pass(now_ms)? {
        now_ms = started.end_ms;
        engine.complete_pass(started.pass_id, now_ms)?;
        passes += 1;
    }
    Ok((passes, begin.elapsed()))
}
