//! The experts of a layer inside a step.

use super::kernel_time::KernelTime;
use super::routing::Routing;
use super::{Binding, TimeSource};
use crate::engine::StepConstants;
use crate::op::Moe;
use crate::table::ErrorGroup;
use crate::units::Seconds;

/// The experts of a layer, with weights that come from memory.
///
/// The table was measured with a later engine. With few tokens, where reads dominate, measured servers agree better with
/// reads of the experts that tokens reach ([`Routing`]) than with the table. No measured server has many tokens, where
/// math dominates.
#[derive(Debug, Clone)]
pub(super) struct StepExperts {
    moe: Moe,
    routing: Routing,
    /// Routing, sorting and launches, seconds.
    launches_s: f64,
    /// Share of the memory bandwidth at which the experts are read.
    bandwidth: f64,
}

impl StepExperts {
    /// Creates the time of `moe` inside the steps of an engine.
    pub(super) fn new(moe: Moe, engine: &StepConstants) -> StepExperts {
        StepExperts {
            routing: Routing::new(&moe.shape(), engine.routing),
            moe,
            launches_s: engine.moe_layer.0,
            bandwidth: engine.expert_bandwidth,
        }
    }

    /// Returns the errors of lookups of the experts.
    pub(super) fn errors(&self) -> ErrorGroup {
        self.moe.errors()
    }

    /// Returns the launches and the reads of the experts reached on average, blended into the table's answer as math
    /// takes over from reads.
    pub(super) fn at(&self, tokens: f64, ln_tokens: f64) -> KernelTime {
        let rates = &self.moe.reference().rates;
        let reached = self.routing.reached(tokens);
        let expected = self.moe.shape().work_reading(tokens, reached);
        let read_s = expected.bytes * rates.s_per_byte;
        let math_s = expected.flops * rates.s_per_flop;
        let reads = self.launches_s + read_s / self.bandwidth;
        let table = self.moe.at_ln(tokens, ln_tokens);
        let math_share = (math_s / read_s).min(1.0);
        let seconds = reads + (table.time.0.max(reads) - reads) * math_share;
        let time = Seconds(seconds.max(math_s));
        let fitted = Seconds(reads * (1.0 - math_share));
        let source = if table.time.0 > reads {
            let looked_up = Seconds(time.0 - fitted.0);
            TimeSource::FITTED.plus(fitted, table.provenance.into(), looked_up)
        } else {
            TimeSource::FITTED
        };
        let binding = Binding::of(&expected, rates, self.launches_s);
        KernelTime::new(time, binding, source).with_bound(Seconds(read_s.max(math_s)))
    }
}
