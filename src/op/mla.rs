//! Whole layers of multi-head latent attention (MLA), with an indexer (DSA) or without one.

use super::blend::Neighbour;
use super::estimate::Estimate;
use super::found::found_answers;
use super::prefill::ChunkSums;
use crate::error::ResolveError;
use crate::hardware::{Dtype, MlaLoad, MlaShape, OperationKind, Reference, Work};
use crate::math::{exp_short, larger, ln};
use crate::table::{Class, Entry, ErrorGroup, Grid, Held, KernelTable, Reading, Table, TableSet};

/// Resolved layer of latent attention over prompts.
///
/// ```
/// use rooflut::hardware::{Dtype, MlaShape};
/// use rooflut::op::MlaPrefill;
/// use rooflut::table::{Class, sets};
///
/// // DeepSeek-V3 on eight GPUs.
/// let shape = MlaShape {
///     dtype: Dtype::Bf16, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16,
///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None,
/// };
/// let layer = MlaPrefill::resolve(&sets::H100, shape)?;
/// assert_eq!(layer.at(1, 1024).provenance, Class::Measured.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MlaPrefill {
    found: Found,
}

/// Resolved layer of latent attention of decoding requests.
///
/// ```
/// use rooflut::hardware::{Dtype, MlaShape};
/// use rooflut::op::MlaDecode;
/// use rooflut::table::{Class, sets};
///
/// // These rows use one format for KV entries and attention.
/// let shape = MlaShape {
///     dtype: Dtype::Bf16, attn_dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads: 16,
///     hidden: 7168, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, v_dim: 128, indexer: None,
/// };
/// let layer = MlaDecode::resolve(&sets::H100, shape)?;
/// // 64 requests with 1,500 tokens each.
/// assert_eq!(layer.at(64, 64 * 1500).provenance, Class::Interpolated.inside());
/// // 24 heads are between 16 and 32.
/// let more = MlaDecode::resolve(&sets::H100, MlaShape { q_heads: 24, ..shape })?;
/// assert!(more.class() == Class::Interpolated && more.at(64, 96_000).time > layer.at(64, 96_000).time);
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MlaDecode {
    found: Found,
}

found_answers!(MlaPrefill, MlaDecode);

impl TableSet {
    /// Returns layers of latent attention by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn mla_prefill(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::MlaPrefill).map(Table::typed)
    }

    /// Returns layers of latent attention by shape over (requests, KV length), or `None` if the set has none.
    pub fn mla_decode(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::MlaDecode).map(Table::typed)
    }

    /// Returns layers of sparse latent attention by shape over (prompts, prompt length), or `None` if the set has none.
    pub fn dsa_prefill(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::DsaPrefill).map(Table::typed)
    }

    /// Returns layers of sparse latent attention by shape over (requests, KV length), or `None` if the set has none.
    pub fn dsa_decode(&self) -> Option<KernelTable<'_, MlaShape, Grid<'_>>> {
        self.table(OperationKind::DsaDecode).map(Table::typed)
    }
}

impl MlaPrefill {
    /// Looks up the shape in `set`, or else takes the efficiency of the same layer with fewer and with more heads
    /// (`Interpolated`). Beyond the measured heads, the rows with the nearest number of heads answer. For a hidden size
    /// or query rank without measurements, the rows of another model with the same heads of queries, keys and values
    /// answer (`Transferred`). Rows of fp8 in blocks answer for 16-bit projections without rows of their own.
    ///
    /// A shape with an indexer has tables of its own.
    ///
    /// # Errors
    /// The set has no such table or none with these formats and dimensions of heads, or the GPU has no peak for the
    /// dtype.
    pub fn resolve(set: &TableSet, shape: MlaShape) -> Result<MlaPrefill, ResolveError> {
        let operation = match shape.indexer {
            None => OperationKind::MlaPrefill,
            Some(_) => OperationKind::DsaPrefill,
        };
        let found = Found::resolve(set, operation, shape)?;
        Ok(MlaPrefill { found })
    }

    /// Returns the time of `batch` whole prompts of `seq_len` tokens; zeros are treated as 1. Beyond the measured grid
    /// the efficiency is held.
    pub fn at(&self, batch: u32, seq_len: u32) -> Estimate {
        let (batch, seq_len) = (batch.max(1), seq_len.max(1));
        let mut chunks = self.chunks();
        chunks.add_times(batch, seq_len, 0);
        self.answer(&self.found.read(batch.into(), seq_len.into()), &chunks)
    }

    /// Returns empty sums, for counting what the layer depends on.
    pub fn chunks(&self) -> ChunkSums {
        ChunkSums::selecting(self.found.shape.indexer)
    }

    /// Returns the time of chunks that run together, given sums of this layer's [`chunks`](Self::chunks).
    ///
    /// Their FLOPs and bytes take the efficiency of whole prompts with the same pairs of queries and keys. The FLOPs
    /// and bytes include the context that each chunk expands or scores again. Neither context nor mixtures were
    /// measured, so both are `Transferred`.
    pub fn at_chunks(&self, chunks: &ChunkSums) -> Estimate {
        if chunks.is_empty() {
            return self.at(1, 1);
        }
        let mut reading = self.found.read(chunks.row(), chunks.length());
        if !chunks.is_uniform() {
            reading.latency_us = None;
            reading.provenance = reading.provenance.at_best(Class::Transferred);
        }
        self.answer(&reading, chunks)
    }

    fn answer(&self, reading: &Reading, chunks: &ChunkSums) -> Estimate {
        self.found.answer(reading, &self.load(chunks))
    }

    /// Returns the work of one rank for chunks that run together.
    pub(crate) fn work(&self, chunks: &ChunkSums) -> Work {
        self.load(chunks).work
    }

    fn load(&self, chunks: &ChunkSums) -> MlaLoad {
        let shape = &self.found.shape;
        let selected = chunks.selected_squares(shape.indexer);
        shape.prefill_load(&chunks.prompts(), selected)
    }

    /// Returns the reference of the layer.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the matched measured shapes with their shares.
    pub fn matched(&self) -> impl Iterator<Item = Neighbour<MlaShape>> + '_ {
        self.found.matched()
    }
}

impl MlaDecode {
    /// Looks up the shape in `set`, as [`MlaPrefill::resolve`].
    ///
    /// # Errors
    /// As [`MlaPrefill::resolve`].
    pub fn resolve(set: &TableSet, shape: MlaShape) -> Result<MlaDecode, ResolveError> {
        let operation = match shape.indexer {
            None => OperationKind::MlaDecode,
            Some(_) => OperationKind::DsaDecode,
        };
        let found = Found::resolve(set, operation, shape)?;
        Ok(MlaDecode { found })
    }

    /// Returns the time of one token for each of `requests`, whose KV lengths, new tokens included, add up to
    /// `kv_tokens`. 0 requests are treated as 1, and fewer KV tokens than requests as one each. The cost depends on the
    /// sum of the lengths, so the mean length represents all requests. Beyond the measured grid the efficiency is held.
    ///
    /// Assumes: with an indexer, requests shorter than its `top_k` keys, next to longer requests, attend to as many
    /// keys as requests of the mean length.
    pub fn at(&self, requests: u32, kv_tokens: u64) -> Estimate {
        self.of_sums(f64::from(requests.max(1)), kv_tokens as f64)
    }

    /// Returns the time of [`at`](Self::at) for sums, at least one request.
    #[inline]
    pub(crate) fn of_sums(&self, requests: f64, kv_tokens: f64) -> Estimate {
        let kv_tokens = larger(kv_tokens, requests);
        let load = self.found.shape.decode_load(requests, kv_tokens);
        let reading = self.found.read(requests, kv_tokens / requests);
        self.found.answer(&reading, &load)
    }

    /// Returns the work of one rank.
    #[inline]
    pub(crate) fn work(&self, requests: f64, kv_tokens: f64) -> Work {
        self.found.shape.decode_load(requests, kv_tokens).work
    }

    /// Returns the reference of the layer.
    pub(crate) fn reference(&self) -> &Reference {
        &self.found.reference
    }

    /// Returns the matched measured shapes with their shares.
    pub fn matched(&self) -> impl Iterator<Item = Neighbour<MlaShape>> + '_ {
        self.found.matched()
    }
}

/// Returns whether a measured layer is of the same model and format, whatever its heads.
fn is_same(shape: &MlaShape, measured: &MlaShape) -> bool {
    let of = |shape: &MlaShape| (shape.dtype, shape.hidden, shape.q_rank);
    of(measured) == of(shape)
}

/// Returns the measured layers with as many heads or fewer, and with more, of the same dimensions of heads. Those of the
/// same model and format come first.
fn around<'t>(table: MlaTable<'t>, shape: &MlaShape) -> [Option<MlaEntry<'t>>; 2] {
    let like = |dtype| {
        table.entries().filter(move |entry| {
            let other = MlaShape {
                dtype,
                q_heads: entry.shape.q_heads,
                hidden: entry.shape.hidden,
                q_rank: entry.shape.q_rank,
                ..*shape
            };
            entry.shape == other
        })
    };
    let dtype = match shape.dtype {
        Dtype::Bf16 if like(Dtype::Bf16).next().is_none() => Dtype::Fp8Block,
        own => own,
    };
    let rank = |entry: &MlaEntry<'_>| (entry.shape.q_heads, is_same(shape, &entry.shape));
    let fewer = like(dtype).filter(|entry| entry.shape.q_heads <= shape.q_heads).max_by_key(rank);
    let more = like(dtype).filter(|entry| entry.shape.q_heads > shape.q_heads).min_by_key(|entry| {
        let (q_heads, is_same) = rank(entry);
        (q_heads, !is_same)
    });
    let is_exact = fewer.is_some_and(|entry| entry.shape.q_heads == shape.q_heads);
    [fewer, more.filter(|_| !is_exact)]
}

type MlaEntry<'t> = Entry<MlaShape, Grid<'t>>;
type MlaTable<'t> = KernelTable<'t, MlaShape, Grid<'t>>;

/// Measured shapes that answer for a shape.
#[derive(Debug, Clone)]
struct Found {
    shape: MlaShape,
    reference: Reference,
    errors: ErrorGroup,
    /// The shape itself, or those with fewer and with more heads.
    rows: [Option<(Neighbour<MlaShape>, Held)>; 2],
    class: Class,
}

impl Found {
    fn resolve(set: &TableSet, operation: OperationKind, shape: MlaShape) -> Result<Found, ResolveError> {
        let table = set.required(operation)?.typed::<MlaShape, Grid<'_>>();
        let [fewer, more] = around(table, &shape);
        let share = match (&fewer, &more) {
            (Some(fewer), Some(more)) => {
                let [low, at, high] = [fewer.shape, shape, more.shape].map(|shape| ln(f64::from(shape.q_heads)));
                (at - low) / (high - low)
            }
            (Some(_), None) => 0.0,
            (None, Some(_)) => 1.0,
            (None, None) => {
                return Err(ResolveError::NoLatentAttention {
                    set: set.clone(),
                    operation: operation.name(),
                    dtype: shape.dtype,
                    kv_dtype: shape.kv_dtype,
                    kv_rank: shape.kv_rank,
                    head_dims: [shape.nope_dim, shape.rope_dim, shape.v_dim],
                    indexer: shape.indexer,
                });
            }
        };
        let mut found = [fewer, more].into_iter().flatten();
        let class = if fewer.is_some_and(|entry| entry.shape == shape) {
            Class::Measured
        } else if fewer.is_some() && more.is_some() && found.all(|entry| is_same(&shape, &entry.shape)) {
            Class::Interpolated
        } else {
            Class::Transferred
        };
        let [measured, other] = table.error_groups(shape.dtype);
        let hold = |entry: MlaEntry<'_>, share| {
            let shape = entry.shape;
            (Neighbour { shape, share }, table.hold(&entry))
        };
        Ok(Found {
            shape,
            reference: set.reference(&table, shape.dtype)?,
            errors: match class {
                Class::Measured => measured,
                _ => other,
            },
            rows: [fewer.map(|entry| hold(entry, 1.0 - share)), more.map(|entry| hold(entry, share))],
            class,
        })
    }

    /// Returns the efficiency at a point of the grids.
    #[inline]
    fn read(&self, batch: f64, length: f64) -> Reading {
        let mut mean = Reading { latency_us: None, ln_slowdown: 0.0, provenance: self.class.inside() };
        for (Neighbour { share, .. }, held) in self.rows.iter().flatten() {
            let grid = held.grid();
            let row = grid.batch().locate_from_1(batch);
            let reading = grid.read(row, grid.length().locate_from_1(length));
            mean.ln_slowdown += share * reading.ln_slowdown;
            mean.provenance = mean.provenance.worst(reading.provenance);
            mean.latency_us = reading.latency_us.filter(|_| self.class == Class::Measured);
        }
        mean
    }

    /// Returns the time of `load` with this efficiency.
    #[inline]
    fn answer(&self, reading: &Reading, load: &MlaLoad) -> Estimate {
        let reference_s = load.reference_s(&self.reference);
        let at_peak = load.work.flops * self.reference.rates.s_per_flop;
        Estimate::new(reading, reference_s * exp_short(reading.ln_slowdown), at_peak)
    }

    fn matched(&self) -> impl Iterator<Item = Neighbour<MlaShape>> + '_ {
        self.rows.iter().flatten().map(|(neighbour, _)| *neighbour)
    }
}
