//! Expected errors of a calibrated engine.

use rooflut::engine::EngineStack;
use rooflut::hardware::Gpu;
use rooflut::interval::Coverage;
use rooflut::model::ModelSpec;

use crate::calibration::{Calibration, EIGHTY};
use crate::constant::Field;

/// The fields of a stack that say how wrong its predictions are expected to be.
pub const ERRORS: [Field; 5] = [
    Field { name: "lookup_error_share", field: |stack| &mut stack.constants.lookup_error_share },
    Field { name: "step_error", field: |stack| &mut stack.constants.step_error },
    Field { name: "other_step_error", field: |stack| &mut stack.constants.other_step_error },
    Field { name: "first_token_error", field: |stack| &mut stack.first_token_error },
    Field { name: "other_first_token_error", field: |stack| &mut stack.other_first_token_error },
];

impl Calibration {
    /// Gives the stack the errors with which 80 % intervals of other loads of the server, a model on a GPU, are as wide as
    /// [`deviations`](Calibration::deviations) ask for, and no narrower than the difference between two equal servers
    /// ([`EngineStack::tpot_half_width`], [`EngineStack::ttft_half_width`]).
    pub fn set_errors(&mut self, model: &ModelSpec, gpu: &Gpu) {
        give(&mut self.stack, [0.0; 2]);
        let coverage = Coverage::default();
        let [tpot, ttft] = self.deviations.map(|deviation| EIGHTY * deviation);
        let step = rest(tpot, self.stack.tpot_half_width(coverage));
        // The errors of steps are among those of the first token.
        let first_token = rest(rest(ttft, self.stack.ttft_half_width(model, gpu, coverage)), step);
        give(&mut self.stack, [step, first_token].map(|width| width / coverage.laplace(1.0)));
    }
}

/// Returns the width that adds up to `whole` with `part` in quadrature.
fn rest(whole: f64, part: f64) -> f64 {
    (whole * whole - part * part).max(0.0).sqrt()
}

fn give(stack: &mut EngineStack, [step, first_token]: [f64; 2]) {
    let values = [0.0, step, step, first_token, first_token];
    for (field, value) in ERRORS.iter().zip(values) {
        *(field.field)(stack) = value;
    }
}

#[cfg(test)]
mod tests {
    use rooflut::engine::stacks::VLLM_0_19_0;
    use rooflut::hardware::gpus;
    use rooflut::model;

    use super::*;

    /// Asserts half widths of TPOT and TTFT, as a run adds them up.
    fn assert_widths(name: &str, deviations: [f64; 2], expected: [f64; 2]) {
        let model = model::find(name).unwrap().spec;
        let (stack, constants, rows) = (VLLM_0_19_0, Vec::new(), Vec::new());
        let mut calibration = Calibration { stack, constants, rows, deviations };
        calibration.set_errors(&model, &gpus::H100);
        let (stack, coverage) = (&calibration.stack, Coverage::default());
        let step = coverage.laplace(stack.constants.step_error);
        let others = [stack.tpot_half_width(coverage), stack.ttft_half_width(&model, &gpus::H100, coverage)];
        for (other, expected) in others.into_iter().zip(expected) {
            let found = step.hypot(other);
            assert!((found - expected).abs() < 1e-12, "{name} {deviations:?}: {found}, {expected}");
        }
    }

    #[test]
    fn intervals_are_as_wide_as_the_deviations() {
        for (name, deviations) in [("llama-3.1-8b", [0.03, 0.2]), ("qwen3-30b-a3b", [0.06, 0.09])] {
            assert_widths(name, deviations, deviations.map(|deviation| EIGHTY * deviation));
        }
    }

    #[test]
    fn intervals_are_no_narrower_than_two_equal_servers_differ() {
        let laplace = |error| Coverage::default().laplace(error);
        assert_widths("llama-3.1-8b", [0.001, 0.001], [laplace(0.01), laplace(0.02)]);
        assert_widths("qwen3-30b-a3b", [0.001, 0.001], [laplace(0.01), laplace(0.04)]);
    }
}
