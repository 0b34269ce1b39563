//! The choices of a plan.

use std::fmt::Display;

use rooflut::hardware::Dtype;
use rooflut::model::ModelSpec;
use rooflut::table::TableSet;
use rooflut_error::value;
use rooflut_scenario::{Error, Scenario, names_file};
use serde::Serialize;

/// The deployments to choose from: every combination of the choices, each with as many servers as the load needs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Space {
    /// Table sets of the GPUs.
    pub tables: Vec<TableSet>,
    /// Degrees of tensor parallelism.
    pub tp: Vec<u32>,
    /// Degrees of data parallelism, of models with experts.
    pub dp: Vec<u32>,
    /// Numbers of pipeline stages; `None` for that of the scenario. Stages of data-parallel ranks are left out, which
    /// are not modelled.
    pub pp: Vec<Option<u32>>,
    /// Whether GPUs hold whole experts.
    pub expert_parallel: Vec<bool>,
    /// Formats of the weights; `None` for the model's own.
    pub dtype: Vec<Option<Dtype>>,
    /// Formats of the KV cache; `None` for the model's own.
    pub kv_dtype: Vec<Option<Dtype>>,
    /// Maximum numbers of running requests of a server; `None` for the default.
    pub max_num_seqs: Vec<Option<u32>>,
    /// Maximum numbers of tokens of a step; `None` for the default.
    pub max_num_batched_tokens: Vec<Option<u32>>,
    /// Maximum number of GPUs of a deployment.
    pub max_gpus: u32,
}

impl Space {
    /// Default maximum number of GPUs.
    pub const MAX_GPUS: u32 = 256;

    /// Returns the choices for a model on the GPUs of `tables`: tensor parallelism 1, 2, 4 and 8, for models with
    /// experts also data parallelism 1, 2, 4 and 8 and expert parallelism, and the defaults of everything else.
    pub fn new(spec: &ModelSpec, tables: Vec<TableSet>) -> Space {
        const DEGREES: [u32; 4] = [1, 2, 4, 8];
        let has_experts = spec.experts().is_some();
        Space {
            tables,
            tp: DEGREES.to_vec(),
            dp: if has_experts { DEGREES.to_vec() } else { vec![1] },
            pp: vec![None],
            expert_parallel: if has_experts { vec![false, true] } else { vec![false] },
            dtype: vec![None],
            kv_dtype: vec![None],
            max_num_seqs: vec![None],
            max_num_batched_tokens: vec![None],
            max_gpus: Space::MAX_GPUS,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let empty = [
            ("tables", self.tables.is_empty()),
            ("tp", self.tp.is_empty()),
            ("dp", self.dp.is_empty()),
            ("pp", self.pp.is_empty()),
            ("expert_parallel", self.expert_parallel.is_empty()),
            ("dtype", self.dtype.is_empty()),
            ("kv_dtype", self.kv_dtype.is_empty()),
            ("max_num_seqs", self.max_num_seqs.is_empty()),
            ("max_num_batched_tokens", self.max_num_batched_tokens.is_empty()),
        ];
        if let Some((choice, _)) = empty.into_iter().find(|(_, is_empty)| *is_empty) {
            return Err(rejected(choice, "at least one value", "none"));
        }
        match self.max_gpus {
            1..=4096 => Ok(()),
            found => Err(rejected("max_gpus", "a whole number from 1 to 4096", found)),
        }
    }

    /// Returns the kinds of servers that one server's GPUs allow, each once, in the order of the choices.
    pub(crate) fn choices(&self) -> Vec<(TableSet, Choice)> {
        let mut found = Vec::new();
        for tables in distinct(&self.tables, TableSet::name) {
            each(&self.tp, &self.dp, |tp, dp| {
                each(&self.dtype, &self.kv_dtype, |dtype, kv_dtype| {
                    let limits = (&self.max_num_seqs, &self.max_num_batched_tokens);
                    each(limits.0, limits.1, |max_num_seqs, max_num_batched_tokens| {
                        each(&self.expert_parallel, &self.pp, |expert_parallel, pp| {
                            let choice = Choice {
                                gpu: tables.name().to_owned(),
                                gpu_name: gpu_name(tables),
                                tp,
                                dp,
                                pp,
                                expert_parallel,
                                dtype,
                                kv_dtype,
                                max_num_seqs,
                                max_num_batched_tokens,
                            };
                            // Over one GPU, expert parallelism changes nothing.
                            let is_vain = expert_parallel && choice.stage_gpus() == 1;
                            let is_modelled = dp == 1 || pp.unwrap_or(1) == 1;
                            let gpus = choice.stage_gpus().saturating_mul(pp.unwrap_or(1));
                            if gpus <= self.max_gpus && !is_vain && is_modelled {
                                found.push((tables.clone(), choice));
                            }
                        });
                    });
                });
            });
        }
        found
    }
}

/// Returns the values without those that have the key of an earlier one.
fn distinct<'v, T, K: PartialEq + ?Sized + 'v>(
    values: &'v [T],
    key: impl Fn(&'v T) -> &'v K + Copy,
) -> impl Iterator<Item = &'v T> {
    let placed = values.iter().enumerate();
    let is_first = move |(place, value): &(usize, &'v T)| {
        let first = values.iter().position(|other| key(other) == key(value));
        first == Some(*place)
    };
    placed.filter(is_first).map(|(_, value)| value)
}

fn each<A: Copy + PartialEq, B: Copy + PartialEq>(first: &[A], second: &[B], mut visit: impl FnMut(A, B)) {
    for &a in distinct(first, |it| it) {
        for &b in distinct(second, |it| it) {
            visit(a, b);
        }
    }
}

/// One kind of server: a choice of everything but the number of servers. What is `None` is the default.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Choice {
    /// Name of the table set.
    pub gpu: String,
    /// Tensor parallelism.
    pub tp: u32,
    /// Data parallelism.
    pub dp: u32,
    /// Pipeline stages.
    pub pp: Option<u32>,
    /// Whether GPUs hold whole experts.
    pub expert_parallel: bool,
    /// Format of the weights.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub dtype: Option<Dtype>,
    /// Format of the KV cache.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub kv_dtype: Option<Dtype>,
    /// Maximum number of running requests.
    pub max_num_seqs: Option<u32>,
    /// Maximum number of tokens of a step.
    pub max_num_batched_tokens: Option<u32>,
    /// Name of the GPU for people: `gpu` is a path where a data sheet describes it.
    #[serde(skip)]
    pub gpu_name: String,
}

/// Returns the name of a table set, or of the GPU whose data sheet takes its place.
pub(crate) fn gpu_name(tables: &TableSet) -> String {
    let name = tables.name();
    if names_file(name) { tables.gpu().name.as_str().to_owned() } else { name.to_owned() }
}

impl Choice {
    /// Returns the GPUs of a pipeline stage of a server.
    fn stage_gpus(&self) -> u32 {
        self.tp.saturating_mul(self.dp)
    }

    /// Returns `scenario` on one such server.
    pub(crate) fn applied(&self, scenario: &Scenario) -> Scenario {
        let mut scenario = scenario.clone();
        let (target, server) = (&mut scenario.target, &mut scenario.server);
        if target.tables.is_none() {
            target.gpu = Some(self.gpu.clone());
        }
        if target.sheet().is_none() {
            target.base = None;
        }
        target.tp = Some(self.tp);
        target.dp = (self.dp != 1).then_some(self.dp);
        if let Some(pp) = self.pp {
            target.pp = (pp != 1).then_some(pp);
        }
        target.expert_parallel = self.expert_parallel.then_some(true);
        target.dtype = self.dtype;
        target.kv_dtype = self.kv_dtype;
        server.max_num_seqs = self.max_num_seqs;
        server.max_num_batched_tokens = self.max_num_batched_tokens;
        // Several servers, so that a router means something; the search sets the number.
        server.replicas = server.router.is_some().then_some(2);
        scenario
    }
}

/// A choice that is empty or out of range.
pub(crate) fn rejected(choice: &str, expected: &str, found: impl Display) -> Error {
    value(choice, expected, found).map(|text| format!("{text}; correct it"))
}
