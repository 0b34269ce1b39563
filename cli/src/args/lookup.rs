//! Arguments of `rooflut lookup`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rooflut::hardware::{DeltaKernel, Dtype};
use rooflut::interval::Coverage;
use rooflut::table::Strictness;

use crate::error::Error;
use crate::table_set::WhichSet;
use crate::value;

/// Arguments of `rooflut lookup`.
#[derive(Args)]
pub(crate) struct LookupArgs {
    #[command(subcommand)]
    pub(crate) kernel: Kernel,
    /// Table set (`rooflut tables` lists them) [default: h100].
    #[arg(long, global = true)]
    gpu: Option<String>,
    /// Measurements of your own in place of --gpu: a folder like those of bench_data/, or one file made of it.
    #[arg(long, global = true, value_name = "PATH")]
    tables: Option<PathBuf>,
    /// Refuse a worse answer: measured, interpolated, smoothed, transferred, bound; with "inside" alone
    /// or after a comma also one outside of the measured ranges.
    #[arg(long, global = true, value_name = "CLASS", default_value_t = Strictness::ANY,
          hide_default_value = true)]
    pub(crate) strict: Strictness,
    /// Share of measurements that the interval is meant to contain.
    #[arg(long, global = true, value_name = "SHARE", default_value_t)]
    pub(crate) interval: Coverage,
    /// Write JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl LookupArgs {
    /// The table set that is asked for.
    pub(crate) fn set(&self) -> Result<WhichSet<'_>, Error> {
        let chosen = WhichSet::chosen(self.gpu.as_deref(), self.tables.as_deref())?;
        Ok(chosen.unwrap_or(WhichSet::Named("h100")))
    }
}

/// A kernel and what to ask it.
#[derive(Subcommand)]
pub(crate) enum Kernel {
    /// Matrix multiplication of m rows with k x n weights.
    Gemm {
        /// Width of the input.
        #[arg(long, value_parser = value::positive::<u32>)]
        k: u32,
        /// Width of the output.
        #[arg(long, value_parser = value::positive::<u32>)]
        n: u32,
        /// Rows (tokens).
        #[arg(long, value_parser = value::positive::<u32>)]
        m: u32,
        /// Format of the math.
        #[arg(long, default_value = "bf16", value_parser = rooflut_scenario::dtype)]
        dtype: Dtype,
    },
    /// Causal attention over whole prompts of one length.
    #[command(override_usage = "\
rooflut lookup prefill [OPTIONS] --q-heads <Q_HEADS>
           --kv-heads <KV_HEADS> --seq-len <SEQ_LEN>")]
    Prefill {
        #[command(flatten)]
        shape: AttentionArgs,
        /// Prompts.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        batch: u32,
        /// Tokens of each prompt.
        #[arg(long, value_parser = value::positive::<u32>)]
        seq_len: u32,
    },
    /// Attention of one new token per request over its KV cache.
    #[command(override_usage = "\
rooflut lookup decode [OPTIONS] --q-heads <Q_HEADS>
           --kv-heads <KV_HEADS> --kv-len <KV_LEN>")]
    Decode {
        #[command(flatten)]
        shape: AttentionArgs,
        /// Requests.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        batch: u32,
        /// KV length of each request, its new token included.
        #[arg(long, value_parser = value::positive::<u32>)]
        kv_len: u32,
    },
    /// All-reduce of one message over the GPUs of a node; its size is what each GPU holds.
    Allreduce(CollectiveArgs),
    /// All-gather over the GPUs of a node; the message is the gathered one.
    Allgather(CollectiveArgs),
    /// Reduce-scatter over the GPUs of a node; the message is the one before it is scattered.
    Reducescatter(CollectiveArgs),
    /// Fused mixture-of-experts layer, without its router.
    #[command(override_usage = "\
rooflut lookup moe [OPTIONS] --experts <EXPERTS> --top-k <TOP_K>
           --hidden <HIDDEN> --intermediate <INTERMEDIATE> --tokens <TOKENS>")]
    Moe {
        /// Experts.
        #[arg(long, value_parser = value::positive::<u32>)]
        experts: u32,
        /// Experts that each token visits.
        #[arg(long, value_parser = value::positive::<u32>)]
        top_k: u32,
        /// Hidden size.
        #[arg(long, value_parser = value::positive::<u32>)]
        hidden: u32,
        /// Intermediate size of one expert, before tp divides it.
        #[arg(long, value_parser = value::positive::<u32>)]
        intermediate: u32,
        /// Tensor parallelism.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        tp: u32,
        /// Expert parallelism: ranks that share the experts.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        ep: u32,
        /// Matrices of an expert: 3, or 2 without a gate.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=3))]
        matrices: u32,
        /// Tokens, of all ranks that share the experts.
        #[arg(long, value_parser = value::positive::<u32>)]
        tokens: u32,
        /// Format of the math.
        #[arg(long, default_value = "bf16", value_parser = rooflut_scenario::dtype)]
        dtype: Dtype,
    },
    /// Layer of latent attention (MLA) over whole prompts, with its projections.
    #[command(override_usage = "\
rooflut lookup mla-prefill [OPTIONS] --q-heads <Q_HEADS>
           --seq-len <SEQ_LEN>")]
    MlaPrefill {
        #[command(flatten)]
        shape: MlaArgs,
        /// Prompts.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        batch: u32,
        /// Tokens of each prompt.
        #[arg(long, value_parser = value::positive::<u32>)]
        seq_len: u32,
    },
    /// Layer of latent attention (MLA) of one new token per request, with its projections.
    #[command(override_usage = "\
rooflut lookup mla-decode [OPTIONS] --q-heads <Q_HEADS>
           --kv-len <KV_LEN>")]
    MlaDecode {
        #[command(flatten)]
        shape: MlaArgs,
        /// Requests.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        batch: u32,
        /// KV length of each request, its new token included.
        #[arg(long, value_parser = value::positive::<u32>)]
        kv_len: u32,
    },
    /// Layer of sparse latent attention (DSA) over whole prompts, with its projections and its indexer.
    #[command(override_usage = "\
rooflut lookup dsa-prefill [OPTIONS] --q-heads <Q_HEADS>
           --seq-len <SEQ_LEN>")]
    DsaPrefill {
        #[command(flatten)]
        shape: DsaArgs,
        /// Prompts.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        batch: u32,
        /// Tokens of each prompt.
        #[arg(long, value_parser = value::positive::<u32>)]
        seq_len: u32,
    },
    /// Layer of sparse latent attention (DSA) of one new token per request, with its projections and its indexer.
    #[command(override_usage = "\
rooflut lookup dsa-decode [OPTIONS] --q-heads <Q_HEADS>
           --kv-len <KV_LEN>")]
    DsaDecode {
        #[command(flatten)]
        shape: DsaArgs,
        /// Requests.
        #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
        batch: u32,
        /// KV length of each request, its new token included.
        #[arg(long, value_parser = value::positive::<u32>)]
        kv_len: u32,
    },
    /// Kernel of a gated delta net, of one rank: a new token per request, or whole prompts.
    #[command(override_usage = "\
rooflut lookup delta [OPTIONS] --kernel <KERNEL>
           --k-heads <K_HEADS> --v-heads <V_HEADS> --batch <BATCH>")]
    Delta {
        /// The convolution (conv) or the gated delta rule (rule).
        #[arg(long)]
        kernel: DeltaKernel,
        /// Heads of queries and of keys.
        #[arg(long, value_parser = value::positive::<u32>)]
        k_heads: u32,
        /// Heads of values.
        #[arg(long, value_parser = value::positive::<u32>)]
        v_heads: u32,
        /// Dimension of a head.
        #[arg(long, default_value_t = 128, value_parser = value::positive::<u32>)]
        head_dim: u32,
        /// Requests.
        #[arg(long, value_parser = value::positive::<u32>)]
        batch: u32,
        /// Tokens of each prompt; without it, each request has one new token.
        #[arg(long, value_parser = value::positive::<u32>)]
        seq_len: Option<u32>,
    },
}

/// A collective and its message.
#[derive(Args)]
pub(crate) struct CollectiveArgs {
    /// GPUs.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) ranks: u32,
    /// Size of the whole message.
    #[arg(long, value_parser = value::positive::<u64>)]
    pub(crate) bytes: u64,
}

/// The shape of a layer of latent attention; the default dimensions are those of DeepSeek-V3.
#[derive(Args)]
pub(crate) struct MlaArgs {
    /// Query heads, over all ranks.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) q_heads: u32,
    /// Tensor parallelism.
    #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
    pub(crate) tp: u32,
    /// Hidden size.
    #[arg(long, default_value_t = 7168, value_parser = value::positive::<u32>)]
    pub(crate) hidden: u32,
    /// Rank of the compressed query; 0 where it is not compressed.
    #[arg(long, default_value_t = 1536)]
    pub(crate) q_rank: u32,
    /// Rank of the latent vector.
    #[arg(long, default_value_t = 512, value_parser = value::positive::<u32>)]
    pub(crate) kv_rank: u32,
    /// Dimension of a head of queries and keys without rotary embedding.
    #[arg(long, default_value_t = 128, value_parser = value::positive::<u32>)]
    pub(crate) nope_dim: u32,
    /// Dimension of a head of queries and keys with rotary embedding.
    #[arg(long, default_value_t = 64, value_parser = value::positive::<u32>)]
    pub(crate) rope_dim: u32,
    /// Dimension of a head of values.
    #[arg(long, default_value_t = 128, value_parser = value::positive::<u32>)]
    pub(crate) v_dim: u32,
    /// Format of the projections.
    #[arg(long, default_value = "bf16", value_parser = rooflut_scenario::dtype)]
    pub(crate) dtype: Dtype,
    /// Format of the KV cache.
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = rooflut_scenario::kv_dtype)]
    pub(crate) kv_dtype: Dtype,
    /// Format in which queries, keys and values are multiplied [default: bf16 in prefill, that of the KV cache in
    /// decode; bf16 in both where an indexer selects keys].
    #[arg(long, value_name = "DTYPE", value_parser = rooflut_scenario::kv_dtype)]
    pub(crate) attn_dtype: Option<Dtype>,
}

/// The shape of a layer of sparse latent attention; the default dimensions are those of DeepSeek-V3.2.
#[derive(Args)]
pub(crate) struct DsaArgs {
    #[command(flatten)]
    pub(crate) layer: MlaArgs,
    /// Heads of the indexer.
    #[arg(long, default_value_t = 64, value_parser = value::positive::<u32>)]
    pub(crate) index_heads: u32,
    /// Dimension of a head of the indexer.
    #[arg(long, default_value_t = 128, value_parser = value::positive::<u32>)]
    pub(crate) index_dim: u32,
    /// Maximum number of keys that the indexer selects for a query.
    #[arg(long, default_value_t = 2048, value_parser = value::positive::<u32>)]
    pub(crate) index_top_k: u32,
}

/// The shape of an attention kernel.
#[derive(Args)]
pub(crate) struct AttentionArgs {
    /// Query heads, over all ranks.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) q_heads: u32,
    /// KV heads, over all ranks.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) kv_heads: u32,
    /// Dimension of a head.
    #[arg(long, default_value_t = 128, value_parser = value::positive::<u32>)]
    pub(crate) head_dim: u32,
    /// Tensor parallelism.
    #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
    pub(crate) tp: u32,
    /// Format of the math.
    #[arg(long, default_value = "bf16", value_parser = rooflut_scenario::dtype)]
    pub(crate) dtype: Dtype,
    /// Format of the KV cache.
    #[arg(long, value_name = "DTYPE", default_value = "bf16", value_parser = rooflut_scenario::kv_dtype)]
    pub(crate) kv_dtype: Dtype,
}
