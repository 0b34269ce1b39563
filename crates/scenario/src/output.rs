//! Figures and limits that a scenario asks for.

use std::path::PathBuf;

use rooflut::interval::Coverage;
use rooflut::table::Strictness;
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::gpu_price::GpuPrice;
use crate::number;
use crate::value::{LatencyLimit, WindowWidth};

/// The requested figures and files.
///
/// [`Run`](crate::Run) applies `goodput`, `require`, `attainment`, `prices`, `price`, `strict`, `interval`, `windows` and
/// `quantiles`; the others are data for the program that writes the report.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Output"))]
#[non_exhaustive]
pub struct Output {
    /// Count the requests that meet these limits, as vLLM's benchmark does: ttft:MS, tpot:MS, e2e:MS, or with a unit as
    /// in e2e:30s.
    #[serde(with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME:MS", num_args = 1..))]
    pub goodput: Option<Vec<LatencyLimit>>,
    /// Exit with 3 if the limits of --goodput are not met, with 4 if the servers are overloaded. The p99 of each latency
    /// must be within its limit, with each of the --seeds, and no request may be rejected.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub require: Option<bool>,
    /// Share of requests that must meet all limits together for --require, such as 0.99, in place of each p99.
    #[serde(deserialize_with = "number::real_or_none")]
    #[cfg_attr(feature = "clap", arg(long, value_parser = number::real, value_name = "SHARE"))]
    pub attainment: Option<f64>,
    /// Prices of GPUs: a TOML file with a table per GPU (see examples/prices.toml). The file replaces the default
    /// prices of these GPUs; the defaults are on-demand list prices of a public cloud.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub prices: Option<PathBuf>,
    /// Prices of GPUs in US dollars per hour, which replace those of --prices, as in h100=2.10 h200=2.90.
    #[serde(with = "as_text::list")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "GPU=USD", num_args = 1..))]
    pub price: Option<Vec<GpuPrice>>,
    /// Reject answers of the tables that are worse than this: a class (`rooflut step --help` lists the classes),
    /// inside, or both.
    #[serde(deserialize_with = "as_text::deserialize")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CLASS"))]
    pub strict: Option<Strictness>,
    /// Add to each figure the range meant to contain this share of measured servers, such as 0.8. Takes two more
    /// simulations.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    pub interval: Option<Coverage>,
    /// Figures over time: the width of the windows into which the whole run is divided, optionally with a unit as in 1m,
    /// or auto for 40 to 100 windows. With auto, the run is simulated twice.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS"))]
    pub windows: Option<WindowWidth>,
    /// Also write one line per window to this CSV file.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub windows_out: Option<PathBuf>,
    /// Add quantiles of each latency to the JSON, from the minimum to the maximum.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub quantiles: Option<bool>,
    /// Write JSON.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true)
    )]
    pub json: Option<bool>,
    /// Also write one line per request, in the order of the load, to this CSV file.
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub requests_out: Option<PathBuf>,
    /// Also write one line per step to this CSV file (about 50 bytes each).
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub steps_out: Option<PathBuf>,
    /// Also write a timeline for ui.perfetto.dev to this JSON file (about 200 bytes a step, 1 kB a request).
    #[serde(serialize_with = "as_text::path", deserialize_with = "as_text::quoted")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub perfetto: Option<PathBuf>,
    /// Report the progress in simulated time.
    #[serde(deserialize_with = "as_text::switch")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
            hide_possible_values = true,
            help = "Write the progress in simulated time to standard error; a terminal shows a bar anyway")
    )]
    pub progress: Option<bool>,
}
