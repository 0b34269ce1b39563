//! Ids of KV blocks, from the identity of a request's tokens.
//!
//! The id of a block stands for all tokens from the start of the request to the end of the block, as vLLM's chain
//! of block hashes does: two requests have the same id at block `i` exactly if they agree in every token up to
//! there. Ids have 64 bits; the probability of a collision among 10^7 blocks is 3e-6.

use crate::sim::{Content, Request};

/// The ids that [`Content::TraceBlocks`] points into.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TraceIds<'a> {
    /// All ids of the trace, request after request.
    pub(crate) ids: &'a [u64],
    /// Tokens per id (512 in Mooncake's traces).
    pub(crate) tokens: u32,
}

/// The ids of the KV blocks of one request, computed on demand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockIds<'a> {
    head: Head<'a>,
    /// Number of blocks that lie entirely in the head.
    head_blocks: u32,
    /// Seed of the ids of later blocks.
    tail: u64,
}

/// The beginning of a request, which others may share.
#[derive(Debug, Clone, Copy)]
enum Head<'a> {
    /// A text, by the seed of the ids of its blocks.
    Text(u64),
    /// The request's ids in a trace.
    Trace { trace: TraceIds<'a>, block_size: u32 },
}

impl<'a> BlockIds<'a> {
    /// Returns the ids of request `index`. Cost: O(1).
    ///
    /// The prefix of [`Content::Texts`] and the ids of [`Content::TraceBlocks`] apply to the prompt only: the
    /// output is never shared.
    ///
    /// Assumes: prefix 7 and own text 7 are different texts.
    pub(crate) fn new(request: &Request, index: usize, block_size: u32, trace: TraceIds<'a>) -> BlockIds<'a> {
        let block_size = block_size.max(1);
        let prompt = request.prompt_tokens;
        let unique = BlockIds::unique(index);
        match request.content {
            Content::Unique => unique,
            Content::Texts { prefix, prefix_tokens, own } => {
                BlockIds::of_texts(prefix, prefix_tokens.min(prompt), own, block_size)
            }
            Content::TraceBlocks { first, count } => {
                let rest = trace.ids.get(first as usize..).unwrap_or_default();
                let ids = rest.get(..count as usize).unwrap_or(rest);
                let trace = TraceIds { ids, ..trace };
                BlockIds {
                    head_blocks: trace.covered(prompt) / block_size,
                    head: Head::Trace { trace, block_size },
                    ..unique
                }
            }
        }
    }

    /// Returns the ids of request `index`, given its own ids of a trace and the tokens per id.
    pub(crate) fn of(
        mut request: Request,
        index: usize,
        block_size: u32,
        (ids, tokens): (&'a [u64], u32),
    ) -> BlockIds<'a> {
        if let Content::TraceBlocks { first, .. } = &mut request.content {
            *first = 0;
        }
        BlockIds::new(&request, index, block_size, TraceIds { ids, tokens })
    }

    /// Returns the id of block number `block`, counted from 0. Cost: O(1), no allocation.
    pub(crate) fn id(&self, block: u32) -> u64 {
        let seed = if block < self.head_blocks { self.head.seed(block) } else { self.tail };
        mix(seed, u64::from(block))
    }
}

impl BlockIds<'_> {
    fn unique(index: usize) -> Self {
        let tail = mix(UNIQUE, index as u64);
        BlockIds { head: Head::Text(tail), head_blocks: 0, tail }
    }

    fn of_texts(prefix: u64, prefix_tokens: u32, own: u64, block_size: u32) -> Self {
        // All empty prefixes are the same.
        let prefix = if prefix_tokens == 0 { 0 } else { prefix };
        let cut = mix(mix(OWN, prefix), u64::from(prefix_tokens));
        BlockIds { head: Head::Text(mix(PREFIX, prefix)), head_blocks: prefix_tokens / block_size, tail: mix(cut, own) }
    }
}

impl TraceIds<'_> {
    /// Returns how many of `prompt` tokens the ids cover.
    fn covered(&self, prompt: u32) -> u32 {
        let covered = (self.ids.len() as u64).saturating_mul(u64::from(self.tokens));
        u32::try_from(covered).map_or(prompt, |tokens| tokens.min(prompt))
    }
}

impl Head<'_> {
    /// Returns the seed of the id of `block`, one of the head's.
    fn seed(&self, block: u32) -> u64 {
        match *self {
            Head::Text(seed) => seed,
            Head::Trace { trace, block_size } => {
                // An id of a trace stands for all tokens before it: the id at the block's last token counts.
                let last_token = (u64::from(block) + 1) * u64::from(block_size) - 1;
                let entry = last_token.checked_div(u64::from(trace.tokens)).unwrap_or(0);
                let id = trace.ids.get(entry as usize).copied().unwrap_or(0);
                mix(TRACE, id)
            }
        }
    }
}

// One seed per kind of content: hexadecimal digits of the fraction of pi.
const UNIQUE: u64 = 0x243f_6a88_85a3_08d3;
const PREFIX: u64 = 0x1319_8a2e_0370_7344;
const OWN: u64 = 0xa409_3822_299f_31d0;
const TRACE: u64 = 0x082e_fa98_ec4e_6c89;

/// Mixes `word` into `state`: the step and the finalizer of SplitMix64 (Steele, Lea and Flood 2014,
/// with variant 13 of Stafford's constants).
///
/// For a given `state` this is one-to-one in `word`: blocks of one text never collide.
pub(crate) fn mix(state: u64, word: u64) -> u64 {
    let step = word.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bits = state.wrapping_add(step);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests;
