//! The KV cache, block by block: whoever needs one looks at all of them.

use std::collections::VecDeque;

use rooflut::engine::FreedBlocks;
use rooflut::model::{KvGroups, Span};
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
        Content::Texts { prefix, prefix_tokens, own } => match prefix_tokens.min(request.prompt_tokens) {
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

/// One block, with the tokens of a group of layers.
#[derive(Debug, Clone, Default)]
struct Block {
    tokens: Option<(u64, usize, Tokens)>,
    holders: u32,
}

/// The groups of layers.
#[derive(Debug)]
pub(crate) struct Groups {
    full: Vec<usize>,
    pub(crate) limited: Vec<usize>,
    span: Span,
}

impl Groups {
    pub(crate) fn count(&self) -> usize {
        self.full.len() + self.limited.len()
    }
}

/// All blocks, and in which order free ones are taken.
#[derive(Debug)]
pub(crate) struct KvCache {
    caching: bool,
    freed: FreedBlocks,
    pub(crate) groups: Groups,
    block_size: u32,
    blocks: Vec<Block>,
    free: VecDeque<usize>,
    peak_used: usize,
    clock: u64,
}

impl KvCache {
    pub(crate) fn new(config: &SimConfig) -> KvCache {
        let blocks = config.kv_blocks;
        let KvGroups { full, limited, .. } = config.kv_groups;
        let is_limited = |group: &usize| {
            if config.kv_groups.limited_first { *group < limited as usize } else { *group >= full as usize }
        };
        let (limited, full) = (0..(full + limited) as usize).partition(is_limited);
        KvCache {
            groups: Groups { full, limited, span: config.kv_groups.span },
            block_size: config.block_size,
            caching: config.prefix_caching == PrefixCaching::Enabled,
            freed: config.rules.freed_blocks,
            blocks: vec![Block::default(); blocks as usize],
            free: (0..blocks as usize).collect(),
            peak_used: 0,
            clock: 0,
        }
    }

    /// The oldest block of a group with these tokens.
    fn find(&self, group: usize, tokens: &Tokens) -> Option<usize> {
        let when = |block: &usize| match &self.blocks[*block].tokens {
            Some((when, of, held)) if *of == group && held == tokens => Some(*when),
            _ => None,
        };
        let all = (0..self.blocks.len()).filter(|block| when(block).is_some());
        all.min_by_key(when)
    }

    /// The blocks of all `groups` that hold these, one list per group.
    fn find_all(&self, groups: &[usize], tokens: &Tokens) -> Option<Vec<usize>> {
        let found = groups.iter().map(|group| self.find(*group, tokens));
        found.collect()
    }

    /// The blocks of each group that hold the first of these, as far as all groups have those that they read; `None`
    /// for those that they do not. The first one is block number `given` of the request.
    pub(crate) fn hits(&self, wanted: &[Tokens], given: usize) -> Vec<Vec<Option<usize>>> {
        let all = self.groups.full.len() + self.groups.limited.len();
        let mut hits = vec![Vec::new(); all];
        if !self.caching {
            return hits;
        }
        let full = wanted.iter().map_while(|tokens| self.find_all(&self.groups.full, tokens));
        let full: Vec<Vec<usize>> = full.collect();
        let limited = self.limited_hits(&wanted[..full.len()], given);
        for (block, of_groups) in full.iter().take(limited.len()).enumerate() {
            for (group, found) in self.groups.full.iter().zip(of_groups) {
                hits[*group].push(Some(*found));
            }
            for (place, group) in self.groups.limited.iter().enumerate() {
                hits[*group].push(limited[block].as_ref().map(|found| found[place]));
            }
        }
        hits
    }

    /// Likewise of the groups with a window or chunks: a search from the last block to the first.
    fn limited_hits(&self, wanted: &[Tokens], given: usize) -> Vec<Option<Vec<usize>>> {
        let size = self.block_size as usize;
        let find = |block: usize| self.find_all(&self.groups.limited, &wanted[block]);
        let mut found = vec![None; wanted.len()];
        match self.groups.span {
            Span::Window(window) => {
                let needed = (window as usize - 1).div_ceil(size).max(1);
                let mut run = 0;
                for block in (0..wanted.len()).rev() {
                    found[block] = find(block);
                    run = if found[block].is_some() { run + 1 } else { 0 };
                    if run == needed {
                        found.truncate(block + run);
                        return found;
                    }
                }
                found.truncate(run);
            }
            Span::Chunk(chunk) if !self.groups.limited.is_empty() => {
                let tokens = (given + wanted.len()) * size;
                let start = tokens / chunk as usize * chunk as usize / size;
                for block in start.saturating_sub(given)..wanted.len() {
                    found[block] = find(block);
                    if found[block].is_none() {
                        found.truncate(block);
                        break;
                    }
                }
            }
            _ => found.fill(Some(Vec::new())),
        }
        found
    }

    /// Blocks at the start of a request that groups with a window or chunks do not read after `computed` tokens.
    pub(crate) fn skipped(&self, computed: u32) -> u32 {
        let tokens = match self.groups.span {
            Span::Window(window) => (computed + 1).saturating_sub(window),
            Span::Chunk(chunk) => computed / chunk * chunk,
            _ => 0,
        };
        tokens / self.block_size
    }

    /// Whether the `hits` and `missing` more can be taken.
    pub(crate) fn fits(&self, hits: &[Vec<Option<usize>>], missing: u32) -> bool {
        let hits = hits.iter().flatten().flatten();
        let idle = hits.filter(|hit| self.blocks[**hit].holders == 0).count();
        idle + missing as usize <= self.free.len()
    }

    /// Takes `hits` that are to be held, too.
    pub(crate) fn touch(&mut self, hits: &[Vec<Option<usize>>]) {
        for &hit in hits.iter().flatten().flatten() {
            self.free.retain(|free| *free != hit);
            self.blocks[hit].holders += 1;
        }
    }

    /// Takes `missing` blocks; `None` if there are not enough.
    pub(crate) fn take(&mut self, missing: u32) -> Option<Vec<usize>> {
        if !self.fits(&[], missing) {
            return None;
        }
        let new: Vec<usize> = self.free.drain(..missing as usize).collect();
        for &block in &new {
            self.blocks[block] = Block { tokens: None, holders: 1 };
        }
        self.peak_used = self.peak_used.max(self.used() as usize);
        Some(new)
    }

    /// A block has been filled.
    pub(crate) fn fill(&mut self, block: usize, group: usize, tokens: Tokens) {
        if self.caching && self.blocks[block].tokens.is_none() {
            self.clock += 1;
            self.blocks[block].tokens = Some((self.clock, group, tokens));
        }
    }

    /// Gives the blocks of a group back, the last first.
    pub(crate) fn release(&mut self, blocks: impl DoubleEndedIterator<Item = usize>) {
        for block in blocks.rev() {
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
