//! Resolves the names of a row.

use std::fmt;

use rooflut::deployment::{Deployment, DeploymentBuilder};
use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;
use rooflut::model::{self, CATALOG, MemoryLimits, ModelSpec};
use rooflut::sim::Rejection;
use rooflut::table::TableSet;

use super::{format, gpu};
use crate::reason::Reason;
use crate::rows::{Limits, Server};

/// Maximum number of running requests of servers whose rows do not name it.
const MAX_NUM_SEQS: u32 = 128;

/// The model, tables and formats that a row names.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedServer {
    /// Name of the model in the catalogue.
    pub(crate) model: &'static str,
    /// Dimensions of the model, with weights in the row's format.
    pub(crate) spec: ModelSpec,
    /// Tables of the GPU.
    pub(crate) set: TableSet,
    /// Tensor parallelism.
    pub(crate) tp: u32,
    /// Pipeline stages.
    pub(crate) pp: u32,
    /// Data-parallel ranks.
    pub(crate) dp: u32,
    /// Whether the GPUs hold whole experts.
    pub(crate) expert_parallel: bool,
    /// Format of the KV entries.
    pub(crate) kv_dtype: Dtype,
    /// Notes on names that were not taken literally.
    pub(crate) notes: Vec<String>,
}

impl ResolvedServer {
    /// Resolves the names of `server`.
    ///
    /// # Errors
    /// An unknown model, GPU or format.
    pub(crate) fn find(server: &Server) -> Result<ResolvedServer, Reason> {
        let entry = model::find(&server.model).ok_or_else(|| {
            let known = format!("{} are known, `rooflut models` lists them", CATALOG.len());
            Reason::unknown("model", &server.model, &known)
        })?;
        let set = match &server.tables {
            Some(set) => set,
            None => gpu::find(&server.gpu)?,
        };
        let mut deployment = ResolvedServer {
            model: entry.name,
            spec: entry.spec,
            set: set.clone(),
            tp: server.tp,
            pp: server.pp,
            dp: server.dp,
            expert_parallel: server.expert_parallel,
            kv_dtype: format::kv_entries(&server.kv_dtype)?,
            notes: Vec::new(),
        };
        if !set.name().eq_ignore_ascii_case(&server.gpu) {
            let note = format!("GPU {}: predicted as {}", server.gpu, set.name());
            deployment.notes.push(note);
        }
        deployment.quantize(&server.dtype)?;
        if let Some(sampler) = format::sampler(&server.sampler)? {
            deployment.spec.sampler = sampler;
        }
        Ok(deployment)
    }

    /// Applies the row's format of weights.
    fn quantize(&mut self, text: &str) -> Result<(), Reason> {
        match format::weights(text)? {
            None => {}
            Some(Dtype::Bf16) if !self.spec.is_quantized() => {}
            Some(Dtype::Bf16) => self.notes.push(format!(
                "dtype {text} of {}: predicted with its own weights, some of them not 16-bit",
                self.model
            )),
            Some(dtype) => self.spec = self.spec.with_weight_dtype(dtype),
        }
        Ok(())
    }

    /// Builds the deployment with the constants of `engine`, for single steps.
    ///
    /// # Errors
    /// The GPUs cannot share the model, or the tables lack a kernel.
    pub(crate) fn deploy(&self, engine: &EngineStack) -> Result<Deployment, Reason> {
        Ok(self.builder(engine).build()?)
    }

    /// Builds the deployment with the limits of the row and the constants of `engine`.
    ///
    /// # Errors
    /// The errors of [`deploy`](Self::deploy), and limits under which no step could run.
    pub(crate) fn serve(&self, limits: &Limits, engine: &EngineStack) -> Result<Deployment, Reason> {
        Ok(self.server(limits, engine).build()?)
    }

    /// Returns the server with the limits of the row and the constants of `engine`.
    pub(crate) fn server(&self, limits: &Limits, engine: &EngineStack) -> DeploymentBuilder {
        let mut deployment = self
            .builder(engine)
            .max_model_len(limits.max_model_len)
            .kv_blocks(limits.kv_blocks)
            .prefix_caching(limits.prefix_caching);
        if let Some(requests) = limits.max_num_seqs {
            deployment = deployment.max_num_seqs(requests);
        }
        if let Some(tokens) = limits.max_num_batched_tokens {
            deployment = deployment.max_num_batched_tokens(tokens);
        }
        if let Some(share) = limits.gpu_memory_utilization {
            deployment = deployment.gpu_memory_utilization(share);
        }
        deployment
    }

    /// Returns a builder with the limits of servers whose rows name none.
    fn builder(&self, engine: &EngineStack) -> DeploymentBuilder {
        // The files name the limits that matter, and most servers were started with those of vLLM's `SchedulerConfig`.
        let of_file = MemoryLimits::default();
        let deployment = Deployment::builder(self.spec, &self.set)
            .max_num_seqs(MAX_NUM_SEQS)
            .max_num_batched_tokens(of_file.max_num_batched_tokens)
            .gpu_memory_utilization(of_file.gpu_memory_utilization)
            .cuda_graph_max_tokens(engine.constants.cuda_graph_max_tokens)
            .engine(engine)
            .tp(self.tp)
            .pp(self.pp)
            .dp(self.dp)
            .expert_parallel(self.expert_parallel);
        deployment.kv_dtype(self.kv_dtype)
    }

    /// Rejects a prompt that is longer than `max_model_len`.
    pub(super) fn check_length(&self, prompt_tokens: u32, limits: &Limits) -> Result<(), Reason> {
        let max_model_len = self.max_model_len(limits);
        if prompt_tokens > max_model_len {
            Err(Reason::from(Rejection::TooLong { tokens: prompt_tokens.into(), max_model_len }))
        } else {
            Ok(())
        }
    }

    /// Rejects a mean KV length that is not positive or longer than `max_model_len`.
    pub(super) fn check_context(&self, mean_tokens: f64, limits: &Limits) -> Result<(), Reason> {
        let max_model_len = self.max_model_len(limits);
        if mean_tokens <= 0.0 {
            Err(Reason::context_not_positive())
        } else if mean_tokens > f64::from(max_model_len) {
            Err(Reason::of_server(format!("the mean context is longer than max_model_len ({max_model_len})")))
        } else {
            Ok(())
        }
    }

    fn max_model_len(&self, limits: &Limits) -> u32 {
        limits.max_model_len.unwrap_or(self.spec.max_model_len)
    }
}

impl fmt::Display for ResolvedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}, tp {}", self.model, self.set.name(), self.tp)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use rooflut::sim::PrefixCaching;

    const UNLIMITED: Limits = Limits {
        max_model_len: None,
        max_num_seqs: None,
        max_num_batched_tokens: None,
        gpu_memory_utilization: None,
        kv_blocks: None,
        prefix_caching: PrefixCaching::Enabled,
    };

    /// Formats of the attention and of the FFN or the experts.
    fn formats(spec: &ModelSpec) -> [Dtype; 2] {
        let first = spec.layers.first();
        [first.attention_dtype, first.ffn_dtype]
    }

    fn server(gpu: &str, model: &str, dtype: &str) -> Server {
        Server {
            gpu: gpu.into(),
            model: model.into(),
            dtype: dtype.into(),
            kv_dtype: String::new(),
            sampler: String::new(),
            tp: 1,
            pp: 1,
            dp: 1,
            expert_parallel: false,
            engine: String::new(),
            tables: None,
        }
    }

    #[test]
    fn other_spellings_of_a_gpu_are_noted() {
        let notes = |gpu| {
            let found = ResolvedServer::find(&server(gpu, "llama-3.1-8b", ""));
            found.unwrap().notes
        };
        assert_eq!(notes("H100"), [""; 0]);
        assert_eq!(notes("H100-SXM5"), ["GPU H100-SXM5: predicted as h100"]);
    }

    #[test]
    fn weight_formats_apply_to_16_bit_weights() {
        let of = |model, dtype| {
            let found = ResolvedServer::find(&server("h100", model, dtype));
            found.map(|d| (formats(&d.spec), d.notes.len()))
        };
        let bf16 = [Dtype::Bf16; 2];
        for dtype in ["", "auto", "bf16", "BFloat16", "fp16", "float16", "half"] {
            assert_eq!(of("llama-3.1-8b", dtype).unwrap(), (bf16, 0), "{dtype}");
        }
        for model in ["llama-3.1-8b", "mixtral-8x7b"] {
            for (text, dtype) in
                [("FP8", Dtype::Fp8), ("fp8_e4m3", Dtype::Fp8), ("fp8_block", Dtype::Fp8Block), ("nvfp4", Dtype::Nvfp4)]
            {
                assert_eq!(of(model, text).unwrap(), ([dtype; 2], 0));
            }
        }
        // Its attention weights stay 16-bit.
        let scout = [Dtype::Bf16, Dtype::Fp8];
        assert_eq!(of("llama-4-scout", "fp8").unwrap(), (scout, 0));
        assert_eq!(of("llama-4-scout", "").unwrap(), (scout, 0));
        assert_eq!(of("llama-4-scout", "bf16").unwrap(), (scout, 1));
        let reason = of("llama-3.1-8b", "int8").unwrap_err().to_string();
        assert!(reason.starts_with("unknown dtype \"int8\""), "{reason}");
    }

    #[test]
    fn missing_limits_default_to_those_of_the_files_and_the_model() {
        let llama = ResolvedServer::find(&server("h100", "llama-2-7b", "")).unwrap();
        let engine = &rooflut::engine::stacks::VLLM_0_11_0;
        let served = |limits: &Limits| llama.serve(limits, engine).unwrap();
        let config = |limits: &Limits| served(limits).server_config().unwrap();
        let planned = |limits: &Limits| served(limits).memory_plan().unwrap().kv_blocks;
        let default = config(&UNLIMITED);
        assert_eq!(default.max_model_len, 4096);
        assert_eq!((default.max_num_seqs, default.max_num_batched_tokens), (128, 2048));
        assert_eq!(default.kv_blocks, planned(&UNLIMITED));
        assert_eq!(default.rules.scheduling, engine.rules.scheduling);
        let limits = Limits { kv_blocks: Some(77), max_num_batched_tokens: Some(4096), ..UNLIMITED };
        let given = config(&limits);
        assert_eq!((given.kv_blocks, given.max_num_batched_tokens), (77, 4096));
        assert!(planned(&limits) < 7463);
    }
}
