//! The engine around the kernels: the time that vLLM adds to them, by version.

mod defaults;
mod policy;
mod rules;
mod version;

pub use self::defaults::{GpuClass, ServeDefaults, ServeLimits};
pub use self::policy::{PrefixCaching, SchedulingPolicy};
pub use self::rules::{
    BeyondMaxModelLen, DraftScheduling, FreedBlocks, LonePrefill, PadSpecDecode, Scheduling, SchedulingRules,
    SelfPreemption, VictimIndex, VictimToken,
};
pub use self::version::{closest, oldest};
pub use crate::generated::{DEFAULT, stacks};

use crate::error::Invalid;
use crate::hardware::{Dtype, Gpu};
use crate::interval::{Coverage, in_quadrature};
use crate::model::{MemoryConstants, MemoryLimits, ModelSpec};
use crate::units::Seconds;
use rooflut_roofline::Subject;

/// A serving engine: its scheduling rules and the time it adds to the measured kernels.
///
/// The built-in stacks ([`stacks`]) come from `bench_data/engines/`. One set of constants serves all models and GPUs. A
/// stack may inherit rules and constants from another one, usually of another version.
///
/// ```
/// use rooflut::engine;
/// let stack = engine::find("vllm-0.15.1").unwrap();
/// assert!(stack.api_server.ms() > 1.0);
/// assert_eq!(stack.about[0].unit, "us");
/// let newer = engine::find("vllm-0.33.0").unwrap();
/// assert_eq!(newer.inherits, Some("vllm-0.25.0"));
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EngineStack {
    /// Name and version, such as `vllm-0.15.1`.
    pub name: &'static str,
    /// The exact configuration.
    pub description: &'static str,
    /// Date of the release on PyPI, YYYY-MM-DD; `None` for a stack that is no release.
    pub released: Option<&'static str>,
    /// The stack that provides everything missing from this stack's own file.
    pub inherits: Option<&'static str>,
    /// The version of the rows that the stack takes from table sets with rows of several versions
    /// ([`TableSet::version`](crate::table::TableSet::version)); `None` for each set's own.
    pub table_version: Option<&'static str>,
    /// The scheduling rules of the stack.
    pub rules: SchedulingRules,
    /// The default settings of the stack.
    pub defaults: ServeDefaults,
    /// Time of a step outside the measured kernels.
    pub constants: StepConstants,
    /// Memory other than weights, activations and KV cache.
    pub memory: MemoryConstants,
    /// Time of a request outside the engine's steps: HTTP, tokenizer, detokenizer.
    pub api_server: Seconds,
    /// Time that the API server spends on each token of a prompt. It processes one prompt after another.
    pub api_token: Seconds,
    /// Time that the API server spends on the output of one request in a step. The server processes the outputs of a
    /// step one after another, and the output of a new request last.
    pub api_output: Seconds,
    /// Mean absolute error of the time to first token that the errors of its steps do not explain, as a logarithm.
    /// It widens intervals and changes no time.
    pub first_token_error: f64,
    /// [`first_token_error`](Self::first_token_error) of servers that the constants were not fitted to: on another GPU,
    /// or with weights of another format.
    pub other_first_token_error: f64,
    /// Each constant as given in a file.
    pub about: &'static [Constant],
    /// Each rule as given in a file.
    pub about_rules: &'static [Rule],
}

/// A constant of an engine stack as given in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Constant {
    /// Its name, such as `layer`.
    pub name: &'static str,
    /// Its value in `unit`.
    pub value: f64,
    /// `us`, `ns`, `ms`, `tokens`, `share`, `rows`, `ln(rows)`, `L2` (cache sizes), `times` (a
    /// factor), `exponent`, `bytes`, `MiB` or `GiB`.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The source of its value.
    pub source: &'static str,
    /// The stack whose file has the value: this stack, or one that this stack inherits from.
    pub stack: &'static str,
}

/// A scheduling rule of an engine stack as given in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// Its name, a field of [`SchedulingRules`].
    pub name: &'static str,
    /// Its value as in the file.
    pub value: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The stack whose file has the value: this stack, or one that this stack inherits from.
    pub stack: &'static str,
}

/// Declares the constants of a step: field, default of [`StepConstants::NONE`], range and setter.
macro_rules! step_constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $none:expr, $range:ident, $with:ident;)*) => {
        /// Time of a step outside the measured kernels.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
        pub struct StepConstants {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl StepConstants {
            /// Kernels only: no launches, no host, no padding; memory at its full bandwidth.
            ///
            /// Kernels are looked up as for vLLM 0.15.1: smoothed, and with cold KV caches.
            pub const NONE: StepConstants = StepConstants { $($name: $none,)* };

            crate::setters! {
                $(
                    #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
                    $with($name: $type);
                )*
            }

            /// Rejects constants that would make a step faster than the memory bandwidth allows, or non-finite.
            ///
            /// # Errors
            /// The first constant that is out of range.
            pub fn check(&self) -> Result<(), Invalid> {
                first_out_of_range([$($range(stringify!($name), self.$name)),*])
            }
        }
    };
}

step_constants! {
    /// Launches of the small kernels of a layer and gaps between its kernels.
    layer: Seconds = Seconds::ZERO, time, with_layer;
    /// Share of the memory bandwidth at which the small kernels move the activations, used if that takes longer than
    /// [`layer`](Self::layer).
    small_kernel_bandwidth: f64 = 1.0, share, with_small_kernel_bandwidth;
    /// Share of the peak of matrix math that GEMMs sustain in a step: a GPU lowers its clocks to stay within its power
    /// limit, which benchmarks of short kernels do not reach.
    sustained_math: f64 = 1.0, share, with_sustained_math;
    /// [`sustained_math`](Self::sustained_math) on GPUs with 4-bit tensor cores.
    blackwell_sustained_math: f64 = 1.0, share, with_blackwell_sustained_math;
    /// Share of the memory bandwidth at which GEMMs read their weights in a step at most, on GPUs with 4-bit tensor
    /// cores: those of the others reach the rates of benchmarks.
    sustained_reads: f64 = 1.0, share, with_sustained_reads;
    /// Sampling, per sampled row and vocabulary entry.
    logit: Seconds = Seconds::ZERO, time, with_logit;
    /// Sort of the vocabulary for top-p or top-k, per step.
    sort: Seconds = Seconds::ZERO, time, with_sort;
    /// Sort of the vocabulary for top-p or top-k, per sampled row and vocabulary entry.
    sorted_logit: Seconds = Seconds::ZERO, time, with_sorted_logit;
    /// Repetition penalty, per step. Its passes over the logits are added as memory traffic.
    penalty: Seconds = Seconds::ZERO, time, with_penalty;
    /// Wait of an all-reduce for the slowest rank, which a benchmark that repeats one kernel does not show.
    all_reduce_wait: Seconds = Seconds::ZERO, time, with_all_reduce_wait;
    /// Growth of an all-reduce with its message, from the smallest to that of the largest CUDA graph, as a multiple of
    /// that in a benchmark that repeats one kernel. At least 1.
    all_reduce_growth: f64 = 1.0, factor, with_all_reduce_growth;
    /// Smallest message of an all-reduce that is fused with the norm after it, on GPUs with 4-bit tensor cores; zero
    /// for engines that do not fuse them.
    fused_all_reduce: Seconds = Seconds::ZERO, time, with_fused_all_reduce;
    /// Share of the link bandwidth at which each rank of a fused all-reduce sends its whole message to every other one.
    fused_all_reduce_bandwidth: f64 = 1.0, share, with_fused_all_reduce_bandwidth;
    /// Routing, sorting and launches of a mixture-of-experts layer.
    moe_layer: Seconds = Seconds::ZERO, time, with_moe_layer;
    /// [`moe_layer`](Self::moe_layer) on GPUs with 4-bit tensor cores. It is zero for MXFP4 weights with MXFP8
    /// activations, whose kernel routes, too.
    blackwell_moe_layer: Seconds = Seconds::ZERO, time, with_blackwell_moe_layer;
    /// Share of the measured time that experts of MXFP4 weights with MXFP8 activations take: the engine tunes their
    /// kernels at its start.
    tuned_experts: f64 = 1.0, share, with_tuned_experts;
    /// Share of the memory bandwidth at which the weights of the experts reached on average are read.
    expert_bandwidth: f64 = 1.0, share, with_expert_bandwidth;
    /// [`expert_bandwidth`](Self::expert_bandwidth) of weights in FP8 with a scale per block.
    fp8_block_expert_bandwidth: f64 = 1.0, share, with_fp8_block_expert_bandwidth;
    /// Time of experts in FP8 with a scale per block on GPUs with 4-bit tensor cores in steps of more than
    /// [`cuda_graph_max_tokens`](Self::cuda_graph_max_tokens), as a multiple of the measured one, for engines with an
    /// earlier kernel. At least 1.
    blackwell_fp8_block_experts: f64 = 1.0, factor, with_blackwell_fp8_block_experts;
    /// Share of the experts that no token reaches which take as long as those reached, with weights in FP8 with a scale
    /// per block.
    fp8_block_unreached_experts: f64 = 0.0, part, with_fp8_block_unreached_experts;
    /// Share of the padding of a CUDA graph that is routed to experts as tokens are.
    routed_padding: f64 = 0.0, part, with_routed_padding;
    /// Maximum number of tokens of a step whose shared experts run on a stream of their own, beside the routed ones; 0 for
    /// engines that run them one after the other.
    shared_expert_tokens: u32 = 0, count, with_shared_expert_tokens;
    /// Exponent of the power law by which tokens prefer some experts of a layer: the r-th most popular is chosen in
    /// proportion to r^-`routing`. 0 is uniform routing.
    routing: f64 = 0.0, exponent, with_routing;
    /// Launches of a layer's attention outside of the CUDA graph, in steps with prompt tokens.
    prompt_layer: Seconds = Seconds::ZERO, time, with_prompt_layer;
    /// [`prompt_layer`](Self::prompt_layer) on GPUs with 4-bit tensor cores.
    blackwell_prompt_layer: Seconds = Seconds::ZERO, time, with_blackwell_prompt_layer;
    /// Addition to [`prompt_layer`](Self::prompt_layer) of a mixture-of-experts layer, on GPUs without 4-bit tensor
    /// cores: launches of the kernels around its experts.
    prompt_moe_layer: Seconds = Seconds::ZERO, time, with_prompt_moe_layer;
    /// Addition to [`prompt_layer`](Self::prompt_layer) of a layer that keeps a state in place of keys and values:
    /// launches of the kernels of its gated delta net.
    prompt_state_layer: Seconds = Seconds::ZERO, time, with_prompt_state_layer;
    /// [`prompt_state_layer`](Self::prompt_state_layer) in steps of more tokens than the largest CUDA graph, with the
    /// launches of the kernels that graphs hold otherwise.
    uncaptured_state_layer: Seconds = Seconds::ZERO, time, with_uncaptured_state_layer;
    /// Launches of a layer's attention outside of the CUDA graph, in all steps of models whose attention is not
    /// captured ([`Span::Chunk`](crate::model::Span)).
    uncaptured_layer: Seconds = Seconds::ZERO, time, with_uncaptured_layer;
    /// Time between two steps during which the GPU waits for the host.
    host: Seconds = Seconds::ZERO, time, with_host;
    /// Addition to [`host`](Self::host) per request of the step.
    host_request: Seconds = Seconds::ZERO, time, with_host_request;
    /// Maximum number of tokens of a step that runs as a CUDA graph. Graphs are captured for 1, 2, 4 and the
    /// multiples of 8 tokens; a step is padded to the next larger size.
    ///
    /// It is that of the servers that the constants were fitted to. A deployment takes the one that follows from its
    /// limits ([`ServeDefaults`]) instead, unless this is 0: an engine without graphs.
    cuda_graph_max_tokens: u32 = 0, count, with_cuda_graph_max_tokens;
    /// Maximum number of rows (tokens) of a GEMM with smoothed slowdowns; 0 disables smoothing.
    smoothed_rows: u32 = stacks::VLLM_0_15_1.constants.smoothed_rows, count, with_smoothed_rows;
    /// Width of the Gaussian for smoothing, in ln(rows).
    smoothing_width: f64 = stacks::VLLM_0_15_1.constants.smoothing_width, ln_rows, with_smoothing_width;
    /// KV bytes, as a multiple of the L2 cache, above which a benchmark that repeats one kernel reads them from
    /// memory as a step does.
    cold_kv: f64 = stacks::VLLM_0_15_1.constants.cold_kv, caches, with_cold_kv;
    /// Share of the errors of single lookups that a step has: rows scatter, and a step takes summaries of them. It
    /// widens intervals and changes no time.
    lookup_error_share: f64 = stacks::VLLM_0_15_1.constants.lookup_error_share, number, with_lookup_error_share;
    /// Mean absolute error of a step's time that the errors of its lookups do not explain, as a logarithm. It widens
    /// intervals and changes no time.
    step_error: f64 = stacks::VLLM_0_15_1.constants.step_error, number, with_step_error;
    /// [`step_error`](Self::step_error) of servers that the constants were not fitted to: on another GPU than
    /// [`FITTED_GPU`](Self::FITTED_GPU), or with weights in another format than 16 bits and FP8 per tensor.
    other_step_error: f64 = stacks::VLLM_0_15_1.constants.other_step_error, number, with_other_step_error;
}

impl EngineStack {
    /// Checks the constants of the stack and the time of its API server.
    ///
    /// # Errors
    /// The first constant that is out of range.
    pub fn check(&self) -> Result<(), Invalid> {
        self.constants.check()?;
        let memory = &self.memory;
        first_out_of_range([
            bytes("non_torch_memory", memory.non_torch_memory),
            bytes("communication_memory", memory.communication_memory),
            bytes("logit_memory", memory.logit_memory),
            bytes("logit_buffer", memory.logit_buffer),
            part("kept_expert_workspace", memory.kept_expert_workspace),
            bytes("graph_memory", memory.graph_memory),
            bytes("graph_layer_memory", memory.graph_layer_memory),
            time("api_server", self.api_server),
            time("api_token", self.api_token),
            time("api_output", self.api_output),
            number("first_token_error", self.first_token_error),
            number("other_first_token_error", self.other_first_token_error),
        ])
    }

    /// Returns `limits` with the memory that this engine takes, and its largest CUDA graph.
    ///
    /// ```
    /// use rooflut::engine::stacks;
    /// use rooflut::hardware::gpus;
    /// use rooflut::model::{self, MemoryLimits, MemoryPlan};
    /// let llama = model::find("llama-3.1-8b").unwrap().spec;
    /// let limits = MemoryLimits::default().with_gpu_memory_utilization(0.95);
    /// let limits = limits.with_max_num_batched_tokens(8_192).with_max_num_seqs(1_024);
    /// let limits = stacks::VLLM_0_19_0.memory_limits(limits);
    /// let plan = MemoryPlan::try_new(&llama, &gpus::H100, 1, limits)?;
    /// // vLLM 0.19.0 reported 29,751.
    /// assert!(plan.kv_blocks.abs_diff(29_751) < 10);
    /// # Ok::<(), rooflut::Error>(())
    /// ```
    #[must_use]
    pub const fn memory_limits(&self, mut limits: MemoryLimits) -> MemoryLimits {
        limits.engine = self.memory;
        limits.cuda_graph_max_tokens = self.constants.cuda_graph_max_tokens;
        limits
    }

    /// Returns the half width, as a logarithm, of the errors of the time to first token of a server on `gpu` that the
    /// errors of its steps do not explain: [`first_token_error`](Self::first_token_error) or
    /// [`other_first_token_error`](Self::other_first_token_error), and the difference between two equal servers, 2 % on
    /// average, 4 % with experts.
    pub fn ttft_half_width(&self, model: &ModelSpec, gpu: &Gpu, coverage: Coverage) -> f64 {
        let two_servers = match model.experts() {
            Some(_) => 0.04,
            None => 0.02,
        };
        let own = if is_fitted(model, gpu) { self.first_token_error } else { self.other_first_token_error };
        let errors = [own, two_servers];
        in_quadrature(errors.into_iter().map(|error| coverage.laplace(error)))
    }

    /// Returns the half width, as a logarithm, of the errors of a server's times per token and to the last token that
    /// the errors of its steps do not explain: the difference between two equal servers, 1 % on average.
    pub fn tpot_half_width(&self, coverage: Coverage) -> f64 {
        coverage.laplace(0.01)
    }
}

/// Name and value of a constant, whether it is in range, and the expected range.
type Checked = (&'static str, f64, bool, &'static str);

fn time(name: &'static str, Seconds(found): Seconds) -> Checked {
    let good = found >= 0.0 && found.is_finite();
    (name, found, good, "seconds of at least 0")
}

fn bytes(name: &'static str, found: f64) -> Checked {
    let good = found >= 0.0 && found.is_finite();
    (name, found, good, "bytes of at least 0")
}

fn number(name: &'static str, found: f64) -> Checked {
    let good = found >= 0.0 && found.is_finite();
    (name, found, good, "a number of at least 0")
}

fn share(name: &'static str, found: f64) -> Checked {
    let good = found > 0.0 && found <= 1.0;
    (name, found, good, "a share above 0 and at most 1")
}

/// A share that may be none.
fn part(name: &'static str, found: f64) -> Checked {
    (name, found, (0.0..=1.0).contains(&found), "a share from 0 to 1")
}

fn ln_rows(name: &'static str, found: f64) -> Checked {
    let good = found > 0.0 && found.is_finite();
    (name, found, good, "a width in ln(rows) above 0")
}

fn caches(name: &'static str, found: f64) -> Checked {
    let (name, found, good, _) = number(name, found);
    (name, found, good, "a multiple of the L2 cache of at least 0")
}

fn exponent(name: &'static str, found: f64) -> Checked {
    let (name, found, good, _) = number(name, found);
    (name, found, good, "an exponent of at least 0")
}

fn factor(name: &'static str, found: f64) -> Checked {
    let good = found >= 1.0 && found.is_finite();
    (name, found, good, "a factor of at least 1")
}

fn count(name: &'static str, found: u32) -> Checked {
    (name, found.into(), true, "a whole number")
}

fn first_out_of_range<const N: usize>(constants: [Checked; N]) -> Result<(), Invalid> {
    match constants.into_iter().find(|(_, _, good, _)| !good) {
        None => Ok(()),
        Some((name, found, _, expected)) => {
            let text = "expected {}, found {}; correct it";
            Err(Invalid::new(name, text, &[expected.into(), found.into()]).of(Subject::Engine))
        }
    }
}

impl StepConstants {
    /// The GPU whose servers the constants of the built-in stacks were fitted to, as sets name it.
    pub const FITTED_GPU: &str = "h100";

    /// Returns the constants as they are on `gpu`: those of GPUs with 4-bit tensor cores replace the others there, and
    /// have no effect elsewhere.
    #[must_use]
    pub(crate) fn on(mut self, gpu: &Gpu) -> StepConstants {
        if gpu.peak_flops_per_s(Dtype::Nvfp4).is_some() {
            self.sustained_math = self.blackwell_sustained_math;
            self.moe_layer = self.blackwell_moe_layer;
            self.prompt_layer = self.blackwell_prompt_layer;
            self.prompt_moe_layer = Seconds::ZERO;
        } else {
            self.sustained_reads = 1.0;
            self.blackwell_fp8_block_experts = 1.0;
            self.fused_all_reduce = Seconds::ZERO;
        }
        self
    }

    /// Returns the mean absolute error of a step of `model` on `gpu` that the errors of its lookups do not explain, as
    /// a logarithm.
    pub(crate) fn error_of(&self, model: &ModelSpec, gpu: &Gpu) -> f64 {
        if is_fitted(model, gpu) { self.step_error } else { self.other_step_error }
    }

    /// Returns the number of tokens that the kernels of a step of `tokens` process, padding included.
    ///
    /// ```
    /// use rooflut::engine::stacks::VLLM_0_15_1;
    /// let padded = |tokens| VLLM_0_15_1.constants.padded_tokens(tokens);
    /// assert_eq!([1, 3, 8, 17, 1000].map(padded), [1, 4, 8, 24, 1000]);
    /// ```
    pub fn padded_tokens(&self, tokens: u64) -> u64 {
        let captured = match tokens {
            0..=2 => tokens,
            3..=4 => 4,
            _ => tokens.div_ceil(8).saturating_mul(8),
        };
        if captured > u64::from(self.cuda_graph_max_tokens) { tokens } else { captured }
    }

    /// Returns the number of tokens that are routed to experts in a step of `tokens` tokens, `padded` with padding.
    pub(crate) fn routed_tokens(&self, tokens: u64, padded: u64) -> u64 {
        let padding = padded.saturating_sub(tokens) as f64;
        tokens.saturating_add((self.routed_padding * padding + 0.5) as u64)
    }
}

/// Returns whether the constants were fitted to servers of such models on `gpu`.
fn is_fitted(model: &ModelSpec, gpu: &Gpu) -> bool {
    let formats = model.layers.iter().flat_map(|group| [group.attention_dtype, group.ffn_dtype, group.shared_dtype]);
    gpu.name.as_str() == StepConstants::FITTED_GPU
        && formats.into_iter().all(|format| matches!(format, Dtype::Bf16 | Dtype::Fp8))
}

/// Returns the engine stack with the given name.
pub fn find(name: &str) -> Option<&'static EngineStack> {
    stacks::ALL.into_iter().find(|stack| stack.name == name)
}
