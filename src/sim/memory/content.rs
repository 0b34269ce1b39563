//! From what the tokens of a request are to the ids of its KV blocks.
//!
//! The id of a block stands for all tokens from the start of the request up to the end of the block,
//! as vLLM's chain of block hashes does: two requests have the same id at block `i` exactly if they
//! agree in every token up to there. Ids are 64 bits; among 10^7 blocks some two collide with a
//! probability of 3e-6.

use crate::sim::{Content, Request};

/// The ids that [`Content::TraceBlocks`] points into.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TraceIds<'a> {
    /// All ids of the trace, request after request.
    pub(crate) ids: &'a [u64],
    /// Tokens that one id adds to those before it (512 in Mooncake's traces).
    pub(crate) tokens: u32,
}

/// The ids of the KV blocks of one request.
///
/// Small enough to be built again wherever it is needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockIds<'a> {
    head: Head<'a>,
    /// Blocks that lie wholly in the head.
    head_blocks: u32,
    /// What the ids of later blocks are made from.
    tail: u64,
}

/// What a request begins with.
#[derive(Debug, Clone, Copy)]
enum Head<'a> {
    /// A text, by what the ids of its blocks are made from.
    Text(u64),
    /// The ids of its part of a trace.
    Listed {
        trace: TraceIds<'a>,
        block_size: u32,
    },
}

impl<'a> BlockIds<'a> {
    /// The ids of the request at `place` in the list of requests. Cost: O(1).
    ///
    /// The prefix of [`Content::Texts`] and the ids of [`Content::TraceBlocks`] count as far as the prompt
    /// goes: the output is always a request's own.
    ///
    /// Assumes: prefixes and own texts are numbered apart, so that prefix 7 and own text 7 are two.
    pub(crate) fn new(
        request: &Request,
        index: usize,
        block_size: u32,
        trace: TraceIds<'a>,
    ) -> BlockIds<'a> {
        let block_size = block_size.max(1);
        let prompt = request.prompt_tokens;
        let unique = BlockIds::unique(index);
        match request.content {
            Content::Unique => unique,
            Content::Texts {
                prefix,
                prefix_tokens,
                own,
            } => BlockIds::of_texts(prefix, prefix_tokens.min(prompt), own, block_size),
            Content::TraceBlocks { first, count } => {
                let listed = trace.ids.get(first as usize..).unwrap_or_default();
                let ids = listed.get(..count as usize).unwrap_or(listed);
                let trace = TraceIds { ids, ..trace };
                BlockIds {
                    head_blocks: trace.covered(prompt) / block_size,
                    head: Head::Listed { trace, block_size },
                    ..unique
                }
            }
        }
    }

    /// The id of its block number `block`, counted from 0. Cost: O(1), no allocation.
    pub(crate) fn id(&self, block: u32) -> u64 {
        let start = if block < self.head_blocks {
            self.head.start(block)
        } else {
            self.tail
        };
        mix(start, u64::from(block))
    }
}

impl BlockIds<'_> {
    fn unique(index: usize) -> Self {
        let tail = mix(UNIQUE, index as u64);
        BlockIds {
            head: Head::Text(tail),
            head_blocks: 0,
            tail,
        }
    }

    fn of_texts(prefix: u64, prefix_tokens: u32, own: u64, block_size: u32) -> Self {
        // Of no tokens, all prefixes are the same.
        let prefix = if prefix_tokens == 0 { 0 } else { prefix };
        let cut = mix(mix(OWN, prefix), u64::from(prefix_tokens));
        BlockIds {
            head: Head::Text(mix(PREFIX, prefix)),
            head_blocks: prefix_tokens / block_size,
            tail: mix(cut, own),
        }
    }
}

impl TraceIds<'_> {
    /// How many of `prompt` tokens the ids stand for.
    fn covered(&self, prompt: u32) -> u32 {
        let covered = (self.ids.len() as u64).saturating_mul(u64::from(self.tokens));
        u32::try_from(covered).map_or(prompt, |tokens| tokens.min(prompt))
    }
}

impl Head<'_> {
    /// What the id of `block`, one of the head's, is made from.
    fn start(&self, block: u32) -> u64 {
        match *self {
            Head::Text(start) => start,
            Head::Listed { trace, block_size } => {
                // An id stands for all before it, so that of the last token of the block decides.
                let last_token = (u64::from(block) + 1) * u64::from(block_size) - 1;
                let entry = last_token.checked_div(u64::from(trace.tokens)).unwrap_or(0);
                let id = trace.ids.get(entry as usize).copied().unwrap_or(0);
                mix(LISTED, id)
            }
        }
    }
}

// One start per kind of content: the fraction of pi in hexadecimal digits.
const UNIQUE: u64 = 0x243f_6a88_85a3_08d3;
const PREFIX: u64 = 0x1319_8a2e_0370_7344;
const OWN: u64 = 0xa409_3822_299f_31d0;
const LISTED: u64 = 0x082e_fa98_ec4e_6c89;

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
