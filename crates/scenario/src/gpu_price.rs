//! Prices of GPUs as a scenario gives them.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use rooflut_error::Error;

use crate::number::{invalid, real};

/// US dollars for one GPU and hour; what lies outside is a mistake.
pub(crate) const USD: RangeInclusive<f64> = 1e-4..=1e6;

/// The price of a GPU: `h100=2.10`, US dollars for one GPU and hour.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuPrice {
    /// Name of the GPU.
    pub gpu: String,
    /// US dollars for one GPU and hour.
    pub usd_per_hour: f64,
}

impl FromStr for GpuPrice {
    type Err = Error;

    fn from_str(text: &str) -> Result<GpuPrice, Error> {
        let read = text.split_once('=').and_then(|(gpu, usd)| {
            let usd_per_hour = real(usd).ok().filter(|usd| USD.contains(usd))?;
            (!gpu.is_empty()).then(|| GpuPrice { gpu: gpu.to_owned(), usd_per_hour })
        });
        read.ok_or(invalid(
            "expected GPU=USD, US dollars for one GPU and hour from 0.0001 to 1_000_000, as in h100=2.10, and spaces \
             between several",
        ))
    }
}

impl fmt::Display for GpuPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.gpu, self.usd_per_hour)
    }
}
