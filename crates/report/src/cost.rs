//! Price and energy of served tokens.

use rooflut::sim::figures::Summary;
use serde::Serialize;

/// GPU time and the work served in this time.
///
/// ```
/// use rooflut_report::{Price, Usage};
/// // Two GPUs for half an hour, in steps for 80 % of it, at 2,000 output tokens per second.
/// let usage = Usage {
///     gpu_hours: 1.0,
///     busy_gpu_hours: 0.8,
///     requests: 18_000.0,
///     output_tokens: 3.6e6,
///     total_tokens: 18e6,
/// };
/// let price = Price {
///     usd_per_gpu_hour: 7.2,
///     source: Some("a quote".to_owned()),
///     date: Some("2025-06".to_owned()),
/// };
/// assert_eq!(usage.cost(&price).usd_per.million_output_tokens, Some(2.0));
/// assert!((usage.energy_bound(700.0).wh - 0.8 * 700.0).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// GPUs times hours from the first arrival to the last token.
    pub gpu_hours: f64,
    /// GPUs times hours during which a step ran.
    pub busy_gpu_hours: f64,
    /// Requests that were served.
    pub requests: f64,
    /// Tokens that were generated.
    pub output_tokens: f64,
    /// Tokens of prompts and outputs.
    pub total_tokens: f64,
}

impl Usage {
    /// Returns the use of `gpus`, the GPUs of all servers, over the makespan of a run.
    pub fn of(gpus: u64, summary: &Summary) -> Usage {
        let seconds = summary.makespan.0;
        let gpu_hours = gpus as f64 * seconds / 3600.0;
        let rates = &summary.throughput;
        Usage {
            gpu_hours,
            busy_gpu_hours: gpu_hours * summary.server.busy_share,
            requests: rates.requests_per_s * seconds,
            output_tokens: rates.output_tokens_per_s * seconds,
            total_tokens: rates.total_tokens_per_s * seconds,
        }
    }

    /// Computes the cost at a price; idle GPUs cost as much as busy ones.
    pub fn cost(&self, price: &Price) -> Cost {
        let usd = self.gpu_hours * price.usd_per_gpu_hour;
        Cost { price: price.clone(), gpu_hours: self.gpu_hours, usd, usd_per: self.per(usd) }
    }

    /// Computes an upper bound of the energy of all steps: the thermal design power of a GPU, watts, over the time in
    /// which steps run.
    ///
    /// Does not model: idle GPUs, processors, memory, networks, cooling, losses of power supplies.
    pub fn energy_bound(&self, tdp_w: f64) -> EnergyBound {
        let wh = self.busy_gpu_hours * tdp_w;
        EnergyBound { tdp_w, busy_gpu_hours: self.busy_gpu_hours, wh, wh_per: self.per(wh) }
    }

    fn per(&self, amount: f64) -> PerWork {
        let of = |work: f64| (work > 0.0).then(|| amount / work);
        PerWork {
            million_output_tokens: of(self.output_tokens / 1e6),
            million_tokens: of(self.total_tokens / 1e6),
            request: of(self.requests),
        }
    }
}

/// Price of a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Price {
    /// US dollars for one GPU and hour.
    pub usd_per_gpu_hour: f64,
    /// Provider and kind of the price; null if not given.
    pub source: Option<String>,
    /// When it was valid: a year, or a year with month or day, as in 2025-06; null if not given.
    pub date: Option<String>,
}

impl Price {
    /// Returns the mean of the prices of GPUs, each behind their number and name; `None` without GPUs. Its source names
    /// all.
    ///
    /// ```
    /// use rooflut_report::Price;
    /// let price = |usd_per_gpu_hour| Price { usd_per_gpu_hour, source: None, date: None };
    /// let mean = Price::mean(&[(1, "h100", price(3.0)), (2, "l40s", price(1.5))]).unwrap();
    /// assert_eq!(mean.usd_per_gpu_hour, 2.0);
    /// assert_eq!(mean.origin(), "h100 3 USD (as given), l40s 1.5 USD (as given)");
    /// ```
    pub fn mean(prices: &[(u64, &str, Price)]) -> Option<Price> {
        let gpus: u64 = prices.iter().map(|(gpus, ..)| gpus).sum();
        let usd: f64 = prices.iter().map(|(gpus, _, price)| *gpus as f64 * price.usd_per_gpu_hour).sum();
        let each =
            |(_, name, price): &(_, &str, Price)| format!("{name} {} USD ({})", price.usd_per_gpu_hour, price.origin());
        let mut all: Vec<String> = prices.iter().map(each).collect();
        all.dedup();
        (gpus > 0).then(|| Price { usd_per_gpu_hour: usd / gpus as f64, source: Some(all.join(", ")), date: None })
    }

    /// Returns source and date for people: `a quote, 2025-06`, or `as given` without either.
    pub fn origin(&self) -> String {
        let known: Vec<&str> = self.source.iter().chain(&self.date).map(String::as_str).collect();
        if known.is_empty() { "as given".to_owned() } else { known.join(", ") }
    }
}

/// Cost of the GPUs of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Cost {
    /// The price.
    #[serde(flatten)]
    pub price: Price,
    /// GPUs times hours of the makespan.
    pub gpu_hours: f64,
    /// US dollars of the run.
    pub usd: f64,
    /// US dollars per work served.
    pub usd_per: PerWork,
}

/// Upper bound of the energy that the GPUs of a run use in steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EnergyBound {
    /// Thermal design power of a GPU, watts.
    pub tdp_w: f64,
    /// GPUs times hours during which a step ran.
    pub busy_gpu_hours: f64,
    /// Watt-hours of the run.
    pub wh: f64,
    /// Watt-hours per work served.
    pub wh_per: PerWork,
}

/// An amount per work served; null where nothing was served.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PerWork {
    /// Cost per million generated tokens; these tokens bear the whole amount.
    pub million_output_tokens: Option<f64>,
    /// Per million tokens of prompts and outputs.
    pub million_tokens: Option<f64>,
    /// Per request.
    pub request: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_served_has_a_cost_and_none_per_request() {
        let usage = Usage { gpu_hours: 2.0, busy_gpu_hours: 0.0, requests: 0.0, output_tokens: 0.0, total_tokens: 0.0 };
        let price = Price { usd_per_gpu_hour: 3.0, source: None, date: None };
        let none = PerWork { million_output_tokens: None, million_tokens: None, request: None };
        let cost = usage.cost(&price);
        assert_eq!((cost.usd, cost.usd_per), (6.0, none));
        let energy = usage.energy_bound(700.0);
        assert_eq!((energy.wh, energy.wh_per), (0.0, none));
    }
}
