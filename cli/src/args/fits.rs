//! Arguments of `rooflut fits`.

use clap::Args;
use rooflut_scenario::{Demand, Server, Target, real, whole};

use crate::args::PriceArgs;
use crate::deferred::described;
use crate::vllm::VllmArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut fits --model llama-3.3-70b
  rooflut fits --model llama-3.1-70b --context 16384 --batch 8";
const AFTER: &str = "\
Without --gpu or --tables, all GPUs are listed. Without --tp, each of 1, 2, 4, 8 and 16 GPUs is listed that can share \
the model. The missing resource is memory of each GPU, context, batch, or math in a format of the weights. Only \
`rooflut run` checks whether the tables have the kernels. Only `rooflut fits` takes weights in other formats of 4 or 8 \
bits, such as GPTQ, AWQ or W8A8.";

/// Arguments of `rooflut fits`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct FitsArgs {
    #[command(flatten)]
    pub(crate) vllm: VllmArgs,
    #[command(flatten)]
    pub(crate) target: Target,
    /// Tokens of each request, prompt and output together [default: the longest request of the model].
    #[arg(long, value_parser = whole::<u32>, value_name = "TOKENS")]
    context: Option<u32>,
    /// Requests that should fit at the same time [default: 1].
    #[arg(long, value_parser = whole::<u32>, value_name = "COUNT")]
    batch: Option<u32>,
    /// Maximum number of requests that run at the same time; determines the size of the logits [default: the engine's
    /// on this GPU, mostly 1024, or 256 on A100 and below 70 GiB].
    #[arg(long, value_parser = whole::<u32>, value_name = "COUNT")]
    max_num_seqs: Option<u32>,
    /// Maximum number of tokens that a step computes; determines the size of the activations [default: the engine's on
    /// this GPU, mostly 8192, or 2048 on A100 and below 70 GiB].
    #[arg(long, value_parser = whole::<u32>, value_name = "TOKENS")]
    max_num_batched_tokens: Option<u32>,
    /// Share of each GPU's memory that the server uses [default: the engine's: 0.9, or 0.92 from vLLM 0.20 on].
    #[arg(long, value_parser = real, value_name = "SHARE")]
    gpu_memory_utilization: Option<f64>,
    /// Tokens per KV block: 16, 32, 64, 128 or 256 [default: 16].
    #[arg(long, value_parser = whole::<u32>, value_name = "TOKENS")]
    block_size: Option<u32>,
    #[command(flatten)]
    pub(crate) prices: PriceArgs,
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl FitsArgs {
    /// Describes these arguments: `--gpu` takes several table sets.
    pub(super) fn described(command: clap::Command) -> clap::Command {
        let help = "Table sets, with commas between them (`rooflut tables` lists them) [default: one for each GPU]";
        described::<FitsArgs>(command).mut_arg("gpu", |arg| arg.help(help))
    }

    /// Returns the limits that determine the memory.
    pub(crate) fn server(&self) -> Server {
        let mut server = Server::default();
        server.max_num_seqs = self.max_num_seqs;
        server.max_num_batched_tokens = self.max_num_batched_tokens;
        server.gpu_memory_utilization = self.gpu_memory_utilization;
        server.block_size = self.block_size;
        server
    }

    /// Returns the requests that should fit. `longest` is their length where none is given.
    pub(crate) fn demand(&self, longest: Option<u32>) -> Demand {
        Demand { requests: self.batch.unwrap_or(1), tokens: self.context.or(longest) }
    }
}
