//! Two servers behind a custom router that reads the state of both.
//!
//! `cargo run --release -p rooflut --example drive_two_servers`

use std::error::Error;

use rooflut::deployment::ServedModel;
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, SyntheticLoad};
use rooflut::sim::{Server, ServerEvent};
use rooflut::table::sets;
use rooflut::{Deployment, model};

/// Counts of a server.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Served {
    pub(crate) requests: u64,
    pub(crate) tokens: u64,
    pub(crate) worst_ttft_ms: f64,
}

/// Sends each request to the server with the most free KV blocks on arrival; ties go to the server with the
/// fewest requests. One server has a quarter of the other's blocks.
pub(crate) fn route(requests: usize) -> Result<[Served; 2], Box<dyn Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).max_model_len(8_192);
    let mut servers =
        [deployment.clone().kv_blocks(20_000).build()?.server()?, deployment.kv_blocks(5_000).build()?.server()?];

    let mix = RequestMix::new(Lengths::try_uniform(64..=2_048)?, Lengths::try_uniform(64..=512)?);
    let load = SyntheticLoad::new(Arrivals::try_poisson(20.0, 7)?, mix, 7);
    for request in load.take(requests) {
        // The router reads both servers at the arrival of the request.
        for server in &mut servers {
            server.advance_to(request.arrival_ns)?;
        }
        let [first, second] = &mut servers;
        if preference(first) >= preference(second) {
            first.push(request)?;
        } else {
            second.push(request)?;
        }
    }
    for server in &mut servers {
        server.run_until_idle()?;
    }
    Ok(servers.map(|mut server| {
        let mut served = Served::default();
        for event in server.drain_events() {
            if let ServerEvent::Finished { record, .. } = event {
                let ttft_ms = record.ttft().map_or(0.0, |ttft| ttft.ms());
                served.requests += 1;
                served.tokens += u64::from(record.request.output_tokens);
                served.worst_ttft_ms = served.worst_ttft_ms.max(ttft_ms);
            }
        }
        served
    }))
}

/// Rank of a server: larger is better.
fn preference(server: &Server<ServedModel>) -> (u32, std::cmp::Reverse<usize>) {
    let free = server.kv_blocks() - server.kv_blocks_used();
    let requests = server.running() + server.waiting() + server.arriving();
    (free, std::cmp::Reverse(requests))
}

#[allow(dead_code, reason = "a test runs the example as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    for (index, served) in route(2_000)?.into_iter().enumerate() {
        println!(
            "server {index}: {} requests, {} tokens, worst TTFT {:.1} ms",
            served.requests, served.tokens, served.worst_ttft_ms
        );
    }
    Ok(())
}
