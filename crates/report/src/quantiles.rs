//! Quantiles of latencies.

use rooflut::sim::figures;
use rooflut::units::Seconds;
use serde::Serialize;

/// Quantiles of the latencies of completed requests, milliseconds; null where there is no such time.
///
/// A percentile of [`LatencyMs`](crate::LatencyMs) is the quantile at its level. Unlike it, quantiles are given whatever
/// the number of requests: the first and the last are minimum and maximum, and chance decides those next to them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Quantiles {
    /// Levels, from 0 to 1.
    pub levels: Vec<f64>,
    /// Time to first token.
    pub ttft_ms: Option<Vec<f64>>,
    /// Time per output token after the first.
    pub tpot_ms: Option<Vec<f64>>,
    /// Inter-token latency.
    pub itl_ms: Option<Vec<f64>>,
    /// Time from the arrival to the last token.
    pub e2e_ms: Option<Vec<f64>>,
    /// Time from the arrival at the engine to the first scheduling.
    pub queue_ms: Option<Vec<f64>>,
}

impl Quantiles {
    /// The levels, in thousandths.
    pub const PER_MILLE: [u32; 29] = [
        0, 10, 20, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900, 925, 950,
        970, 980, 990, 995, 999, 1_000,
    ];
}

impl From<figures::Quantiles> for Quantiles {
    /// Takes quantiles at the levels [`PER_MILLE`](Quantiles::PER_MILLE).
    fn from(quantiles: figures::Quantiles) -> Quantiles {
        let ms = |times: Option<Vec<Seconds>>| Some(times?.iter().map(|time| time.ms()).collect());
        Quantiles {
            levels: Quantiles::PER_MILLE.map(|level| f64::from(level) / 1_000.0).to_vec(),
            ttft_ms: ms(quantiles.ttft),
            tpot_ms: ms(quantiles.tpot),
            itl_ms: ms(quantiles.itl),
            e2e_ms: ms(quantiles.e2e),
            queue_ms: ms(quantiles.queue),
        }
    }
}
