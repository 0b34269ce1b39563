//! Engines whose schedule and constants are known.
//!
//! Stands in for `rooflut::engine` until the library has it; same names, same shape.

pub use rooflut::sim::Scheduling;
pub use rooflut::step::Overheads as StepConstants;
use rooflut::units::Seconds;

/// What an engine adds to the kernels of a step, and around the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineStack {
    /// Product and version, `vllm-0.15.1`.
    pub name: &'static str,
    /// When the batch of a step is fixed.
    pub scheduling: Scheduling,
    /// Time of a step that no table holds.
    pub constants: StepConstants,
    /// Time before a request reaches the scheduler.
    pub api_server: Seconds,
}

/// The known engines.
pub mod stacks {
    use super::{EngineStack, Scheduling, Seconds, StepConstants};

    /// vLLM 0.15.1: the batch of a step is fixed when the step before it starts.
    pub static VLLM_0_15_1: EngineStack = EngineStack {
        name: "vllm-0.15.1",
        scheduling: Scheduling::OneStepAhead,
        constants: fitted(),
        api_server: API_SERVER,
    };

    /// vLLM 0.11.0: the batch of a step is fixed when the step before it has ended.
    pub static VLLM_0_11_0: EngineStack = EngineStack {
        name: "vllm-0.11.0",
        scheduling: Scheduling::Synchronous,
        constants: fitted(),
        api_server: API_SERVER,
    };

    /// All of them.
    pub static ALL: [&EngineStack; 2] = [&VLLM_0_15_1, &VLLM_0_11_0];

    /// What short prompts wait beyond their steps, by the load stages on H100.
    const API_SERVER: Seconds = Seconds(0.010);

    /// The defaults of the step model, as a constant.
    const fn fitted() -> StepConstants {
        let mut constants = StepConstants::NONE;
        constants.per_layer = Seconds::from_us(19.0);
        constants.per_logit = Seconds(0.17e-9);
        constants
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_constants_are_those_of_the_step_model() {
            assert_eq!(fitted(), StepConstants::default());
        }
    }
}
