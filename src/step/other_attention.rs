//! Attention with tables of its own.

use super::Chunk;
use super::batch::BatchSums;
use super::compressed::StepCompressed;
use super::delta::StepDelta;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::latent::StepLatent;
use super::launch::Launch;
use super::msa::StepMsa;
use super::window::StepWindow;
use crate::error::Error;
use crate::hardware::Dtype;
use crate::model::Attention;
use crate::table::ErrorGroup;
use crate::units::Seconds;

/// Attention with tables of its own.
#[derive(Debug, Clone)]
pub(super) enum OtherAttention {
    Window(StepWindow),
    /// With its projections.
    Latent(StepLatent),
    /// A gated delta net.
    Delta(StepDelta),
    /// Over compressed keys, with its projections.
    Compressed(StepCompressed),
    /// Over selected blocks of keys, with its projections.
    Msa(StepMsa),
}

impl OtherAttention {
    /// Looks up the attention of layers of this kind, with the format of their projections; `None` for plain attention.
    ///
    /// A model with windows or gated delta nets takes the rows of tables with windows, those for full attention too, if
    /// they have its heads.
    ///
    /// # Errors
    /// The set lacks the operation, the formats or the dimensions, or a kernel is worse than the caller accepts.
    pub(super) fn resolve(
        find: &Finder<'_>,
        (attention, dtype): (Attention, Dtype),
        kv_dtype: Dtype,
    ) -> Result<Option<OtherAttention>, Error> {
        Ok(match attention {
            Attention::Gqa(heads) if find.model.is_hybrid() => {
                let shape = find.attention_shape(heads, kv_dtype);
                StepWindow::resolve(find, shape, heads.span)?.map(OtherAttention::Window)
            }
            Attention::Gqa(_) => None,
            Attention::Mla(mla) => {
                let latent = StepLatent::resolve(find, mla, dtype, kv_dtype)?;
                Some(OtherAttention::Latent(latent))
            }
            Attention::DeltaNet(net) => Some(OtherAttention::Delta(StepDelta::resolve(find, net)?)),
            Attention::Compressed(compressed) => {
                let compressed = StepCompressed::resolve(find, compressed, dtype)?;
                Some(OtherAttention::Compressed(compressed))
            }
            Attention::Msa(msa) => Some(OtherAttention::Msa(StepMsa::resolve(find, msa, dtype, kv_dtype)?)),
        })
    }

    /// Returns the errors of lookups of prompt chunks and of decoding requests.
    pub(super) fn errors(&self) -> [ErrorGroup; 2] {
        match self {
            OtherAttention::Window(window) => window.errors(),
            OtherAttention::Latent(latent) => latent.errors(),
            OtherAttention::Delta(delta) => delta.errors(),
            OtherAttention::Compressed(compressed) => compressed.errors(),
            OtherAttention::Msa(msa) => msa.errors(),
        }
    }

    /// Returns attention of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        match self {
            OtherAttention::Window(window) => window.prefill(chunks),
            OtherAttention::Latent(latent) => latent.prefill(chunks),
            OtherAttention::Delta(delta) => delta.prefill(chunks),
            OtherAttention::Compressed(compressed) => compressed.prefill(chunks),
            OtherAttention::Msa(msa) => msa.prefill(chunks),
        }
    }

    /// Calls `run` with each kernel of prompt chunks, at least one.
    pub(super) fn each_prefill(&self, chunks: &[Chunk], mut run: impl FnMut(KernelTime, Launch)) {
        let launch = match self {
            OtherAttention::Window(window) => window.prefill_launch(chunks),
            OtherAttention::Latent(latent) => latent.prefill_launch(chunks),
            OtherAttention::Delta(delta) => {
                let kernels = delta.prefill_kernels(chunks).into_iter();
                return kernels.zip(delta.prefill_launches(chunks)).for_each(|(once, launch)| run(once, launch));
            }
            OtherAttention::Compressed(compressed) => compressed.prefill_launch(chunks),
            OtherAttention::Msa(msa) => msa.prefill_launch(chunks),
        };
        run(self.prefill(chunks), launch);
    }

    /// Calls `run` with each kernel of decoding requests, at least one.
    pub(super) fn each_decode(&self, sums: &BatchSums, mut run: impl FnMut(KernelTime, Launch)) {
        let launch = match self {
            OtherAttention::Window(window) => window.decode_launch(sums),
            OtherAttention::Latent(latent) => latent.decode_launch(sums),
            OtherAttention::Delta(delta) => {
                let kernels = delta.decode_kernels(sums).into_iter();
                return kernels.zip(delta.decode_launches(sums)).for_each(|(once, launch)| run(once, launch));
            }
            OtherAttention::Compressed(compressed) => compressed.decode_launch(sums),
            OtherAttention::Msa(msa) => msa.decode_launch(sums),
        };
        run(self.decode(sums), launch);
    }

    /// Returns attention of decoding requests, at least one.
    #[inline(never)] // Keeps plain attention short.
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        match self {
            OtherAttention::Window(window) => window.decode(sums),
            OtherAttention::Latent(latent) => latent.decode(sums),
            OtherAttention::Delta(delta) => delta.decode(sums),
            OtherAttention::Compressed(compressed) => compressed.decode(sums),
            OtherAttention::Msa(msa) => msa.decode(sums),
        }
    }

    /// Returns the time of [`decode`](Self::decode), which does not compute the rest if it can.
    #[inline(never)] // As above.
    pub(super) fn decode_time(&self, sums: &BatchSums) -> Seconds {
        match self {
            OtherAttention::Window(window) => window.decode_time(sums),
            OtherAttention::Latent(latent) => latent.decode(sums).time,
            OtherAttention::Delta(delta) => delta.decode(sums).time,
            OtherAttention::Compressed(compressed) => compressed.decode(sums).time,
            OtherAttention::Msa(msa) => msa.decode(sums).time,
        }
    }
}
