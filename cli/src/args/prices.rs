//! Prices of GPUs, for commands without a scenario of their own.

use std::path::PathBuf;

use clap::Args;
use rooflut_scenario::{GpuPrice, Output};

/// Prices of GPUs.
#[derive(Args)]
pub(crate) struct PriceArgs {
    /// Prices of GPUs: a TOML file with a table per GPU (see examples/prices.toml). The file replaces the default
    /// prices of these GPUs; the defaults are on-demand list prices of a public cloud. Different GPUs are compared by
    /// price.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Prices of GPUs in US dollars per hour, which replace those of --prices, as in h100=2.10 h200=2.90.
    #[arg(long, value_name = "GPU=USD", num_args = 1..)]
    price: Option<Vec<GpuPrice>>,
}

impl PriceArgs {
    /// Adds the prices to the output of a scenario.
    pub(crate) fn add_to(&self, output: &mut Output) {
        output.prices.clone_from(&self.prices);
        output.price.clone_from(&self.price);
    }
}
