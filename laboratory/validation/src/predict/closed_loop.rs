//! Simulates a server under a closed loop.

use rooflut::Deployment;
use rooflut::engine::EngineStack;
use rooflut::sim::cluster::{Cluster, Lockstep, Router};
use rooflut::sim::figures::Stats;
use rooflut::sim::load::{ClosedLoop, Lengths, RequestMix, ThinkTime};
use rooflut::sim::{Outcome, Simulator};
use rooflut::step::{LatencyModel, TabulatedModel};
use rooflut::units::Seconds;

use super::interval::Wanted;
use super::{Predicted, ResolvedServer};
use crate::engine::Predictor;
use crate::moved::Moved;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{ClosedLoopRun, Latencies, Row, Uniform};

/// Requests of each user.
const REQUESTS_EACH: u64 = 10;
/// Limit on the output tokens of all requests together.
const MAX_TOKENS: u64 = 2_000_000_000;

/// Time of a request outside of the engine, and of each token of its prompt, on the way to InferenceX's client, in
/// nanoseconds, chosen on its rows of all versions: with them, mean and median error of TTFT of all closed loops are 13.0
/// and 8.7 %, with 10 ms and 5 us 13.6 and 10.2 %, and each half of the rows gains. Load stages had another client, and
/// the constants of vLLM 0.15.1 are for that one: with them, TTFT of gpt-oss-120b under 0.15.1 is 23 % too short on H100
/// and H200 and 28 % on B200; with these the bias is -5, -7 and +4 %.
///
/// Assumes: rows with spread lengths are InferenceX's. The other publisher's have equal lengths.
const CLIENT_NS: (u64, u64) = (8_000_000, 7_000);

/// Simulates users who all start at once, from idle servers, and compares the means over their requests, as timed at
/// the client.
///
/// # Errors
/// An unknown name, a server that cannot run or that rejects requests, no user, or too many, or a row to leave out.
pub(super) fn closed_loop(
    row: &Row,
    run: &ClosedLoopRun,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Result<Vec<Predicted>, Reason> {
    let resolved = ResolvedServer::find(&row.server)?;
    if let Some(reason) = run.left_out {
        return Err(Reason::of_row(reason));
    }
    if row.server.dp > 1 && run.replicas > 1 {
        return Err(Reason::of_row("equal servers of data-parallel ranks are not simulated"));
    }
    let requests = REQUESTS_EACH * u64::from(run.users);
    if requests.saturating_mul(run.output.max.into()) > MAX_TOKENS {
        return Err(Reason::of_row("more than 2 billion output tokens are not simulated; lower the concurrency"));
    }
    let mix = RequestMix::new(run.prompt.lengths()?, run.output.lengths()?);
    let users = ClosedLoop::try_new(run.users, ThinkTime::NONE, mix, 0)?;
    let mut engine = *engine;
    engine.constants.host += Seconds::from_us(run.step_wait_us);
    let server = resolved.serve(&row.limits, &engine)?;
    let wanted = Wanted::of(predictor, &engine, &resolved);
    // Steps without a prompt have a token of each user; a larger table would cost more than it saves.
    let model = TabulatedModel::new(server.step_model().clone(), run.users);
    wanted.predict(&model, |model| simulated(model, &server, users.clone(), requests, run, predictor.moved))
}

fn simulated(
    model: &dyn LatencyModel,
    server: &Deployment,
    users: ClosedLoop,
    requests: u64,
    run: &ClosedLoopRun,
    moved: Moved,
) -> Result<Vec<Predicted>, Reason> {
    let mut config = server.server_config()?;
    if run.prompt.min < run.prompt.max {
        (config.api_server_ns, config.api_token_ns) = CLIENT_NS;
    }
    config.api_server_ns += moved.request.to_nanos();
    config.api_token_ns += moved.token.to_nanos();
    let mut users = users.limited(requests);
    let report = match (server.parallelism().dp, run.replicas) {
        (1, 1) => Simulator::try_new(model, config)?.run_source(&mut users, &mut ())?,
        (1, replicas) => {
            Cluster::try_new(model, config, replicas, Router::RoundRobin)?.run_source(&mut users, &mut ())?
        }
        (ranks, _) => Lockstep::try_new(model, config, ranks)?.run_source(&mut users, &mut ())?,
    };
    for record in &report.records {
        if let Outcome::Rejected(rejection) = record.outcome {
            return Err(rejection.into());
        }
    }
    let mean_ms = |stats: Option<Stats>| stats.map(|stats| stats.mean.ms());
    let predicted =
        Latencies { ttft_ms: mean_ms(report.summary.ttft), tpot_ms: mean_ms(report.summary.tpot), e2e_ms: None };
    Ok(vec![Ok(Pair::latencies(&predicted, &run.measured))])
}

impl Uniform {
    fn lengths(self) -> Result<Lengths, Reason> {
        Ok(Lengths::try_uniform(self.min..=self.max)?)
    }
}
