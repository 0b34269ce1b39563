//! Serialization of deployments.
//!
//! A deployment is serialized as its settings: the model's dimensions, the name of a built-in table set, the name of
//! a built-in engine stack, limits. Deserializing builds the deployment and so checks it.

use alloc::string::{String, ToString};

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Deployment, DeploymentBuilder};
#[cfg(feature = "sim")]
use crate::engine::Scheduling;
use crate::engine::{self, EngineStack};
use crate::hardware::Dtype;
use crate::model::ModelSpec;
#[cfg(feature = "sim")]
use crate::sim::{PrefixCaching, SchedulingPolicy, SimConfig, Speculation};
use crate::step::{Network, Parallelism};
use crate::table::{Strictness, TableSet, sets};

/// The fields of a [`DeploymentBuilder`], each with the builder's default.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Deployment")]
struct Description {
    model: ModelSpec,
    tables: String,
    parallelism: Option<Parallelism>,
    network: Option<Network>,
    engine: Option<String>,
    strictness: Option<Strictness>,
    memory: Option<MemoryDescription>,
    draft: Option<ModelSpec>,
    #[serde(default)]
    mtp: bool,
    max_model_len: Option<u32>,
    #[serde(default)]
    cuda_graph_max_tokens: Option<u32>,
    #[cfg(feature = "sim")]
    server: Option<ServerDescription>,
}

/// [`MemoryLimits`], of which some follow from engine and GPU where they are not given.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "MemoryLimits")]
struct MemoryDescription {
    gpu_memory_utilization: Option<f64>,
    max_num_batched_tokens: Option<u32>,
    block_size: Option<u32>,
    kv_dtype: Option<Dtype>,
}

#[cfg(feature = "sim")]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Server")]
struct ServerDescription {
    max_num_seqs: Option<u32>,
    long_prefill_token_threshold: Option<u32>,
    kv_blocks: Option<u32>,
    scheduling: Option<Scheduling>,
    #[serde(default)]
    scheduler_reserve_full_isl: Option<bool>,
    prefix_caching: PrefixCaching,
    watermark: f64,
    policy: SchedulingPolicy,
    max_waiting: Option<u32>,
    speculation: Option<Speculation>,
}

impl Serialize for DeploymentBuilder {
    /// # Errors
    /// The tables are not built in, or rules or constants differ from the built-in engine stack of that name. Neither
    /// is part of the serialized form.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.tables.name();
        if !sets::ALL.into_iter().any(|set| set.name() == name) {
            return Err(S::Error::custom(format_args!(
                "tables: expected a built-in set, found {name:?}; a deployment on tables of your own is written \
                 without them: keep their path beside it"
            )));
        }
        let name = self.engine.name;
        if !engine::find(name).is_some_and(|known| same_engine(known, &self.engine)) {
            return Err(S::Error::custom(format_args!(
                "engine: expected the built-in stack {name:?} as it is, found other rules or constants; keep them beside it"
            )));
        }
        Description {
            model: self.spec,
            tables: self.tables.name().to_string(),
            parallelism: Some(self.parallelism),
            network: Some(self.network),
            engine: Some(name.to_string()),
            strictness: Some(self.strictness),
            memory: Some(MemoryDescription {
                gpu_memory_utilization: self.gpu_memory_utilization,
                max_num_batched_tokens: self.max_num_batched_tokens,
                block_size: Some(self.memory.block_size),
                kv_dtype: Some(self.memory.kv_dtype),
            }),
            draft: self.draft,
            mtp: self.mtp,
            max_model_len: self.max_model_len,
            cuda_graph_max_tokens: self.cuda_graph_max_tokens,
            #[cfg(feature = "sim")]
            server: Some(self.server()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeploymentBuilder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DeploymentBuilder, D::Error> {
        let given = Description::deserialize(deserializer)?;
        let set = sets::ALL.into_iter().find(|set| set.name() == given.tables);
        let set = set.ok_or_else(|| {
            let names = sets::ALL.map(TableSet::name).join(", ");
            D::Error::custom(format_args!(
                "tables: expected one of {names}, found {:?}; turn its feature on or use another",
                given.tables
            ))
        })?;
        let mut builder = Deployment::builder(given.model, set)
            .max_model_len(given.max_model_len)
            .cuda_graph_max_tokens(given.cuda_graph_max_tokens)
            .draft_model(given.draft);
        if given.mtp && given.draft.is_some() {
            return Err(D::Error::custom("mtp: expected no draft model beside it, found one; leave one of them out"));
        }
        if given.mtp {
            builder = builder.mtp();
        }
        if let Some(parallelism) = given.parallelism {
            builder = builder.parallelism(parallelism);
        }
        if let Some(network) = given.network {
            builder = builder.network(network);
        }
        if let Some(name) = given.engine {
            let engine = engine::find(&name).ok_or_else(|| {
                let names = engine::stacks::ALL.map(|stack| stack.name).join(", ");
                D::Error::custom(format_args!("engine: expected one of {names}, found {name:?}"))
            })?;
            builder = builder.engine(engine);
        }
        if let Some(strictness) = given.strictness {
            builder = builder.strictness(strictness);
        }
        if let Some(memory) = given.memory {
            let default = builder.memory;
            builder = builder
                .gpu_memory_utilization(memory.gpu_memory_utilization)
                .max_num_batched_tokens(memory.max_num_batched_tokens)
                .block_size(memory.block_size.unwrap_or(default.block_size))
                .kv_dtype(memory.kv_dtype.unwrap_or(default.kv_dtype));
        }
        #[cfg(feature = "sim")]
        if let Some(server) = given.server {
            builder = builder.with_server(server);
        }
        Ok(builder)
    }
}

#[cfg(feature = "sim")]
impl DeploymentBuilder {
    fn server(&self) -> ServerDescription {
        let SimConfig {
            long_prefill_token_threshold, prefix_caching, watermark, policy, max_waiting, speculation, ..
        } = self.config;
        ServerDescription {
            max_num_seqs: self.max_num_seqs,
            long_prefill_token_threshold,
            kv_blocks: self.kv_blocks,
            scheduling: self.scheduling,
            scheduler_reserve_full_isl: self.scheduler_reserve_full_isl,
            prefix_caching,
            watermark,
            policy,
            max_waiting,
            speculation,
        }
    }

    fn with_server(self, server: ServerDescription) -> DeploymentBuilder {
        self.max_num_seqs(server.max_num_seqs)
            .long_prefill_token_threshold(server.long_prefill_token_threshold)
            .kv_blocks(server.kv_blocks)
            .scheduling(server.scheduling)
            .scheduler_reserve_full_isl(server.scheduler_reserve_full_isl)
            .prefix_caching(server.prefix_caching)
            .watermark(server.watermark)
            .policy(server.policy)
            .max_waiting(server.max_waiting)
            .speculation(server.speculation)
    }
}

impl Serialize for Deployment {
    /// # Errors
    /// The errors of serializing a [`DeploymentBuilder`].
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.given.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Deployment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Deployment, D::Error> {
        let given = DeploymentBuilder::deserialize(deserializer)?;
        given.build().map_err(D::Error::custom)
    }
}

fn same_engine(one: &EngineStack, other: &EngineStack) -> bool {
    let api = |stack: &EngineStack| [stack.api_server, stack.api_token, stack.api_output];
    let of = |stack: &EngineStack| (stack.rules, stack.constants, stack.memory, api(stack));
    of(one) == of(other)
}
