//! A model on the GPUs of a table set.

use std::fmt;

use rooflut::ErrorKind;
use rooflut::deployment::{Capacity, Deployment, DeploymentBuilder};
use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;
use rooflut::model::{MemoryLimits, ModelSpec, Parallelism};
use rooflut::sim::SimConfig;
use rooflut::step::Network;
use rooflut::table::{Class, Strictness, TableSet, sets};
use rooflut_error::{Error, Kind, Shortage, key, no_effect, setting, value};

use crate::data_sheet::{bases, unmeasured};
use crate::engine::Engine;
use crate::fitting::Fitting;
use crate::library;
use crate::model::Model;
use crate::number::{gib, grouped};
use crate::scenario::{Server, Target};
use crate::speculation::Speculation;

/// Ranks that are tried where a set has no all-reduce.
const MAX_RANKS: u32 = 8;

/// The key of the maximum number of tokens of a step.
const MAX_TOKENS: &str = "max_num_batched_tokens";
/// A larger share of the memory than vLLM's default, which servers are known to run with.
const HIGH_UTILIZATION: f64 = 0.95;

/// A model on the GPUs of a table set, as an engine runs it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Placement {
    /// The model.
    pub model: Model,
    /// The tables of its GPU, with the rows that the engine stack takes.
    pub tables: TableSet,
    /// The division of the model over GPUs.
    pub parallelism: Parallelism,
    /// The network between nodes.
    pub network: Network,
    /// Format of the KV cache.
    pub kv_dtype: Dtype,
    /// The engine stack.
    pub engine: &'static EngineStack,
    /// A remark on constants of the engine that were fitted to another server.
    pub engine_mismatch: Option<String>,
    /// Remarks on what was given and means something else, or nothing.
    pub notes: Vec<String>,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.on_gpus(self.parallelism.gpus().into()))
    }
}

impl Placement {
    /// Returns the name of the model and the number of GPUs of all servers.
    pub fn on_gpus(&self, gpus: u64) -> String {
        format!("{} on {}", self.model, self.gpus(gpus))
    }

    /// Returns a number of GPUs with the division of the model over those of a server: `2 h100 GPUs, 2 pipeline stages`.
    pub fn gpus(&self, gpus: u64) -> String {
        let s = if gpus == 1 { "" } else { "s" };
        let gpu = self.tables.gpu().name.as_str();
        let experts = if self.parallelism.expert_parallel { " with expert parallelism" } else { "" };
        let ranks = match self.parallelism.dp {
            1 => String::new(),
            dp => format!(", {dp} data-parallel ranks"),
        };
        let stages = match self.parallelism.pp {
            1 => String::new(),
            pp => format!(", {pp} pipeline stages"),
        };
        format!("{gpus} {gpu} GPU{s}{stages}{ranks}{experts}")
    }

    /// Places `model` on the GPUs of `tables` as `target` says.
    ///
    /// # Errors
    /// A value that is out of range, ranks that cannot share the model.
    pub fn try_new(target: &Target, model: Model, tables: TableSet, engine: &Engine) -> Result<Placement, Error> {
        if model.spec.eagle3.is_some() {
            let draft = key("draft_model");
            let found = format!("{model}, an EAGLE-3 head, which drafts tokens for a model; give it as {draft}");
            return Err(value("model", "a model", found));
        }
        let stack = engine.stack;
        let kv_dtype = target.kv_dtype.or(model.kv_dtype);
        let placement = Placement {
            model: model.with_weights(target.dtype).with_sampler(target.sampler),
            tables: tables.version(stack.table_version),
            parallelism: target.parallelism(),
            network: target.network(),
            kv_dtype: kv_dtype.unwrap_or(Dtype::Bf16),
            engine: stack,
            engine_mismatch: engine.mismatch(target),
            notes: Vec::new(),
        };
        if placement.parallelism.expert_parallel && placement.model.spec.experts().is_none() {
            return Err(no_effect("expert_parallel", "the model has no experts"));
        }
        placement.check_parallelism(&placement.model, placement.parallelism)?;
        let notes = placement.remarks(target).chain(placement.engine_mismatch.clone()).collect();
        Ok(Placement { notes, ..placement })
    }

    fn remarks(&self, target: &Target) -> impl Iterator<Item = String> {
        let (given, own) = (target.engine(), self.engine.name);
        let engine = (given != own && target.engine_file().is_none()).then(|| {
            format!(
                "{given} has no stack of its own: {own} answers, the newest stack of this release or of an earlier one"
            )
        });
        let formats = self.model.formats();
        let dtype = target.dtype.filter(|dtype| !formats.contains(dtype)).map(|dtype| {
            let formats: Vec<String> = formats.iter().map(Dtype::to_string).collect();
            format!("{dtype} stands for the published weights of {}: {}", self.model, formats.join(" and "))
        });
        let parallelism = self.parallelism;
        let experts = (parallelism.expert_parallel && parallelism.ep() == 1)
            .then(|| "expert parallelism over one GPU changes nothing".to_owned());
        let sheet = unmeasured(&self.tables, target);
        [sheet, engine, dtype, experts].into_iter().flatten()
    }

    /// Builds the deployment of the model alone, for single steps.
    ///
    /// # Errors
    /// The tables lack a kernel or know it less well than `strictness` accepts.
    pub fn deploy(&self, strictness: Strictness) -> Result<Deployment, Error> {
        self.build(self.on(&self.tables, &self.model.spec), strictness, None)
    }

    /// Returns what the memory holds beside the model.
    pub(crate) fn capacity(&self, server: &Server) -> Result<Capacity, rooflut::Error> {
        self.on(&self.tables, &self.model.spec).server(server.options()).capacity()
    }

    /// Checks that the ranks can share the draft model, whose experts are sliced.
    pub(crate) fn check_draft(&self, draft: &Model) -> Result<(), Error> {
        self.check_parallelism(draft, Parallelism::tensor(self.parallelism.tp))
    }

    fn check_parallelism(&self, model: &Model, parallelism: Parallelism) -> Result<(), Error> {
        let checked = model.spec.check_parallelism(parallelism);
        checked.map_err(|error| {
            let mut key = "tp";
            let mut possible: Vec<u32> = self.possible_tp(&model.spec, parallelism).collect();
            if model.spec.check_parallelism(parallelism.with_pp(1)).is_ok() {
                key = "pp";
                possible = vec![model.spec.layers.total()];
            } else if possible.is_empty() {
                let divides = |dp: &u32| {
                    let ranks = parallelism.with_dp(*dp);
                    model.spec.check_parallelism(ranks).is_ok()
                };
                key = "dp";
                possible = (1..=MAX_RANKS).filter(divides).collect();
            }
            library::parallelism(model, parallelism.dp, error, key, &possible)
        })
    }

    /// Builds the server of the model, with its draft model if it has one.
    pub(crate) fn serve(
        &self,
        server: &Server,
        speculation: Option<&Speculation>,
        strictness: Strictness,
    ) -> Result<Deployment, Error> {
        let deployment = self.on(&self.tables, &self.model.spec).server(server.options());
        let draft = speculation.and_then(|speculation| speculation.draft.as_ref());
        self.check_longest(server)?;
        self.check_drafts(server, speculation)?;
        let deployment = deployment
            .speculation(speculation.map(|speculation| speculation.drafts))
            .draft_model(draft.map(|draft| draft.spec));
        let is_mtp = draft.is_none() && speculation.is_some_and(|of| of.drafts.is_mtp());
        let deployment = if is_mtp { deployment.mtp() } else { deployment };
        self.build(deployment, strictness, draft)
    }

    /// Checks that `max_model_len` is at most that of the model, which vLLM exceeds only with
    /// `VLLM_ALLOW_LONG_MAX_MODEL_LEN=1`.
    fn check_longest(&self, server: &Server) -> Result<(), Error> {
        let longest = self.model.spec.max_model_len;
        match server.max_model_len.filter(|found| *found > longest) {
            Some(found) => {
                let text = format!(
                    "{}: expected at most {} tokens, beyond which vLLM does not serve {}, found {}; lower it, or use \
                     another model",
                    key("max_model_len"),
                    grouped(longest),
                    self.model,
                    grouped(found)
                );
                Err(Error::new(Kind::Conflict, text).about(["max_model_len"]))
            }
            None => Ok(()),
        }
    }

    /// Checks that the drafts are of this model, and as long as its requests.
    fn check_drafts(&self, server: &Server, speculation: Option<&Speculation>) -> Result<(), Error> {
        let model = &self.model;
        let conflict = |text| Err(Error::new(Kind::Conflict, text));
        let Some(draft) = speculation.and_then(|speculation| speculation.draft.as_ref()) else { return Ok(()) };
        let (expected, found) = (model.spec.vocab, draft.spec.vocab);
        if expected != found {
            let other = match draft.spec.eagle3 {
                Some(_) => "a head of this model",
                None => "a smaller model of the same family",
            };
            return conflict(format!(
                "{}: expected the vocabulary of {model}, {expected} tokens, found {found}; use {other}",
                setting("draft_model", draft)
            ));
        }
        let longest = draft.spec.max_model_len;
        match server.max_model_len.filter(|found| *found > longest && draft.spec.eagle3.is_none()) {
            Some(found) => conflict(format!(
                "{}: expected at most {}, the longest request of the draft model {draft}, found {}; lower it, or use \
                 another draft model",
                key("max_model_len"),
                grouped(longest),
                grouped(found)
            )),
            None => Ok(()),
        }
    }

    /// The limits of the server, KV blocks included, of which `given` may say how many there are.
    pub(crate) fn config(
        &self,
        deployment: &Deployment,
        given: Option<u32>,
        draft: Option<&Model>,
    ) -> Result<SimConfig, Error> {
        deployment.server_config().map_err(|error| match *error.kind() {
            ErrorKind::DoesNotFit { needed_bytes, usable_bytes } => {
                self.does_not_fit(deployment, draft, needed_bytes, usable_bytes)
            }
            ErrorKind::ContextTooLong { longest, found } => {
                let fitting = match given {
                    Some(_) => Some(more_blocks(deployment, found)),
                    None => self.larger_tp(deployment, found),
                };
                let fitting = fitting.map(|fitting| format!(", or use {}", fitting.written()));
                let text = format!(
                    "{}: expected at most {} tokens, which the KV cache holds, found {}; lower it{}",
                    key("max_model_len"),
                    grouped(longest),
                    grouped(found),
                    fitting.unwrap_or_default()
                );
                Error::new(Kind::DoesNotFit, text).about(["max_model_len"])
            }
            _ => library::deployment(error),
        })
    }

    /// Weights and overheads need more memory than there is.
    fn does_not_fit(&self, deployment: &Deployment, draft: Option<&Model>, needed: f64, usable: f64) -> Error {
        let model = match draft {
            Some(draft) => format!("{} with {draft}", self.model),
            None => self.model.to_string(),
        };
        let gpu = self.tables.gpu().name.as_str();
        let limits = deployment.memory_limits();
        let fitting = self.fitting(deployment);
        let keys: Vec<&str> = fitting.iter().flat_map(Fitting::keys).chain(["tp", "model"]).collect();
        let subject = match keys.first() {
            Some(&MAX_TOKENS) => {
                let tokens = setting(MAX_TOKENS, limits.max_num_batched_tokens);
                format!("{tokens}: the activations of such a step do not fit {gpu} beside {model}")
            }
            _ => format!("{model} does not fit {gpu}"),
        };
        let uses: Vec<String> = fitting
            .iter()
            .map(|fitting| {
                let leave = if fitting.settings.len() > 1 { "leave" } else { "leaves" };
                format!("{}, which {leave} {} KV blocks", fitting.written(), grouped(fitting.kv_blocks))
            })
            .collect();
        let advice = if uses.is_empty() {
            format!("no {} or {} would do: use a smaller model or a larger GPU", key("tp"), key("pp"))
        } else {
            format!("use {}", uses.join(", or "))
        };
        let text = format!(
            "{subject} with {}: each GPU needs {} GiB for weights, activations and one KV block and has {} GiB at {}, \
             {} GiB too little; {advice}",
            setting("tp", self.parallelism.tp),
            gib(needed),
            gib(usable),
            setting("gpu_memory_utilization", limits.gpu_memory_utilization),
            gib(needed - usable)
        );
        let shortage = Shortage {
            gpu: gpu.to_owned(),
            utilization: limits.gpu_memory_utilization,
            needed_bytes: needed,
            usable_bytes: usable,
        };
        Error::new(Kind::DoesNotFit, text).about(keys).short_of(shortage)
    }

    /// Settings with which the models of `deployment` fit, each by itself; pipeline stages only where no other does.
    fn fitting(&self, deployment: &Deployment) -> Vec<Fitting> {
        let limits = deployment.memory_limits();
        let default = MemoryLimits::default().max_num_batched_tokens;
        let again = || deployment.to_builder();
        let budget = (limits.max_num_batched_tokens > default)
            .then(|| (MAX_TOKENS, default.to_string(), again().max_num_batched_tokens(default)));
        let fp8 = (!self.model.spec.is_quantized())
            .then(|| ("dtype", Dtype::Fp8.to_string(), again().weight_dtype(Dtype::Fp8)));
        let share = (limits.gpu_memory_utilization < HIGH_UTILIZATION).then(|| {
            let share = HIGH_UTILIZATION;
            ("gpu_memory_utilization", share.to_string(), again().gpu_memory_utilization(share))
        });
        let with = |(key, value, deployment): (_, _, DeploymentBuilder)| {
            let kv_blocks = deployment.build().ok()?.memory_plan().ok()?.kv_blocks;
            Some(Fitting { settings: vec![(key, value)], kv_blocks })
        };
        let fitting = [budget.and_then(with), self.larger_tp(deployment, 1), fp8.and_then(with), share.and_then(with)];
        let fitting: Vec<Fitting> = fitting.into_iter().flatten().collect();
        if fitting.is_empty() { self.stages(deployment).into_iter().collect() } else { fitting }
    }

    /// The fewest pipeline stages, of as many GPUs as can share a layer, over which the models of `deployment` fit.
    fn stages(&self, deployment: &Deployment) -> Option<Fitting> {
        let given = self.parallelism;
        let tp = self.possible_tp(&self.model.spec, given).max()?.max(given.tp);
        (given.pp + 1..=Parallelism::MAX_PP).find_map(|pp| {
            let mut stages = given.with_pp(pp);
            stages.tp = tp;
            let stages = deployment.to_builder().parallelism(stages).build().ok()?;
            let kv_blocks = stages.memory_plan().ok()?.kv_blocks;
            let larger = (tp > given.tp).then(|| ("tp", tp.to_string()));
            Some(Fitting { settings: larger.into_iter().chain([("pp", pp.to_string())]).collect(), kv_blocks })
        })
    }

    /// The smallest tensor parallelism above this one at which the models of `deployment` fit with this many KV
    /// entries.
    fn larger_tp(&self, deployment: &Deployment, kv_tokens: u32) -> Option<Fitting> {
        let mut larger = self.possible_tp(&self.model.spec, self.parallelism).filter(|&tp| tp > self.parallelism.tp);
        larger.find_map(|tp| {
            let larger = deployment.to_builder().tp(tp).build().ok()?;
            let plan = larger.memory_plan().ok().filter(|plan| plan.kv_blocks >= larger.kv_blocks_for(kv_tokens))?;
            Some(Fitting { settings: vec![("tp", tp.to_string())], kv_blocks: plan.kv_blocks })
        })
    }

    fn on(&self, tables: &TableSet, spec: &ModelSpec) -> DeploymentBuilder {
        let deployment = Deployment::builder(*spec, tables).parallelism(self.parallelism).network(self.network);
        deployment.kv_dtype(self.kv_dtype).engine(self.engine)
    }

    fn build(
        &self,
        deployment: DeploymentBuilder,
        strictness: Strictness,
        draft: Option<&Model>,
    ) -> Result<Deployment, Error> {
        let refused = |model: &Model, error| {
            let (key, others) = self.others(&model.spec, strictness);
            library::refused(model, &error, key, &others)
        };
        let (model, draft) = (&self.model, draft.unwrap_or(&self.model));
        let built = deployment.strictness(strictness).build();
        built.map_err(|error| match error.kind() {
            ErrorKind::Invalid(invalid) if invalid.setting() == "mtp_layers" => {
                let (mtp, ngram) = (setting("draft_model", "mtp"), setting("draft_model", "ngram"));
                let text = format!(
                    "{mtp}: expected a model with a layer for multi-token prediction that rooflut models, found none in \
                     {model}; use a draft model, or {ngram}"
                );
                Error::new(Kind::Conflict, text)
            }
            ErrorKind::Invalid(invalid) if !invalid.is_of_model() => library::refused_setting(*invalid),
            _ if error.is_of_draft() => refused(draft, error),
            _ => refused(model, error),
        })
    }

    /// The values of a key with which a model of these dimensions has a step model: built-in sets, or other bases of a
    /// GPU that was not measured.
    fn others(&self, spec: &ModelSpec, strictness: Strictness) -> (&'static str, Vec<&'static str>) {
        let works = |tables: &TableSet| self.on(tables, spec).strictness(strictness).build().is_ok();
        if self.tables.class() == Class::Measured {
            let working = sets::ALL.into_iter().filter(|set| works(set));
            return ("gpu", working.map(TableSet::name).collect());
        }
        let working = bases(self.tables.gpu()).filter(|(_, tables)| works(tables));
        ("base", working.map(|(name, _)| name).collect())
    }

    /// The tensor parallelisms that divide a model, with experts divided as in `parallelism`, and that the set can
    /// reduce over, ascending.
    fn possible_tp(&self, spec: &ModelSpec, parallelism: Parallelism) -> impl Iterator<Item = u32> {
        let spec = *spec;
        let ranks = self.tables.all_reduce().into_iter().flat_map(|table| table.entries());
        let max = ranks.map(|entry| entry.shape.ranks).max();
        let over = move |tp| {
            let mut other = parallelism;
            other.tp = tp;
            other
        };
        let divides = move |tp: &u32| spec.check_parallelism(over(*tp)).is_ok();
        (1..=max.unwrap_or(MAX_RANKS)).filter(divides)
    }
}

/// The KV blocks that hold a request of this many tokens.
fn more_blocks(deployment: &Deployment, tokens: u32) -> Fitting {
    let kv_blocks = deployment.kv_blocks_for(tokens);
    Fitting { settings: vec![("kv_blocks", kv_blocks.to_string())], kv_blocks }
}
