//! The work of one engine step, as lengths only.

use crate::error::{Invalid, MessagePart};
use crate::model::Span;

/// The tokens of one engine step.
///
/// A batch holds only integers and no identities, so sums and single requests give the same answer. A request's
/// future output length cannot be expressed, so no latency model can use it.
///
/// ```
/// use rooflut::step::{Chunk, DecodeGroup, StepBatch};
/// // One prompt of 512 tokens, and 64 requests that decode with a KV length of 1,000 tokens each.
/// let batch = StepBatch {
///     prefill: &[Chunk::prompt(512)?],
///     decode: &[DecodeGroup::uniform(64, 1_000)?],
/// };
/// assert_eq!(batch.tokens(), 576);
/// assert_eq!(batch.sampled_tokens(), 65);
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepBatch<'a> {
    /// Prompt chunks of this step.
    pub prefill: &'a [Chunk],
    /// Decoding requests.
    pub decode: &'a [DecodeGroup],
}

/// Consecutive prompt tokens of one request, at least one.
///
/// The KV length includes the new tokens, as in a [`DecodeGroup`].
///
/// ```
/// use rooflut::step::Chunk;
/// // The last 512 tokens of a prompt of 1,536 tokens.
/// let chunk = Chunk::last(512, 1_536)?;
/// assert_eq!(chunk.context(), 1_024);
/// let error = Chunk::last(1_536, 512).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "kv_len: expected at least 1536, one token for each new token, found 512; \
///      count the new tokens in",
/// );
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", deny_unknown_fields))]
pub struct Chunk {
    pub(crate) new: u32,
    /// At least `new`.
    pub(crate) kv_len: u32,
    pub(crate) last: bool,
}

impl Chunk {
    /// Returns a chunk for a whole prompt, computed in one step; it yields a token.
    ///
    /// # Errors
    /// No tokens.
    pub const fn prompt(tokens: u32) -> Result<Chunk, Invalid> {
        if tokens == 0 {
            return Err(zero("tokens"));
        }
        Chunk::checked(tokens, tokens, true)
    }

    /// Returns a chunk for the last `new` tokens of a prompt of `kv_len` tokens; it yields a token.
    ///
    /// # Errors
    /// No new tokens, or a `kv_len` below `new`.
    pub const fn last(new: u32, kv_len: u32) -> Result<Chunk, Invalid> {
        Chunk::checked(new, kv_len, true)
    }

    /// Returns a chunk of `new` tokens after which the prompt continues; it yields no token. `kv_len` is the length
    /// of the prompt up to the end of the chunk.
    ///
    /// # Errors
    /// No new tokens, or a `kv_len` below `new`.
    pub const fn partial(new: u32, kv_len: u32) -> Result<Chunk, Invalid> {
        Chunk::checked(new, kv_len, false)
    }

    const fn checked(new: u32, kv_len: u32, last: bool) -> Result<Chunk, Invalid> {
        if new == 0 {
            return Err(zero("new"));
        }
        if kv_len < new {
            return Err(too_few("kv_len", kv_len as u64, new as u64));
        }
        Ok(Chunk { new, kv_len, last })
    }

    /// Returns the number of tokens computed in this step.
    #[inline]
    pub const fn new_tokens(&self) -> u32 {
        self.new
    }

    /// Returns the number of the request's tokens in the KV cache after this step, the new ones included.
    #[inline]
    pub const fn kv_len(&self) -> u32 {
        self.kv_len
    }

    /// Returns the number of the request's tokens in the KV cache before this step.
    #[inline]
    pub const fn context(&self) -> u32 {
        self.kv_len - self.new
    }

    /// Returns whether the prompt ends with this chunk, so the chunk yields a token.
    #[inline]
    pub const fn is_last(&self) -> bool {
        self.last
    }
}

/// Decoding requests, at least one. Each has one new token, followed by the drafted tokens with speculative decoding.
///
/// KV lengths include all new tokens, drafted tokens too.
///
/// ```
/// use rooflut::step::DecodeGroup;
/// // 64 requests of 1,000 tokens each, given in two ways.
/// let group = DecodeGroup::uniform(64, 1_000)?;
/// assert_eq!(DecodeGroup::from_sum(64, 64_000)?, group);
/// // Each of them verifies three drafted tokens.
/// assert_eq!(group.with_drafted(3)?.tokens(), 256);
/// let error = DecodeGroup::from_sum(64, 0).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "kv_tokens: expected at least 64, one token for each new token, found 0; \
///      count the new tokens in",
/// );
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", deny_unknown_fields))]
pub struct DecodeGroup {
    pub(crate) requests: u32,
    /// At least the new tokens; 0 in a sum that has no requests yet.
    pub(crate) kv_tokens: u64,
    pub(crate) drafted: u32,
    /// KV tokens that layers with a window or chunks do not read.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) outside_tokens: u64,
}

impl DecodeGroup {
    /// No requests: the initial value of a sum.
    #[cfg(feature = "sim")]
    pub(crate) const EMPTY: DecodeGroup = DecodeGroup { requests: 0, kv_tokens: 0, drafted: 0, outside_tokens: 0 };

    /// Returns a group of `requests` requests with a KV length of `kv_len` tokens each.
    ///
    /// # Errors
    /// No requests, or a `kv_len` of 0.
    pub const fn uniform(requests: u32, kv_len: u32) -> Result<DecodeGroup, Invalid> {
        if requests > 0 && kv_len == 0 {
            return Err(too_few("kv_len", 0, 1));
        }
        DecodeGroup::from_sum(requests, requests as u64 * kv_len as u64)
    }

    /// Returns a group of `requests` requests whose KV lengths add up to `kv_tokens`: the sum over all requests, not
    /// the length of each as in [`uniform`](Self::uniform).
    ///
    /// # Errors
    /// No requests, or fewer `kv_tokens` than requests.
    pub const fn from_sum(requests: u32, kv_tokens: u64) -> Result<DecodeGroup, Invalid> {
        if requests == 0 {
            return Err(zero("requests"));
        }
        let group = DecodeGroup { requests, kv_tokens, drafted: 0, outside_tokens: 0 };
        group.with_drafted(0)
    }

    /// Returns the group with `drafted` drafted tokens per request for the step to verify. The KV lengths already
    /// include the drafted tokens.
    ///
    /// # Errors
    /// Fewer KV tokens than new tokens: `requests x (1 + drafted)`.
    pub const fn with_drafted(self, drafted: u32) -> Result<DecodeGroup, Invalid> {
        DecodeGroup { drafted, ..self }.checked()
    }

    /// Returns the group with the number of its KV tokens, over all requests, that lie outside the window or chunk of
    /// layers with such attention; by default as few as their mean length allows. Other layers read them.
    ///
    /// ```
    /// use rooflut::model::Span;
    /// use rooflut::step::DecodeGroup;
    /// // A request below a window of 128 tokens, and one above it.
    /// let window = Span::Window(128);
    /// let outside = [100, 1_000].map(|kv_len| kv_len - window.keys(kv_len));
    /// let group = DecodeGroup::from_sum(2, 1_100)?.with_outside(outside.iter().sum::<u32>().into())?;
    /// assert_eq!(group.outside_tokens(), 872);
    /// # Ok::<(), rooflut::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// Fewer KV tokens inside than new tokens.
    pub const fn with_outside(self, tokens: u64) -> Result<DecodeGroup, Invalid> {
        let outside_tokens = tokens;
        DecodeGroup { outside_tokens, ..self }.checked()
    }

    const fn checked(self) -> Result<DecodeGroup, Invalid> {
        let (found, new_tokens) = (self.kv_tokens, self.tokens());
        if found < new_tokens {
            let field = "kv_tokens";
            return Err(too_few(field, found, new_tokens));
        }
        let most = found - new_tokens;
        if self.outside_tokens > most {
            let text = "expected at most the {} KV tokens that are not new, found {}; new tokens are inside the window";
            let values = [MessagePart::Count(most), MessagePart::Count(self.outside_tokens)];
            return Err(Invalid::new("outside_tokens", text, &values));
        }
        Ok(self)
    }

    /// Returns the number of requests.
    #[inline]
    pub const fn requests(&self) -> u32 {
        self.requests
    }

    /// Returns the sum of the KV lengths of the requests, the new tokens included.
    #[inline]
    pub const fn kv_tokens(&self) -> u64 {
        self.kv_tokens
    }

    /// Returns the number of drafted tokens per request; 0 without speculative decoding.
    #[inline]
    pub const fn drafted(&self) -> u32 {
        self.drafted
    }

    /// Returns the number of KV tokens that layers with a window or chunks do not read.
    #[inline]
    pub const fn outside_tokens(&self) -> u64 {
        self.outside_tokens
    }

    /// Returns the number of new tokens, drafted ones included, that pass through the layers.
    #[inline]
    pub const fn tokens(&self) -> u64 {
        self.requests as u64 * (1 + self.drafted as u64)
    }
}

/// A chunk without new tokens, or a group without requests.
const fn zero(field: &'static str) -> Invalid {
    Invalid::new(field, "expected at least 1, found 0; leave it out of the batch", &[])
}

/// Fewer KV tokens than new tokens, although the new tokens are in the KV cache too.
const fn too_few(field: &'static str, found: u64, new_tokens: u64) -> Invalid {
    let text = "expected at least {}, one token for each new token, found {}; count the new tokens in";
    Invalid::new(field, text, &[MessagePart::Count(new_tokens), MessagePart::Count(found)])
}

#[cfg(feature = "serde")]
crate::checked!(Chunk, |chunk: &Chunk| Chunk::checked(chunk.new, chunk.kv_len, chunk.last));
#[cfg(feature = "serde")]
crate::checked!(DecodeGroup, |group: &DecodeGroup| {
    DecodeGroup::from_sum(group.requests, group.kv_tokens).and_then(|_| group.checked())
});

/// Sums over a batch, which saturate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BatchSums {
    /// [`StepBatch::tokens`].
    pub(super) tokens: u64,
    /// [`StepBatch::decode_requests`].
    pub(super) requests: u64,
    /// [`StepBatch::decode_tokens`].
    pub(super) decode_tokens: u64,
    /// [`StepBatch::decode_kv_tokens`].
    pub(super) kv_tokens: u64,
    /// KV tokens that layers with a window or chunks do not read.
    pub(super) outside_tokens: u64,
    /// [`StepBatch::sampled_tokens`].
    pub(super) rows: u64,
}

impl BatchSums {
    #[inline]
    fn add(&mut self, group: DecodeGroup) {
        let tokens = group.tokens();
        self.tokens = self.tokens.saturating_add(tokens);
        self.requests += u64::from(group.requests);
        self.decode_tokens = self.decode_tokens.saturating_add(tokens);
        self.kv_tokens = self.kv_tokens.saturating_add(group.kv_tokens);
        self.outside_tokens = self.outside_tokens.saturating_add(group.outside_tokens);
        self.rows = self.rows.saturating_add(tokens);
    }

    /// Returns the sums with one row for each decoding request in place of one for each of its tokens.
    #[cold] // Drafts have several tokens only in the first run over an MTP layer.
    pub(super) fn with_a_row_each(self) -> BatchSums {
        let more = self.decode_tokens.saturating_sub(self.requests);
        BatchSums { rows: self.rows.saturating_sub(more), ..self }
    }

    /// Returns decoding requests, their new tokens and KV tokens.
    #[inline]
    pub(super) fn decode(&self) -> [f64; 3] {
        [self.requests, self.decode_tokens, self.kv_tokens].map(|count| count as f64)
    }

    /// Returns them for layers of this span, with the KV tokens inside.
    #[inline]
    pub(super) fn within(&self, span: Span) -> [f64; 3] {
        match span {
            Span::Full => self.decode(),
            Span::Window(tokens) | Span::Chunk(tokens) => self.inside(tokens),
        }
    }

    fn inside(&self, tokens: u32) -> [f64; 3] {
        let [requests, queries, all] = self.decode();
        let most = requests * (f64::from(tokens) - 1.0) + queries;
        [requests, queries, most.min(all - self.outside_tokens as f64)]
    }
}

impl From<DecodeGroup> for BatchSums {
    #[inline]
    fn from(group: DecodeGroup) -> BatchSums {
        let mut sums = BatchSums::default();
        sums.add(group);
        sums
    }
}

impl StepBatch<'_> {
    /// Returns the number of tokens that pass through the layers.
    pub fn tokens(&self) -> u64 {
        self.sums().tokens
    }

    /// Returns the number of new prompt tokens.
    pub fn prefill_tokens(&self) -> u64 {
        self.prefill.iter().map(|chunk| u64::from(chunk.new)).sum()
    }

    /// Returns the number of decoding requests.
    pub fn decode_requests(&self) -> u64 {
        self.sums().requests
    }

    /// Returns the number of decoding tokens that pass through the layers, drafted ones included; at most `u64::MAX`.
    pub fn decode_tokens(&self) -> u64 {
        self.sums().decode_tokens
    }

    /// Returns the sum of the KV lengths of the decoding requests; at most `u64::MAX`.
    pub fn decode_kv_tokens(&self) -> u64 {
        self.sums().kv_tokens
    }

    /// Returns the number of rows that pass through the lm_head and the sampler: one for each prompt that ends in
    /// this step, and one for each decoding token.
    pub fn sampled_tokens(&self) -> u64 {
        self.sums().rows
    }

    /// Returns all sums in one pass.
    #[inline]
    pub(super) fn sums(&self) -> BatchSums {
        // Most steps of a server only decode.
        if let ([], [group]) = (self.prefill, self.decode) {
            return (*group).into();
        }
        let mut sums = BatchSums::default();
        for chunk in self.prefill {
            sums.tokens += u64::from(chunk.new);
            sums.rows += u64::from(chunk.last);
        }
        for group in self.decode {
            sums.add(*group);
        }
        sums
    }

    /// Returns whether the batch has no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_lengths_do_not_overflow() {
        let group = DecodeGroup::uniform(u32::MAX, u32::MAX).unwrap();
        assert_eq!(group.kv_tokens(), u64::from(u32::MAX).pow(2));
        assert!(group.with_drafted(u32::MAX).is_err());
        assert_eq!(Chunk::prompt(u32::MAX).map(|chunk| chunk.context()), Ok(0));
    }
}
