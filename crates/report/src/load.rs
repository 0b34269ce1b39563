//! The load of a run.

use serde::Serialize;

/// The load of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Load {
    /// Exponentially distributed gaps between arrivals.
    Poisson(OpenLoad),
    /// Equal gaps.
    Constant(OpenLoad),
    /// Gamma-distributed gaps.
    Gamma(OpenLoad),
    /// Users who wait for each answer.
    ClosedLoop(ClosedLoad),
    /// Requests of a file.
    Trace(TraceLoad),
}

/// A load at a given rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLoad {
    /// Requests per second, where each request stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
    /// Sessions per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_per_s: Option<f64>,
    /// Shape of gamma-distributed gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burstiness: Option<f64>,
    /// Shape of the requests.
    #[serde(flatten)]
    pub mix: Mix,
}

/// A load of users who wait for each answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedLoad {
    /// Users.
    pub users: u32,
    /// Pause between an answer and the next request, seconds.
    pub think_time_s: ThinkTime,
    /// Shape of the requests.
    #[serde(flatten)]
    pub mix: Mix,
}

/// A load read from a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceLoad {
    /// Path as given.
    pub path: String,
    /// Name of the format.
    pub format: &'static str,
    /// Names of the columns or keys, `ROLE=NAME` with commas between them, where the user gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// Where the arrivals come from: `recorded`, `poisson`, `at_once`, or `other` for one without a name here.
    pub arrivals: &'static str,
    /// Speed of the replay over that of the file.
    pub speed: f64,
    /// Maximum number of requests, the first ones of the file; null for all.
    pub first_requests: Option<u64>,
    /// Seconds of the file that are replayed, from its beginning; null for all.
    pub first_s: Option<f64>,
    /// Conditions on the rows, `COLUMN=VALUE`.
    #[serde(rename = "where")]
    pub conditions: Vec<String>,
    /// Requests of the file that are not replayed.
    pub left_out: Vec<LeftOut>,
    /// Columns or keys that are not read.
    pub ignored: Vec<String>,
    /// Requests with images. The images are not modelled.
    pub requests_with_images: u64,
}

/// Requests of a trace that are not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Why.
    pub reason: &'static str,
    /// How many.
    pub requests: u64,
}

/// Shape of generated requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mix {
    /// Tokens of prompts, without prefixes and earlier turns.
    pub prompt_tokens: Lengths,
    /// Leading prompt tokens that the prefix cache holds.
    pub cached_prompt_tokens: u32,
    /// Share of each prompt that the prefix cache holds, in whole KV blocks; null where texts decide.
    pub cached_prompt_share: Option<f64>,
    /// Tokens of outputs.
    pub output_tokens: Lengths,
    /// Texts that prompts begin with.
    pub prefixes: Option<Prefixes>,
    /// Turns of a session; null where each request stands alone.
    pub sessions: Option<Sessions>,
    /// Shares of the priorities 0, 1 and so on.
    pub priority_shares: Option<Vec<f64>>,
}

/// Texts that prompts begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prefixes {
    /// Number of texts.
    pub groups: u32,
    /// Tokens of each.
    pub tokens: u32,
}

/// Requests that continue each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Turns of a session.
    pub turns: Lengths,
    /// Pause between turns, seconds.
    pub think_time_s: ThinkTime,
}

/// A pause in seconds: a number in JSON where it is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ThinkTime {
    /// Always the same.
    Fixed(f64),
    /// Drawn from a distribution.
    Drawn {
        /// Name of the distribution.
        distribution: &'static str,
        /// Its mean, seconds.
        mean: f64,
    },
}

/// A distribution of lengths: a number in JSON where it is fixed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Lengths {
    /// Always the same.
    Fixed(u32),
    /// Drawn from a distribution.
    Drawn(Distribution),
}

/// A distribution of lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "distribution", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Distribution {
    /// Every length of a range equally often.
    Uniform {
        /// The range.
        #[serde(flatten)]
        range: Range,
    },
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
        /// Range that lengths are clamped to.
        #[serde(flatten)]
        within: Range,
    },
    /// Lognormally distributed.
    Lognormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Range that lengths are clamped to.
        #[serde(flatten)]
        within: Range,
    },
    /// The lengths of a file.
    File {
        /// Path as given.
        path: String,
        /// Lengths in the file.
        values: usize,
        /// Their mean by weight.
        mean: f64,
        /// The shortest and the longest.
        #[serde(flatten)]
        range: Range,
    },
}

/// A range of lengths, both ends included; null where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// The shortest.
    pub min: Option<u32>,
    /// The longest.
    pub max: Option<u32>,
}
