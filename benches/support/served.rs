//! Servers of llama-3.1-8b and of others on H100, and their requests.

use rooflut::deployment::ServedModel;
use rooflut::sim::figures::Totals;
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, Stream, SyntheticLoad};
use rooflut::sim::{Request, SimConfig, Simulator};
use rooflut::step::{LatencyModel, RooflineModel, TabulatedModel};
use rooflut::table::sets;
use rooflut::{Deployment, model};

/// The model on one GPU.
pub fn deployment(max_num_seqs: u32) -> Deployment {
    let llama = model::find("llama-3.1-8b").expect("in the catalogue");
    let deployment = Deployment::builder(llama.spec, &sets::H100).max_num_seqs(max_num_seqs);
    deployment.build().expect("in the set")
}

/// A server of `name` on `tp` GPUs, as `rooflut run` simulates it, and a load.
pub fn server(name: &str, tp: u32, requests_per_s: f64) -> (Simulator<ServedModel>, SyntheticLoad) {
    let model = model::find(name).expect("in the catalogue");
    let deployment = Deployment::builder(model.spec, &sets::H100).tp(tp);
    let simulator = deployment.build().expect("in the set").simulator();
    (simulator.expect("it fits"), load(requests_per_s))
}

/// The step model.
pub fn roofline() -> RooflineModel {
    deployment(128).step_model().clone()
}

/// The step model with tabulated times of everything that depends on counts alone.
pub fn tabulated() -> TabulatedModel {
    TabulatedModel::new(roofline(), 2_048)
}

/// A server with the memory of an H100, without an API server.
pub fn config(max_num_seqs: u32) -> SimConfig {
    let mut config = deployment(max_num_seqs).server_config().expect("it fits");
    config.api_server_ns = 0;
    config
}

/// Lognormal prompts and outputs of 512 and 256 tokens on average, with the spread of exponential ones.
pub fn load(requests_per_s: f64) -> SyntheticLoad {
    let prompt = Lengths::try_lognormal_of_mean(512.0, 1.0, 1..=16_384).expect("a mean");
    let output = Lengths::try_lognormal_of_mean(256.0, 1.0, 1..=16_384).expect("a mean");
    let arrivals = Arrivals::try_poisson(requests_per_s, 42).expect("a rate");
    SyntheticLoad::new(arrivals, RequestMix::new(prompt, output), 42)
}

/// Requests per second of [`load`] that the server completes while its queue is never empty.
pub fn saturation<M: LatencyModel>(simulator: &Simulator<M>) -> f64 {
    let totals = serve(simulator, load(1e6), 20_000);
    totals.completed as f64 / totals.makespan().0
}

/// Serves the first requests of a load.
pub fn serve<M: LatencyModel>(
    simulator: &Simulator<M>,
    load: SyntheticLoad,
    requests: usize,
) -> Totals {
    simulator.serve(&mut Stream::new(load.take(requests)), &mut ())
}

/// Identical requests that arrive at once.
pub fn alike(requests: usize, prompt_tokens: u32, output_tokens: u32) -> Vec<Request> {
    let request = Request::new(prompt_tokens, output_tokens);
    vec![request; requests]
}
