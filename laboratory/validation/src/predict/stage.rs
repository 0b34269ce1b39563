//! Simulates a server under a constant or random load.

use rooflut::Deployment;
use rooflut::engine::EngineStack;
use rooflut::sim::load::Arrivals;
use rooflut::sim::{Content, Outcome, Request, RequestRecord, Simulator};
use rooflut::step::LatencyModel;
use rooflut::units::Seconds;

use super::interval::Wanted;
use super::{Predicted, ResolvedServer, cached};
use crate::compare::Metric;
use crate::engine::Predictor;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{Latencies, LoadStage, Row, Stage};

/// Limit on simulated requests.
const MAX_REQUESTS: f64 = 1e7;
/// Limit on the output tokens of all requests together.
const MAX_TOKENS: f64 = 2e9;
/// Pause between the requests that fill the cache and a later stage, which starts on an idle server.
const PAUSE_NS: u64 = 3_600_000_000_000;

/// Simulates a load stage from an idle server and compares the means over its requests, as timed at the client: the
/// time of the API server is included.
///
/// # Errors
/// An unknown name, a server that cannot run or that rejects the requests, no request, or too many.
pub(super) fn load_stage(
    row: &Row,
    stage: &LoadStage,
    engine: &EngineStack,
    predictor: &Predictor<'_>,
) -> Result<Vec<Predicted>, Reason> {
    let resolved = ResolvedServer::find(&row.server)?;
    let load = Load::of(row, stage, predictor.longest_stage_s)?;
    let server = resolved.serve(&row.limits, engine)?;
    let wanted = Wanted::of(predictor, engine, &resolved);
    wanted.predict(&server.served_model(), |model| simulated(model, &server, &load, stage))
}

/// Returns the metrics of the stage, as those of a single row, on a server whose steps take the time of `model`. They
/// are always in the same order.
fn simulated(
    model: &dyn LatencyModel,
    server: &Deployment,
    load: &Load,
    stage: &LoadStage,
) -> Result<Vec<Predicted>, Reason> {
    let simulator = Simulator::try_new(model, server.server_config()?)?;
    let records = simulator.run(&load.requests)?.records;
    // The requests differ only in their arrival.
    for record in &records {
        if let Outcome::Rejected(rejection) = record.outcome {
            return Err(rejection.into());
        }
    }
    let mean_ms = |time| load.mean(&records, time).map(Seconds::ms);
    let predicted = Latencies {
        ttft_ms: mean_ms(RequestRecord::ttft),
        tpot_ms: mean_ms(RequestRecord::tpot),
        e2e_ms: mean_ms(RequestRecord::e2e),
    };
    let mut pairs = Pair::latencies(&predicted, &stage.measured);
    if stage.is_cold_start() {
        let median_ms = load.median(&records, RequestRecord::ttft).map(Seconds::ms);
        let measured = stage.ttft_p50_ms;
        pairs.push(Pair::new(Metric::WarmTtft, median_ms, measured));
    } else if stage.ttft_p90_ms.is_some() {
        let (predicted, measured) = (predicted.ttft_ms, stage.measured.ttft_ms);
        pairs.push(Pair::new(Metric::WarmTtft, predicted, measured));
    }
    Ok(vec![Ok(pairs)])
}

/// The simulated requests of a stage.
struct Load {
    requests: Vec<Request>,
    /// Number of leading requests that fill the cache and are not counted.
    filling: usize,
    /// Number of the next requests that find the cache empty.
    cold: usize,
    /// Number of requests of the whole stage, of which the last ones may be cut.
    count: usize,
}

impl Load {
    /// Returns the requests of `stage`, which is cut if it is longer than `longest_s` seconds.
    fn of(row: &Row, stage: &LoadStage, longest_s: f64) -> Result<Load, Reason> {
        let arrivals = match stage.arrival.to_ascii_lowercase().as_str() {
            "constant" => Arrivals::try_constant(stage.rate_rps)?,
            "poisson" => Arrivals::try_poisson(stage.rate_rps, 0)?,
            _ => {
                let known = "expected constant or poisson";
                return Err(Reason::unknown("arrival", &stage.arrival, known));
            }
        };
        let prompts = stage.distinct_prompts.unwrap_or(0);
        let filled = row.label.stage != Stage::Number(0);
        let filling = if filled { prompts } else { 0 };
        let simulated = (stage.rate_rps * stage.duration_s.min(longest_s)).round();
        let requests = simulated + f64::from(filling);
        if requests > MAX_REQUESTS {
            return Err(Reason::of_row(
                "more than 10 million requests are not simulated; shorten the stage or lower distinct_prompts",
            ));
        }
        if requests * f64::from(stage.output_tokens) > MAX_TOKENS {
            return Err(Reason::of_row("more than 2 billion output tokens are not simulated; shorten the stage"));
        }
        if simulated < 1.0 {
            return Err(Reason::of_row("no request arrives at this rate in this time"));
        }
        let cached = cached::reused(stage.cached_prompt_tokens, stage.prompt_tokens)?;
        let request = |(place, arrival_ns): (u32, u64)| {
            let pause_ns = if place < filling { 0 } else { PAUSE_NS };
            let request =
                Request::new(stage.prompt_tokens, stage.output_tokens).at_ns(arrival_ns.saturating_add(pause_ns));
            match place.checked_rem(prompts) {
                None => request.with_cached_prompt_tokens(cached),
                Some(prompt) => request.with_content(Content::Texts {
                    prefix: prompt.into(),
                    prefix_tokens: cached,
                    own: u64::from(prompts) + u64::from(place),
                }),
            }
        };
        let take = simulated as usize + filling as usize;
        Ok(Load {
            requests: (0..).zip(arrivals.take(take)).map(request).collect(),
            filling: filling as usize,
            cold: if filled { 0 } else { prompts as usize },
            count: (stage.rate_rps * stage.duration_s).round() as usize,
        })
    }

    /// Returns the mean of `time` over the whole stage. Requests that were cut count with the mean of the simulated
    /// ones that find their prompts in the cache.
    fn mean(&self, records: &[RequestRecord], time: fn(&RequestRecord) -> Option<Seconds>) -> Option<Seconds> {
        let counted = records.get(self.filling..)?;
        let (cold, rest) = counted.split_at_checked(self.cold).unwrap_or((counted, &[]));
        let sum = |records: &[RequestRecord]| records.iter().filter_map(time).sum::<Seconds>();
        let cut = self.count.saturating_sub(cold.len()) as f64 / rest.len().max(1) as f64;
        let simulated = cold.len() as f64 + rest.len() as f64 * cut;
        // Undefined for one request, hence for all: they have equal lengths.
        time(counted.first()?)?;
        Some((sum(cold) + sum(rest) * cut) * (1.0 / simulated))
    }

    /// Returns the median of `time` over the simulated requests.
    fn median(&self, records: &[RequestRecord], time: fn(&RequestRecord) -> Option<Seconds>) -> Option<Seconds> {
        let counted = records.get(self.filling..)?;
        let mut times: Vec<Seconds> = counted.iter().filter_map(time).collect();
        times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        times.get(times.len() / 2).copied()
    }
}
