//! A load that a client sent, and what it measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::requests::{self, Request, Sample};

/// A load on a server, and the figures that a client measured.
///
/// Latencies are those of the project: TTFT to the first token, TPOT the mean time per token after the first of one
/// request, ITL each gap between tokens, E2E to the last token.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Run {
    /// The client.
    pub client: String,
    /// Its version.
    pub client_version: Option<String>,
    /// The model that it asked for.
    pub model: Option<String>,
    /// The server that it asked.
    pub url: Option<String>,
    /// The load.
    pub load: Load,
    /// From the first request to the end of the last, seconds.
    pub duration_s: Option<f64>,
    /// Time to first token, milliseconds.
    pub ttft_ms: Distribution,
    /// Time per output token after the first, milliseconds.
    pub tpot_ms: Distribution,
    /// Time between tokens, milliseconds.
    pub itl_ms: Distribution,
    /// Time to the last token, milliseconds.
    pub e2e_ms: Distribution,
    /// Completed requests per second.
    pub requests_per_s: Option<f64>,
    /// Generated tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Tokens of prompts and answers per second.
    pub total_tokens_per_s: Option<f64>,
    /// Files that can be replayed as a trace, with the requests as they were sent.
    pub trace: Option<String>,
    /// The file of each figure, by its key.
    pub sources: BTreeMap<String, String>,
    /// The completed requests, where the client wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// All that the client wrote of single requests.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(crate) samples: Vec<Sample>,
}

/// A load as a client sent it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Load {
    /// Requests that were answered.
    pub completed: Option<u64>,
    /// Requests that failed.
    pub failed: Option<u64>,
    /// Requests per second that the client was to send; null for a closed loop, and where all were sent at once.
    pub asked_per_s: Option<f64>,
    /// Requests per second that it sent, between the first and the last.
    pub sent_per_s: Option<f64>,
    /// Distribution of the arrivals at a rate: `poisson`, `constant` or `gamma`.
    pub arrival: Option<String>,
    /// Shape of gamma arrivals.
    pub burstiness: Option<f64>,
    /// Most requests in flight; the users of a closed loop.
    pub users: Option<u64>,
    /// Mean number of requests in flight.
    pub concurrency: Option<f64>,
    /// Tokens of the prompts.
    pub prompt_tokens: Distribution,
    /// Tokens of the answers.
    pub output_tokens: Distribution,
}

impl Run {
    /// Returns the latencies with their names.
    pub fn latencies(&self) -> [(&'static str, &Distribution); 4] {
        [("ttft_ms", &self.ttft_ms), ("tpot_ms", &self.tpot_ms), ("itl_ms", &self.itl_ms), ("e2e_ms", &self.e2e_ms)]
    }

    /// Whether a load without a rate kept a number of requests in flight, or sent all at once.
    pub fn is_closed_loop(&self) -> bool {
        self.load.asked_per_s.is_none()
    }

    /// Takes what single requests tell, where the client did not sum it up.
    pub(crate) fn sum_up(&mut self) {
        let figures = requests::figures(&self.samples);
        let Load { completed, failed, sent_per_s, prompt_tokens, output_tokens, .. } = &mut self.load;
        *completed = completed.or(figures.completed);
        *failed = failed.or(figures.failed);
        *sent_per_s = sent_per_s.or(figures.sent_per_s);
        prompt_tokens.fill(figures.prompt_tokens);
        output_tokens.fill(figures.output_tokens);
        self.ttft_ms.fill(figures.ttft_ms);
        self.tpot_ms.fill(figures.tpot_ms);
        self.itl_ms.fill(figures.itl_ms);
        self.e2e_ms.fill(figures.e2e_ms);
        self.requests = self.samples.iter().filter_map(Sample::request).collect();
    }

    /// Notes that the figures without a source are of this file.
    pub(crate) fn name_sources(&mut self, file: &str) {
        let latencies = self.latencies().into_iter().filter(|(_, figures)| !figures.is_empty());
        let others = [
            ("duration_s", self.duration_s.is_some()),
            ("requests_per_s", self.requests_per_s.is_some()),
            ("output_tokens_per_s", self.output_tokens_per_s.is_some()),
            ("total_tokens_per_s", self.total_tokens_per_s.is_some()),
            ("prompt_tokens", !self.load.prompt_tokens.is_empty()),
            ("output_tokens", !self.load.output_tokens.is_empty()),
            ("load", true),
        ];
        let others = others.into_iter().filter(|(_, is_known)| *is_known).map(|(name, _)| name);
        for name in latencies.map(|(name, _)| name).chain(others).collect::<Vec<_>>() {
            self.sources.entry(name.to_owned()).or_insert_with(|| file.to_owned());
        }
    }

    /// Takes the figures of another file on the same load, where there are none.
    pub(crate) fn fill(&mut self, other: Run) {
        let before = self.sources.clone();
        self.ttft_ms.fill(other.ttft_ms);
        self.tpot_ms.fill(other.tpot_ms);
        self.itl_ms.fill(other.itl_ms);
        self.e2e_ms.fill(other.e2e_ms);
        self.load.prompt_tokens.fill(other.load.prompt_tokens);
        self.load.output_tokens.fill(other.load.output_tokens);
        let Load { completed, failed, asked_per_s, sent_per_s, arrival, burstiness, users, concurrency, .. } =
            other.load;
        let load = &mut self.load;
        load.completed = load.completed.or(completed);
        load.failed = load.failed.or(failed);
        load.asked_per_s = load.asked_per_s.or(asked_per_s);
        load.sent_per_s = load.sent_per_s.or(sent_per_s);
        load.arrival = load.arrival.take().or(arrival);
        load.burstiness = load.burstiness.or(burstiness);
        load.users = load.users.or(users);
        load.concurrency = load.concurrency.or(concurrency);
        self.client_version = self.client_version.take().or(other.client_version);
        self.model = self.model.take().or(other.model);
        self.url = self.url.take().or(other.url);
        self.trace = self.trace.take().or(other.trace);
        self.duration_s = self.duration_s.or(other.duration_s);
        self.requests_per_s = self.requests_per_s.or(other.requests_per_s);
        self.output_tokens_per_s = self.output_tokens_per_s.or(other.output_tokens_per_s);
        self.total_tokens_per_s = self.total_tokens_per_s.or(other.total_tokens_per_s);
        if self.samples.is_empty() {
            (self.samples, self.requests) = (other.samples, other.requests);
        }
        for (name, source) in other.sources {
            // The first file is the source of what it has.
            if !before.contains_key(&name) {
                self.sources.insert(name, source);
            }
        }
    }
}
