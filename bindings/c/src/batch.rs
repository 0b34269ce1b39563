//! Batches of steps.

use arrayvec::ArrayVec;
use rooflut::step::{self, StepBatch};

use crate::error::{Code, Failure};
use crate::pointer::array;

/// Consecutive prompt tokens of one request.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    /// Tokens computed in this step, at least 1.
    pub new_tokens: u32,
    /// Tokens of the request in the KV cache after this step, the new ones included.
    pub kv_len: u32,
    /// 1 if the prompt ends with this chunk, so the chunk yields a token; else 0.
    pub is_last: u8,
}

/// Decoding requests. Each has one new token, plus its drafted tokens.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DecodeGroup {
    /// Sum of the KV lengths of the requests, all new tokens included.
    pub kv_tokens: u64,
    /// KV tokens, over all requests, outside the window of layers with one; 0 for as few as the lengths allow.
    pub outside_tokens: u64,
    /// Requests, at least 1.
    pub requests: u32,
    /// Drafted tokens of each request; 0 without speculative decoding.
    pub drafted: u32,
}

/// The tokens of one step.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// Prompt chunks; null if there are none.
    pub prefill: *const Chunk,
    /// Number of prompt chunks.
    pub prefill_length: usize,
    /// Groups of decoding requests; null if there are none.
    pub decode: *const DecodeGroup,
    /// Number of groups.
    pub decode_length: usize,
}

/// Entries of most batches.
const FEW: usize = 4;
/// Entries of a batch with each request by itself. A larger stack takes longer to probe.
const MANY: usize = 128;
/// Entries that are converted on the stack; a batch with more of a kind allocates.
const ON_STACK: usize = 1_024;

impl Batch {
    /// Calls `use_it` with the batch as the library has it.
    ///
    /// # Safety
    /// The arrays are null or valid for reads of their lengths.
    #[inline]
    pub(crate) unsafe fn with<R>(
        &self,
        use_it: impl FnOnce(&StepBatch<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        // SAFETY: the caller's promise.
        let chunks = unsafe { array(self.prefill, self.prefill_length, "prefill") }?;
        // SAFETY: the caller's promise.
        let groups = unsafe { array(self.decode, self.decode_length, "decode") }?;
        with_batch(chunks.iter().copied(), groups.iter().copied(), use_it)
    }
}

/// Calls `use_it` with a batch of these chunks and groups.
#[inline]
pub(crate) fn with_batch<R>(
    chunks: impl ExactSizeIterator<Item = Chunk>,
    groups: impl ExactSizeIterator<Item = DecodeGroup>,
    use_it: impl FnOnce(&StepBatch<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match chunks.len().max(groups.len()) {
        length if length <= FEW => {
            with_buffers(ArrayVec::<_, FEW>::new(), ArrayVec::<_, FEW>::new(), (chunks, groups), use_it)
        }
        length if length <= MANY => with_stack::<MANY, _>((chunks, groups), use_it),
        length if length <= ON_STACK => with_stack::<ON_STACK, _>((chunks, groups), use_it),
        _ => with_buffers(Vec::new(), Vec::new(), (chunks, groups), use_it),
    }
}

/// Takes stack only if it is called.
#[inline(never)]
fn with_stack<const N: usize, R>(
    entries: (impl Iterator<Item = Chunk>, impl Iterator<Item = DecodeGroup>),
    use_it: impl FnOnce(&StepBatch<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let (prefill, decode) = (ArrayVec::<_, N>::new(), ArrayVec::<_, N>::new());
    with_buffers(prefill, decode, entries, use_it)
}

/// A list that grows.
trait Buffer<T>: Extend<T> + AsRef<[T]> {}

impl<T, const N: usize> Buffer<T> for ArrayVec<T, N> {}
impl<T> Buffer<T> for Vec<T> {}

#[inline]
fn with_buffers<R>(
    mut prefill: impl Buffer<step::Chunk>,
    mut decode: impl Buffer<step::DecodeGroup>,
    (chunks, groups): (impl Iterator<Item = Chunk>, impl Iterator<Item = DecodeGroup>),
    use_it: impl FnOnce(&StepBatch<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    convert("prefill", chunks, Chunk::checked, &mut prefill)?;
    convert("decode", groups, DecodeGroup::checked, &mut decode)?;
    use_it(&StepBatch { prefill: prefill.as_ref(), decode: decode.as_ref() })
}

/// Converts entries until the first invalid one.
#[inline]
fn convert<C, T>(
    name: &str,
    entries: impl Iterator<Item = C>,
    checked: impl Fn(C) -> Result<T, Invalid>,
    converted: &mut impl Buffer<T>,
) -> Result<(), Failure> {
    let mut failure = None;
    converted.extend(entries.map_while(|entry| checked(entry).map_err(|invalid| failure = Some(invalid)).ok()));
    match failure {
        None => Ok(()),
        Some(invalid) => Err(invalid.at(name, converted.as_ref().len())),
    }
}

/// Why an entry is invalid.
enum Invalid {
    Length(rooflut::Invalid),
    IsLast(u8),
}

impl Invalid {
    #[cold]
    fn at(&self, name: &str, place: usize) -> Failure {
        let field = |rest: &dyn std::fmt::Display| format!("{name}[{place}].{rest}");
        match self {
            Invalid::Length(error) => {
                // The library calls them `new`.
                let names = |name| if name == "new" { "new_tokens" } else { name };
                Failure::new(Code::Value, field(&error.renamed(names)))
            }
            Invalid::IsLast(found) => Failure::value(field(&"is_last"), "0 or 1", found),
        }
    }
}

impl Chunk {
    #[inline]
    fn checked(self) -> Result<step::Chunk, Invalid> {
        let chunk = match self.is_last {
            0 => step::Chunk::partial(self.new_tokens, self.kv_len),
            1 => step::Chunk::last(self.new_tokens, self.kv_len),
            found => return Err(Invalid::IsLast(found)),
        };
        chunk.map_err(Invalid::Length)
    }
}

impl DecodeGroup {
    #[inline]
    fn checked(self) -> Result<step::DecodeGroup, Invalid> {
        let group = step::DecodeGroup::from_sum(self.requests, self.kv_tokens);
        // One branch: most groups have neither.
        let group = match u64::from(self.drafted) | self.outside_tokens {
            0 => group,
            _ => group
                .and_then(|group| group.with_drafted(self.drafted))
                .and_then(|group| group.with_outside(self.outside_tokens)),
        };
        group.map_err(Invalid::Length)
    }
}
