//! The KV cache, block by block: whoever needs one looks at all of them.

use std::collections::VecDeque;

use rooflut::engine::FreedBlocks;
use rooflut::sim::{Content, PrefixCaching, Request, SimConfig};

/// The tokens of a block and of all before it: two are equal exactly if all tokens up to their ends are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tokens(Vec<Token>);

/// A token as far as it can be told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// A token of a text that a prompt may begin with.
    Prefix(u64, u32),
    /// A token of the text after it.
    Own(u64, u32),
    /// A token of a trace.
    Listed(u64, u32),
    /// A token that no other request has.
    Unique(usize, u32),
}

/// Tokens that an id of a trace stands for in these tests.
pub(crate) const LISTED_TOKENS: u32 = 24;

/// The tokens of request `place` up to `end`.
pub(crate) fn tokens(request: &Request, index: usize, listed: &[u64], end: u32) -> Tokens {
    let token = |at: u32| match request.content {
        Content::Texts {
            prefix,
            prefix_tokens,
            own,
        } => match prefix_tokens.min(request.prompt_tokens) {
            all if at < all => Token::Prefix(prefix, at),
            _ => Token::Own(own, at),
        },
        Content::TraceBlocks { first, count } => {
            let ids = &listed[first as usize..(first + count) as usize];
            match ids.get((at / LISTED_TOKENS) as usize) {
                // An id stands for its tokens as a whole: those of one that the prompt ends in are
                // known by it, too.
                Some(id) if at < request.prompt_tokens => Token::Listed(*id, at),
                _ => Token::Unique(index, at),
            }
        }
        _ => Token::Unique(index, at),
    };
    Tokens((0..end).map(token).collect())
}

/// One block.
#[derive(Debug, Clone, Default)]
struct Block {
    tokens: Option<(u64, Tokens)>,
    holders: u32,
}

/// All blocks, and in which order free ones are taken.
#[derive(Debug)]
pub(crate) struct KvCache {
    caching: bool,
    freed: FreedBlocks,
    blocks: Vec<Block>,
    free: VecDeque<usize>,
    peak_used: usize,
    clock: u64,
}

impl KvCache {
    pub(crate) fn new(config: &SimConfig) -> KvCache {
        let blocks = config.kv_blocks;
        KvCache {
            caching: config.prefix_caching == PrefixCaching::Enabled,
            freed: config.rules.freed_blocks,
            blocks: vec![Block::default(); blocks as usize],
            free: (0..blocks as usize).collect(),
            peak_used: 0,
            clock: 0,
        }
    }

    /// The oldest block with these tokens.
    fn find(&self, tokens: &Tokens) -> Option<usize> {
        let same = |block: &usize| {
            let held = self.blocks[*block].tokens.as_ref();
            held.is_some_and(|(_, held)| held == tokens)
        };
        let all = (0..self.blocks.len()).filter(same);
        all.min_by_key(|block| self.blocks[*block].tokens.as_ref().map(|(when, _)| *when))
    }

    /// The blocks that hold these, as far as there are.
    pub(crate) fn hits(&self, wanted: impl Iterator<Item = Tokens>) -> Vec<usize> {
        if !self.caching {
            return Vec::new();
        }
        wanted.map_while(|tokens| self.find(&tokens)).collect()
    }

    /// Whether the `hits` and `missing` more can be taken.
    pub(crate) fn fits(&self, hits: &[usize], missing: u32) -> bool {
        let idle = hits
            .iter()
            .filter(|hit| self.blocks[**hit].holders == 0)
            .count();
        idle + missing as usize <= self.free.len()
    }

    /// Takes the `hits` and `missing` more; `None` if there are not enough.
    pub(crate) fn take(&mut self, hits: &[usize], missing: u32) -> Option<Vec<usize>> {
        if !self.fits(hits, missing) {
            return None;
        }
        for &hit in hits {
            self.free.retain(|free| *free != hit);
            self.blocks[hit].holders += 1;
        }
        let new: Vec<usize> = self.free.drain(..missing as usize).collect();
        for &block in &new {
            self.blocks[block] = Block {
                tokens: None,
                holders: 1,
            };
        }
        self.peak_used = self.peak_used.max(self.used() as usize);
        Some(hits.iter().copied().chain(new).collect())
    }

    /// A block has been filled.
    pub(crate) fn fill(&mut self, block: usize, tokens: Tokens) {
        if self.caching && self.blocks[block].tokens.is_none() {
            self.clock += 1;
            self.blocks[block].tokens = Some((self.clock, tokens));
        }
    }

    /// Gives blocks back, the last first.
    pub(crate) fn release(&mut self, blocks: Vec<usize>) {
        for block in blocks.into_iter().rev() {
            self.blocks[block].holders -= 1;
            if self.blocks[block].holders > 0 {
                continue;
            }
            match self.freed {
                FreedBlocks::UncachedFirst if self.blocks[block].tokens.is_none() => {
                    self.free.push_front(block);
                }
                _ => self.free.push_back(block),
            }
        }
    }

    pub(crate) fn used(&self) -> u32 {
        (self.blocks.len() - self.free.len()) as u32
    }

    pub(crate) fn peak_used(&self) -> u32 {
        self.peak_used as u32
    }
}
