//! The fitted constants.

use rooflut::engine::{EngineStack, stacks};

/// The engine stacks of the measured runs.
#[derive(Debug, Clone, Copy)]
pub struct Engines {
    /// vLLM 0.15.1: all load stages and the single decode steps.
    pub newer: EngineStack,
    /// vLLM 0.11.0: the requests that ran alone. Its kernels share the constants of 0.15.1.
    pub older: EngineStack,
}

impl Engines {
    /// Returns the constants of `bench_data/engines/`.
    pub fn from_files() -> Engines {
        Engines { newer: stacks::VLLM_0_15_1, older: stacks::VLLM_0_11_0 }
    }

    /// Returns round numbers as the start of a search.
    pub fn guess() -> Engines {
        let files = Engines::from_files();
        let first = |engines, choice: &Choice| {
            let first = choice.candidates.first().copied();
            choice.with(engines, first.unwrap_or_default())
        };
        CHOICES.iter().fold(files, first).with(&[10.0, 0.8, 30.0, 0.8, 5.0, 30.0, 200.0, 20.0, 0.5])
    }

    /// Sets the values of the parameters, in the order of [`PARAMETERS`] and their units.
    pub fn with(mut self, values: &[f64]) -> Engines {
        for (parameter, &value) in PARAMETERS.iter().zip(values) {
            let most = if parameter.unit == "share" { 1.0 } else { f64::INFINITY };
            let value = (value / parameter.per_si()).min(most);
            *(parameter.field)(&mut self.older) = value;
            if parameter.shared {
                *(parameter.field)(&mut self.newer) = value;
            }
        }
        self
    }

    /// Sets the errors that determine intervals; see `StepConstants` and `EngineStack`.
    pub fn with_errors(mut self, lookup_error_share: f64, step_error: f64, first_token_error: f64) -> Engines {
        for engine in [&mut self.newer, &mut self.older] {
            engine.constants.lookup_error_share = lookup_error_share;
            engine.constants.step_error = step_error;
            engine.first_token_error = first_token_error;
        }
        self
    }

    /// Returns the values of the parameters, in the order of [`PARAMETERS`] and their units.
    pub fn values(mut self) -> Vec<f64> {
        let mut value = |parameter: &Parameter| *(parameter.field)(&mut self.older) * parameter.per_si();
        PARAMETERS.iter().map(&mut value).collect()
    }
}

/// A fitted constant.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name, with the engine if the engines differ.
    pub name: &'static str,
    /// Unit in the files.
    pub unit: &'static str,
    /// Rounding step in the files.
    pub resolution: f64,
    /// Whether both engines have the value; else only the older one has it.
    shared: bool,
    field: fn(&mut EngineStack) -> &mut f64,
}

impl Parameter {
    /// Returns a parameter that both engines share.
    const fn shared(
        name: &'static str,
        unit: &'static str,
        resolution: f64,
        field: fn(&mut EngineStack) -> &mut f64,
    ) -> Parameter {
        Parameter { name, unit, resolution, shared: true, field }
    }

    /// Returns the units per SI unit.
    fn per_si(&self) -> f64 {
        match self.unit {
            "ms" => 1e3,
            "us" => 1e6,
            "ns" => 1e9,
            _ => 1.0,
        }
    }
}

/// The fitted constants: seven that both engines share, and two of the older engine.
pub const PARAMETERS: [Parameter; 9] = [
    Parameter::shared("layer", "us", 0.5, |engine| &mut engine.constants.layer.0),
    Parameter::shared("sustained_math", "share", 0.01, |engine| &mut engine.constants.sustained_math),
    Parameter::shared("moe_layer", "us", 1.0, |engine| &mut engine.constants.moe_layer.0),
    Parameter::shared("expert_bandwidth", "share", 0.01, |engine| &mut engine.constants.expert_bandwidth),
    Parameter::shared("api_server", "ms", 0.1, |engine| &mut engine.api_server.0),
    Parameter::shared("api_output", "us", 5.0, |engine| &mut engine.api_output.0),
    Parameter {
        shared: false,
        ..Parameter::shared("host of vllm-0.11.0", "us", 20.0, |engine| &mut engine.constants.host.0)
    },
    Parameter {
        shared: false,
        ..Parameter::shared("prompt_layer of vllm-0.11.0", "us", 5.0, |engine| &mut engine.constants.prompt_layer.0)
    },
    Parameter::shared("smoothing_width", "ln(rows)", 0.5, |engine| &mut engine.constants.smoothing_width),
];

/// A constant chosen from a few values, because errors change with it in jumps or not at all.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Name of the constant.
    pub name: &'static str,
    /// Unit in the files.
    pub unit: &'static str,
    /// Values to try; a search begins with the first.
    pub candidates: &'static [f64],
    get: fn(&EngineStack) -> f64,
    set: fn(&mut EngineStack, f64),
}

/// The chosen constants of both engines.
pub const CHOICES: [Choice; 2] = [
    Choice {
        name: "smoothed_rows",
        unit: "rows",
        candidates: &[64.0, 128.0, 256.0, 512.0, 1024.0],
        get: |engine| engine.constants.smoothed_rows.into(),
        set: |engine, value| engine.constants.smoothed_rows = value as u32,
    },
    Choice {
        name: "cold_kv",
        unit: "L2",
        candidates: &[1.5, 3.0, 6.0],
        get: |engine| engine.constants.cold_kv,
        set: |engine, value| engine.constants.cold_kv = value,
    },
];

impl Choice {
    /// Returns the value in `engines`.
    pub fn value(&self, engines: &Engines) -> f64 {
        (self.get)(&engines.newer)
    }

    /// Sets the value in `engines`.
    pub(crate) fn with(&self, mut engines: Engines, value: f64) -> Engines {
        (self.set)(&mut engines.newer, value);
        (self.set)(&mut engines.older, value);
        engines
    }
}
