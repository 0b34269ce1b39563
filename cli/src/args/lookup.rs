//! Arguments of `rooflut lookup`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rooflut::hardware::{
    AttentionShape, DeltaKernel, DeltaShape, Dtype, Indexer, MlaShape, MoeShape,
};
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
        #[command(flatten)]
        prompts: Prompts,
    },
    /// Attention of one new token per request over its KV cache.
    #[command(override_usage = "\
rooflut lookup decode [OPTIONS] --q-heads <Q_HEADS>
           --kv-heads <KV_HEADS> --kv-len <KV_LEN>")]
    Decode {
        #[command(flatten)]
        shape: AttentionArgs,
        #[command(flatten)]
        requests: Requests,
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
        #[command(flatten)]
        shape: MoeArgs,
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
        #[command(flatten)]
        prompts: Prompts,
    },
    /// Layer of latent attention (MLA) of one new token per request, with its projections.
    #[command(override_usage = "\
rooflut lookup mla-decode [OPTIONS] --q-heads <Q_HEADS>
           --kv-len <KV_LEN>")]
    MlaDecode {
        #[command(flatten)]
        shape: MlaArgs,
        #[command(flatten)]
        requests: Requests,
    },
    /// Layer of sparse latent attention (DSA) over whole prompts, with its projections and its indexer.
    #[command(override_usage = "\
rooflut lookup dsa-prefill [OPTIONS] --q-heads <Q_HEADS>
           --seq-len <SEQ_LEN>")]
    DsaPrefill {
        #[command(flatten)]
        shape: DsaArgs,
        #[command(flatten)]
        prompts: Prompts,
    },
    /// Layer of sparse latent attention (DSA) of one new token per request, with its projections and its indexer.
    #[command(override_usage = "\
rooflut lookup dsa-decode [OPTIONS] --q-heads <Q_HEADS>
           --kv-len <KV_LEN>")]
    DsaDecode {
        #[command(flatten)]
        shape: DsaArgs,
        #[command(flatten)]
        requests: Requests,
    },
    /// Kernel of a gated delta net, of one rank: a new token per request, or whole prompts.
    #[command(override_usage = "\
rooflut lookup delta [OPTIONS] --kernel <KERNEL>
           --k-heads <K_HEADS> --v-heads <V_HEADS> --batch <BATCH>")]
    Delta {
        #[command(flatten)]
        shape: DeltaArgs,
        /// Requests.
        #[arg(long, value_parser = value::positive::<u32>)]
        batch: u32,
        /// Tokens of each prompt; without it, each request has one new token.
        #[arg(long, value_parser = value::positive::<u32>)]
        seq_len: Option<u32>,
    },
}

/// Whole prompts of one length.
#[derive(Args, Clone, Copy)]
pub(crate) struct Prompts {
    /// Prompts.
    #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
    pub(crate) batch: u32,
    /// Tokens of each prompt.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) seq_len: u32,
}

/// Requests of one length.
#[derive(Args, Clone, Copy)]
pub(crate) struct Requests {
    /// Requests.
    #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
    pub(crate) batch: u32,
    /// KV length of each request, its new token included.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) kv_len: u32,
}

/// A collective and its message.
#[derive(Args, Clone, Copy)]
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

/// The shape of a layer of experts.
#[derive(Args)]
pub(crate) struct MoeArgs {
    /// Experts.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) experts: u32,
    /// Experts that each token visits.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) top_k: u32,
    /// Hidden size.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) hidden: u32,
    /// Intermediate size of one expert, before tp divides it.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) intermediate: u32,
    /// Tensor parallelism.
    #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
    pub(crate) tp: u32,
    /// Expert parallelism: ranks that share the experts.
    #[arg(long, default_value_t = 1, value_parser = value::positive::<u32>)]
    pub(crate) ep: u32,
    /// Matrices of an expert: 3, or 2 without a gate.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=3))]
    pub(crate) matrices: u32,
}

/// The shape of a kernel of a gated delta net.
#[derive(Args)]
pub(crate) struct DeltaArgs {
    /// The convolution (conv) or the gated delta rule (rule).
    #[arg(long)]
    pub(crate) kernel: DeltaKernel,
    /// Heads of queries and of keys.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) k_heads: u32,
    /// Heads of values.
    #[arg(long, value_parser = value::positive::<u32>)]
    pub(crate) v_heads: u32,
    /// Dimension of a head.
    #[arg(long, default_value_t = 128, value_parser = value::positive::<u32>)]
    pub(crate) head_dim: u32,
}

impl Prompts {
    /// Returns the names and values of the axes.
    pub(crate) fn point(self) -> [(&'static str, u64); 2] {
        [
            ("batch", self.batch.into()),
            ("seq_len", self.seq_len.into()),
        ]
    }
}

impl Requests {
    /// Returns the names and values of the axes.
    pub(crate) fn point(self) -> [(&'static str, u64); 2] {
        [("batch", self.batch.into()), ("kv_len", self.kv_len.into())]
    }

    /// Returns the sum of the KV lengths.
    pub(crate) fn kv_tokens(self) -> u64 {
        u64::from(self.batch) * u64::from(self.kv_len)
    }
}

impl MlaArgs {
    /// The shape of one rank; attention is in `attn_dtype` if no other format is asked for.
    pub(crate) fn of(&self, attn_dtype: Dtype) -> MlaShape {
        MlaShape {
            dtype: self.dtype,
            attn_dtype: self.attn_dtype.unwrap_or(attn_dtype),
            kv_dtype: self.kv_dtype,
            q_heads: self.q_heads / self.tp,
            hidden: self.hidden,
            q_rank: self.q_rank,
            kv_rank: self.kv_rank,
            nope_dim: self.nope_dim,
            rope_dim: self.rope_dim,
            v_dim: self.v_dim,
            indexer: None,
        }
    }
}

impl From<&DsaArgs> for MlaShape {
    fn from(args: &DsaArgs) -> MlaShape {
        MlaShape {
            indexer: Some(Indexer {
                heads: args.index_heads,
                head_dim: args.index_dim,
                top_k: args.index_top_k,
            }),
            ..args.layer.of(Dtype::Bf16)
        }
    }
}

impl From<&AttentionArgs> for AttentionShape {
    fn from(args: &AttentionArgs) -> AttentionShape {
        AttentionShape {
            dtype: args.dtype,
            kv_dtype: args.kv_dtype,
            q_heads: args.q_heads,
            kv_heads: args.kv_heads,
            head_dim: args.head_dim,
            tp: args.tp,
        }
    }
}

impl MoeArgs {
    pub(crate) fn of(&self, dtype: Dtype) -> MoeShape {
        MoeShape {
            dtype,
            experts: self.experts,
            top_k: self.top_k,
            hidden: self.hidden,
            intermediate: self.intermediate,
            tp: self.tp,
            ep: self.ep,
            matrices: self.matrices,
        }
    }
}

impl From<&DeltaArgs> for DeltaShape {
    fn from(args: &DeltaArgs) -> DeltaShape {
        DeltaShape {
            kernel: args.kernel,
            k_heads: args.k_heads,
            v_heads: args.v_heads,
            head_dim: args.head_dim,
        }
    }
}
