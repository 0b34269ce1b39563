//! A row, predicted and compared.

use crate::compare::{Comparison, Metric};
use crate::rows::{Label, Measurement};

/// A row that was predicted and compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Run, stage and line of the row.
    pub label: Label,
    /// Name of the model in the catalogue.
    pub model: &'static str,
    /// Name of the table set.
    pub gpu: String,
    /// Tensor parallelism, in GPUs.
    pub tp: u32,
    /// Name of the engine that the row was predicted with.
    pub engine: &'static str,
    /// Load of the server.
    pub setting: Setting,
    /// Predicted and measured metrics, at least one.
    pub comparisons: Vec<Comparison>,
}

/// Load of the server during a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// Requests at a mean rate.
    Load {
        /// Requests per second.
        rate_rps: f64,
        /// Mean number of requests in the server: rate times measured E2E, `None` without that
        /// measurement.
        mean_batch: Option<f64>,
    },
    /// A single request.
    Request {
        /// Tokens of the prompt.
        prompt_tokens: u32,
        /// Tokens of the output; `None` if the measurement does not depend on them.
        output_tokens: Option<u32>,
    },
    /// The requests of a step.
    Batch {
        /// Number of requests.
        requests: u32,
    },
    /// Users who wait for each answer.
    ClosedLoop {
        /// Number of users.
        users: u32,
        /// Maximum number of tokens of a prompt.
        prompt_tokens: u32,
        /// Maximum number of tokens of an output.
        output_tokens: u32,
        /// Group of the servers.
        servers: &'static str,
        /// Whether constants of engines are fitted to the row.
        is_fitted: bool,
    },
    /// The requests of a step of one of the servers of several configurations.
    EngineStep {
        /// Number of requests.
        requests: u32,
        /// Group of the servers.
        servers: &'static str,
        /// Whether constants of engines are fitted to the row.
        is_fitted: bool,
    },
    /// None: the server was just started.
    Start,
}

impl Setting {
    pub(crate) fn of(measurement: &Measurement) -> Setting {
        match measurement {
            Measurement::LoadStage(stage) => Setting::Load {
                rate_rps: stage.rate_rps,
                mean_batch: stage.measured.e2e_ms.map(|ms| stage.rate_rps * ms / 1e3),
            },
            Measurement::Request(request) => {
                Setting::Request { prompt_tokens: request.prompt_tokens, output_tokens: Some(request.output_tokens) }
            }
            Measurement::SoloRequest(solo) => {
                Setting::Request { prompt_tokens: solo.prompt_tokens, output_tokens: None }
            }
            Measurement::DecodeStep(step) => Setting::Batch { requests: step.decode_requests },
            Measurement::ClosedLoop(run) => Setting::ClosedLoop {
                users: run.users,
                prompt_tokens: run.prompt.max,
                output_tokens: run.output.max,
                servers: run.servers,
                is_fitted: run.is_fitted,
            },
            Measurement::EngineStep(step) => Setting::EngineStep {
                requests: step.decode_requests.saturating_add(step.prefill_requests),
                servers: step.servers,
                is_fitted: step.is_fitted,
            },
            Measurement::KvBlocks(_) | Measurement::Memory(_) => Setting::Start,
        }
    }

    /// Returns the group of the servers and whether constants of engines are fitted to the row, in files of many
    /// configurations.
    pub fn servers(&self) -> Option<(&'static str, bool)> {
        match *self {
            Setting::ClosedLoop { servers, is_fitted, .. } | Setting::EngineStep { servers, is_fitted, .. } => {
                Some((servers, is_fitted))
            }
            _ => None,
        }
    }
}

impl Case {
    /// Returns the comparison of `metric`, if there is one.
    pub fn comparison(&self, metric: Metric) -> Option<&Comparison> {
        self.comparisons.iter().find(|c| c.metric == metric)
    }
}
