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
    /// The fields of a stack that move with it.
    pub fields: &'static [Field],
    unit: f64,
    kind: Kind,
}

/// A field of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name in files of engines.
    pub name: &'static str,
    pub(crate) field: fn(&mut EngineStack) -> &mut f64,
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

/// Names fields of the constants of a step.
macro_rules! fields {
    ($($name:ident $(. $seconds:tt)?),*) => {
        &[$(Field { name: stringify!($name), field: |stack| &mut stack.constants.$name $(. $seconds)? }),*]
    };
}

impl Constant {
    /// All constants, in the order of coordinates.
    pub const ALL: [Constant; CONSTANTS] = [
        Constant::steps(5e-4, Kind::Time, fields![host.0]),
        Constant::steps(5e-6, Kind::Time, fields![host_request.0]),
        Constant::prompts(1e-4, fields![prompt_layer.0, blackwell_prompt_layer.0]),
        Constant::prompts(3e-2, &[Field { name: "api_server", field: |stack| &mut stack.api_server.0 }]),
        Constant::prompts(1e-5, &[Field { name: "api_token", field: |stack| &mut stack.api_token.0 }]),
        Constant::steps(2.0, Kind::Share, fields![sustained_math, blackwell_sustained_math]),
        Constant::steps(3.0, Kind::Kernel, fields![layer.0]),
        Constant::steps(3.0, Kind::Kernel, fields![moe_layer.0, blackwell_moe_layer.0]),
        Constant::steps(2.0, Kind::Share, fields![expert_bandwidth, fp8_block_expert_bandwidth, tuned_experts]),
        Constant::steps(5.0, Kind::Kernel, fields![all_reduce_wait.0, fused_all_reduce.0]),
    ];

    const fn steps(unit: f64, kind: Kind, fields: &'static [Field]) -> Constant {
        let name = match fields {
            [first, ..] => first.name,
            [] => "",
        };
        Constant { name, of_prompts: false, fields, unit, kind }
    }

    const fn prompts(unit: f64, fields: &'static [Field]) -> Constant {
        Constant { of_prompts: true, ..Constant::steps(unit, Kind::Time, fields) }
    }

    /// Returns the seconds, or the change of the logarithm, of a coordinate of 1.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Returns the value in a stack, that of its first field: seconds or a share.
    pub fn value(&self, stack: &EngineStack) -> f64 {
        self.fields.first().map_or(0.0, |field| field.value(stack))
    }

    /// Moves the constant by a coordinate, within its range: a time stays at least 0, a share at most 1.
    pub fn shift(&self, stack: &mut EngineStack, coordinate: f64) {
        let by = coordinate * self.unit;
        for field in self.fields {
            let value = (field.field)(stack);
            *value = match self.kind {
                Kind::Time => (*value + by).max(0.0),
                Kind::Kernel => *value * by.exp(),
                // The share of the measured time that tuned kernels take grows as the bandwidth of others falls.
                Kind::Share if field.name == "tuned_experts" => (*value * (-by).exp()).min(1.0),
                Kind::Share => (*value * by.exp()).min(1.0),
            };
        }
    }

    /// Returns the coordinate by which a shift really moves the first field, which stays within its range.
    pub(crate) fn effective(&self, stack: &EngineStack, coordinate: f64) -> f64 {
        let mut moved = *stack;
        self.shift(&mut moved, coordinate);
        let [before, after] = [stack, &moved].map(|stack| self.value(stack));
        match self.kind {
            Kind::Time => (after - before) / self.unit,
            Kind::Kernel | Kind::Share if before > 0.0 => (after / before).ln() / self.unit,
            Kind::Kernel | Kind::Share => 0.0,
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

impl Field {
    /// Returns the value in a stack: seconds or a share.
    pub fn value(&self, stack: &EngineStack) -> f64 {
        let mut stack = *stack;
        *(self.field)(&mut stack)
    }
}
