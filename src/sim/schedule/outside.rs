//! KV tokens that layers with a window or chunks do not read.

use alloc::vec;
use alloc::vec::Vec;

use crate::model::Span;

/// The growth of the KV tokens that lie outside the window or chunk of decoding requests.
///
/// Each request crosses its window once, and a chunk whenever it has filled one; in all other steps a sum is enough.
/// Costs O(1) per step and per request.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    span: Span,
    /// Number of requests by the first step before which their tokens fill the window or a chunk, modulo its length.
    filling: Vec<u32>,
    /// Number of requests whose tokens fill the window.
    beyond: u32,
}

impl Outside {
    /// Returns an empty sum for layers with this span, or `None` if they read all tokens.
    pub(crate) fn of(span: Span) -> Option<Outside> {
        let length = match span {
            Span::Full => return None,
            Span::Window(tokens) | Span::Chunk(tokens) => tokens.max(1) as usize,
        };
        Some(Outside { span, filling: vec![0; length], beyond: 0 })
    }

    /// Adds a request that has `computed` tokens before `step`, the next step; returns those outside in it.
    pub(crate) fn add(&mut self, computed: u32, step: u64) -> u64 {
        *self.count(computed, step) += 1;
        self.span.outside(computed)
    }

    /// Removes a request, likewise.
    pub(crate) fn remove(&mut self, computed: u32, step: u64) -> u64 {
        *self.count(computed, step) -= 1;
        self.span.outside(computed)
    }

    /// Goes on to the next step, `step`; returns how many more tokens are outside in it.
    pub(crate) fn advance(&mut self, step: u64) -> u64 {
        let length = self.filling.len() as u64;
        let Some(full) = self.filling.get_mut((step % length) as usize) else {
            return 0;
        };
        match self.span {
            Span::Chunk(_) => length * u64::from(*full),
            _ => {
                self.beyond += core::mem::take(full);
                u64::from(self.beyond)
            }
        }
    }

    /// Returns the number of requests to which one with `computed` tokens before `step` belongs.
    fn count(&mut self, computed: u32, step: u64) -> &mut u32 {
        let length = self.filling.len() as u64;
        let computed = u64::from(computed);
        if computed >= length && !matches!(self.span, Span::Chunk(_)) {
            return &mut self.beyond;
        }
        let until = length - computed % length;
        let index = ((step + until) % length) as usize;
        // The index is below the length.
        self.filling.get_mut(index).unwrap_or(&mut self.beyond)
    }
}
