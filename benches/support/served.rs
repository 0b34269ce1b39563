//! Servers of llama-3.1-8b and of others on H100, and their requests.

use rooflut::deployment::ServedModel;
use rooflut::model::ModelSpec;
use rooflut::sim::cluster::Lockstep;
use rooflut::sim::figures::Totals;
use rooflut::sim::load::{Arrivals, ClosedLoop, Lengths, LimitedLoop, RequestMix, Stream, SyntheticLoad, ThinkTime};
use rooflut::sim::{Request, SimConfig, Simulator};
use rooflut::step::{LatencyModel, RooflineModel, TabulatedModel};
use rooflut::table::sets;
use rooflut::{Deployment, model};

/// The model on one GPU.
pub fn deployment(max_num_seqs: u32) -> Deployment {
    let llama = spec("llama-3.1-8b");
    let deployment = Deployment::builder(llama, &sets::H100).max_num_seqs(max_num_seqs);
    deployment.build().expect("in the set")
}

/// The dimensions of a model.
pub fn spec(name: &str) -> ModelSpec {
    model::find(name).expect("in the catalogue").spec
}

/// A server of `name` on `tp` GPUs, as `rooflut run` simulates it, and a load.
pub fn server(name: &str, tp: u32, requests_per_s: f64) -> (Simulator<ServedModel>, SyntheticLoad) {
    let deployment = Deployment::builder(spec(name), &sets::H100).tp(tp);
    let simulator = deployment.build().expect("in the set").simulator();
    (simulator.expect("it fits"), load(requests_per_s))
}

/// Data-parallel ranks of qwen3-30b-a3b, one GPU each, and 500 requests of 32 users a rank.
pub fn expert_ranks(ranks: u32) -> (Lockstep<ServedModel>, LimitedLoop) {
    let servers = experts(ranks).lockstep().expect("it fits");
    (servers, users(ranks))
}

/// One such server, as `rooflut run` simulates it, and its requests.
pub fn expert_server() -> (Simulator<ServedModel>, LimitedLoop) {
    (experts(1).simulator().expect("it fits"), users(1))
}

fn experts(ranks: u32) -> Deployment {
    let deployment = Deployment::builder(spec("qwen3-30b-a3b"), &sets::H100).dp(ranks);
    deployment.expert_parallel(ranks > 1).build().expect("in the set")
}

// Without a tail: no request outlives the others by many steps.
fn users(ranks: u32) -> LimitedLoop {
    let [prompt, output] = [1..=1023, 1..=511].map(|of| Lengths::try_uniform(of).expect("a range"));
    let mix = RequestMix::new(prompt, output);
    let users = ClosedLoop::try_new(32 * ranks, ThinkTime::NONE, mix, 42);
    users.expect("users").limited(500 * u64::from(ranks))
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
    let arrivals = Arrivals::try_poisson(requests_per_s, 42).expect("a rate");
    SyntheticLoad::new(arrivals, mix(), 42)
}

fn mix() -> RequestMix {
    let prompt = Lengths::try_lognormal_of_mean(512.0, 1.0, 1..=16_384).expect("a mean");
    let output = Lengths::try_lognormal_of_mean(256.0, 1.0, 1..=16_384).expect("a mean");
    RequestMix::new(prompt, output)
}

/// Requests per second of [`load`] that the server completes while its queue is never empty.
pub fn saturation<M: LatencyModel>(simulator: &Simulator<M>) -> f64 {
    let totals = serve(simulator, load(1e6), 20_000);
    totals.completed as f64 / totals.makespan().0
}

/// Serves the first requests of a load.
pub fn serve<M: LatencyModel>(simulator: &Simulator<M>, load: SyntheticLoad, requests: usize) -> Totals {
    simulator.serve(&mut Stream::new(load.take(requests)), &mut ()).expect("valid times")
}

/// Identical requests that arrive at once.
pub fn alike(requests: usize, prompt_tokens: u32, output_tokens: u32) -> Vec<Request> {
    let request = Request::new(prompt_tokens, output_tokens);
    vec![request; requests]
}
