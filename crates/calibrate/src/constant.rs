//! The constants of an engine that a calibration moves.

use rooflut::engine::EngineStack;

use crate::residual::CONSTANTS;

/// A constant, or constants of several GPUs with the same meaning.
///
/// A coordinate is a change of it, in units in which servers differ by about 0.1: of a time, so many seconds more or
/// less; of others, of the logarithm.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// Its name in files of engines.
    pub name: &'static str,
    /// Whether it is one of prompts and requests.
    pub of_prompts: bool,
    unit: f64,
    kind: Kind,
    fields: &'static [fn(&mut EngineStack) -> &mut f64],
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A time that may be zero: seconds are added.
    Time,
    /// A time of a kernel: it is multiplied.
    Kernel,
    /// A share, at most 1: it is multiplied.
    Share,
}

impl Constant {
    /// All constants, in the order of coordinates.
    pub const ALL: [Constant; CONSTANTS] = [
        Constant::steps("host", 5e-4, Kind::Time, &[|stack| &mut stack.constants.host.0]),
        Constant::steps("host_request", 5e-6, Kind::Time, &[|stack| &mut stack.constants.host_request.0]),
        Constant::prompts(
            "prompt_layer",
            1e-4,
            &[|stack| &mut stack.constants.prompt_layer.0, |stack| &mut stack.constants.blackwell_prompt_layer.0],
        ),
        Constant::prompts("api_server", 3e-2, &[|stack| &mut stack.api_server.0]),
        Constant::prompts("api_token", 1e-5, &[|stack| &mut stack.api_token.0]),
        Constant::steps(
            "sustained_math",
            2.0,
            Kind::Share,
            &[|stack| &mut stack.constants.sustained_math, |stack| &mut stack.constants.blackwell_sustained_math],
        ),
        Constant::steps("layer", 3.0, Kind::Kernel, &[|stack| &mut stack.constants.layer.0]),
        Constant::steps(
            "moe_layer",
            3.0,
            Kind::Kernel,
            &[|stack| &mut stack.constants.moe_layer.0, |stack| &mut stack.constants.blackwell_moe_layer.0],
        ),
        Constant::steps(
            "expert_bandwidth",
            2.0,
            Kind::Share,
            &[|stack| &mut stack.constants.expert_bandwidth, |stack| &mut stack.constants.fp8_block_expert_bandwidth],
        ),
        Constant::steps(
            "all_reduce_wait",
            5.0,
            Kind::Kernel,
            &[|stack| &mut stack.constants.all_reduce_wait.0, |stack| &mut stack.constants.fused_all_reduce.0],
        ),
    ];

    const fn steps(
        name: &'static str,
        unit: f64,
        kind: Kind,
        fields: &'static [fn(&mut EngineStack) -> &mut f64],
    ) -> Constant {
        Constant { name, of_prompts: false, unit, kind, fields }
    }

    const fn prompts(name: &'static str, unit: f64, fields: &'static [fn(&mut EngineStack) -> &mut f64]) -> Constant {
        Constant { name, of_prompts: true, unit, kind: Kind::Time, fields }
    }

    /// Returns the seconds, or the change of the logarithm, of a coordinate of 1.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Returns the value in a stack: seconds or a share.
    pub fn value(&self, stack: &EngineStack) -> f64 {
        let mut stack = *stack;
        self.fields.first().map_or(0.0, |field| *field(&mut stack))
    }

    /// Moves the constant by a coordinate, within its range: a time stays at least 0, a share at most 1.
    pub fn shift(&self, stack: &mut EngineStack, coordinate: f64) {
        let by = coordinate * self.unit;
        for field in self.fields {
            let value = field(stack);
            *value = match self.kind {
                Kind::Time => (*value + by).max(0.0),
                Kind::Kernel => *value * by.exp(),
                Kind::Share => (*value * by.exp()).min(1.0),
            };
        }
        if self.name == "expert_bandwidth" {
            let tuned = &mut stack.constants.tuned_experts;
            *tuned = (*tuned * (-by).exp()).min(1.0);
        }
    }

    /// Returns the coordinate by which derivatives are taken: a few percent, away from the end of the range.
    pub(crate) fn step(&self) -> f64 {
        match self.kind {
            Kind::Time => 0.2,
            Kind::Kernel => 0.06 / self.unit,
            Kind::Share => -0.06 / self.unit,
        }
    }
}
