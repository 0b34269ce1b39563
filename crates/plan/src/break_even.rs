//! Prices at which another GPU becomes the cheapest choice.

use serde::Serialize;

use crate::answer::Answer;

/// The price below which a GPU becomes the cheapest choice, if all other prices stay.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BreakEven {
    /// Name of the table set.
    pub gpu: String,
    /// US dollars for one GPU and hour.
    pub usd_per_gpu_hour: f64,
}

/// Returns the break-even price of each GPU of `deployments`, the cheapest first, but that of the cheapest. GPUs of the
/// same price as the cheapest have none: one price may be that of both. Deployments on GPUs of two kinds have no one price.
pub(crate) fn of(deployments: &[Answer]) -> Vec<BreakEven> {
    let is_mixed = |answer: &Answer| answer.prefill.as_ref().is_some_and(|prefill| prefill.gpu != answer.gpu);
    let best = deployments.first().filter(|best| !is_mixed(best));
    let Some((best, cost)) = best.and_then(|best| Some((best, best.hourly_cost.as_ref()?))) else {
        return Vec::new();
    };
    let mut found: Vec<BreakEven> = Vec::new();
    for answer in deployments.iter().filter(|answer| !is_mixed(answer)) {
        let is_priced_apart = answer.hourly_cost.as_ref().is_some_and(|other| other.price != cost.price);
        let is_known = answer.gpu == best.gpu || found.iter().any(|known| known.gpu == answer.gpu);
        if is_priced_apart && !is_known {
            found.push(BreakEven { gpu: answer.gpu.clone(), usd_per_gpu_hour: cost.usd / f64::from(answer.gpus) });
        }
    }
    found
}
