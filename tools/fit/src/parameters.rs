//! The fitted constants.

use rooflut::engine::{EngineStack, stacks};
use rooflut::units::Seconds;

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
        Engines {
            newer: stacks::VLLM_0_15_1,
            older: stacks::VLLM_0_11_0,
        }
    }

    /// Returns round numbers as the start of a search.
    pub fn guess() -> Engines {
        let files = Engines::from_files();
        let first = |engines, choice: &Choice| {
            let first = choice.candidates.first().copied();
            choice.with(engines, first.unwrap_or_default())
        };
        CHOICES
            .iter()
            .fold(files, first)
            .with(&[10.0, 0.5, 0.1, 30.0, 0.8, 5.0, 200.0, 0.5])
    }

    /// Sets the values of the parameters, in the order of [`PARAMETERS`] and their units.
    pub fn with(mut self, values: &[f64]) -> Engines {
        for (parameter, &value) in PARAMETERS.iter().zip(values) {
            let constants = &mut self;
            (parameter.set)(constants, value / parameter.per_si);
        }
        self
    }

    /// Returns the values of the parameters, in the order of [`PARAMETERS`] and their units.
    pub fn values(&self) -> Vec<f64> {
        let value = |parameter: &Parameter| (parameter.get)(self) * parameter.per_si;
        PARAMETERS.iter().map(value).collect()
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
    /// Units per SI unit.
    per_si: f64,
    get: fn(&Engines) -> f64,
    set: fn(&mut Engines, f64),
}

/// The fitted constants: seven that both engines share, and one of the older engine.
pub const PARAMETERS: [Parameter; 8] = [
    Parameter {
        name: "layer",
        unit: "us",
        resolution: 0.5,
        per_si: 1e6,
        get: |engines| engines.newer.constants.layer.0,
        set: |engines, value| engines.both(|engine| engine.constants.layer = Seconds(value)),
    },
    Parameter {
        name: "small_kernel_bandwidth",
        unit: "share",
        resolution: 0.02,
        per_si: 1.0,
        get: |engines| engines.newer.constants.small_kernel_bandwidth,
        set: |engines, value| {
            engines.both(|engine| engine.constants.small_kernel_bandwidth = value.min(1.0));
        },
    },
    Parameter {
        name: "logit",
        unit: "ns",
        resolution: 0.005,
        per_si: 1e9,
        get: |engines| engines.newer.constants.logit.0,
        set: |engines, value| engines.both(|engine| engine.constants.logit = Seconds(value)),
    },
    Parameter {
        name: "moe_layer",
        unit: "us",
        resolution: 1.0,
        per_si: 1e6,
        get: |engines| engines.newer.constants.moe_layer.0,
        set: |engines, value| engines.both(|engine| engine.constants.moe_layer = Seconds(value)),
    },
    Parameter {
        name: "expert_bandwidth",
        unit: "share",
        resolution: 0.01,
        per_si: 1.0,
        get: |engines| engines.newer.constants.expert_bandwidth,
        set: |engines, value| {
            engines.both(|engine| engine.constants.expert_bandwidth = value.min(1.0));
        },
    },
    Parameter {
        name: "api_server",
        unit: "ms",
        resolution: 0.1,
        per_si: 1e3,
        get: |engines| engines.newer.api_server.0,
        set: |engines, value| engines.both(|engine| engine.api_server = Seconds(value)),
    },
    Parameter {
        name: "host of vllm-0.11.0",
        unit: "us",
        resolution: 20.0,
        per_si: 1e6,
        get: |engines| engines.older.constants.host.0,
        set: |engines, value| engines.older.constants.host = Seconds(value),
    },
    Parameter {
        name: "smoothing_width",
        unit: "ln(rows)",
        resolution: 0.5,
        per_si: 1.0,
        get: |engines| engines.newer.constants.smoothing_width,
        set: |engines, value| engines.both(|engine| engine.constants.smoothing_width = value),
    },
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
    get: fn(&Engines) -> f64,
    set: fn(&mut Engines, f64),
}

/// The chosen constants, which both engines share.
pub const CHOICES: [Choice; 2] = [
    Choice {
        name: "smoothed_rows",
        unit: "rows",
        candidates: &[64.0, 128.0, 256.0, 512.0, 1024.0],
        get: |engines| engines.newer.constants.smoothed_rows.into(),
        set: |engines, value| engines.both(|engine| engine.constants.smoothed_rows = value as u32),
    },
    Choice {
        name: "cold_kv",
        unit: "L2",
        candidates: &[1.5, 3.0, 6.0],
        get: |engines| engines.newer.constants.cold_kv,
        set: |engines, value| engines.both(|engine| engine.constants.cold_kv = value),
    },
];

impl Choice {
    /// Returns the value in `engines`.
    pub fn value(&self, engines: &Engines) -> f64 {
        (self.get)(engines)
    }

    /// Sets the value in `engines`.
    pub(crate) fn with(&self, mut engines: Engines, value: f64) -> Engines {
        (self.set)(&mut engines, value);
        engines
    }
}

impl Engines {
    fn both(&mut self, mut change: impl FnMut(&mut EngineStack)) {
        change(&mut self.newer);
        change(&mut self.older);
    }
}
