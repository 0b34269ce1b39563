//! Many steps in one call.

use std::ops::Range;

use crate::Handle;
use crate::batch::{Chunk, DecodeGroup, with_batch};
use crate::border::call;
use crate::error::{Code, Error, Failure};
use crate::pointer::{OutArray, array, input};
use crate::registry::REGISTRY;
use crate::step::{Duration, total_time};

/// Batches of many steps, a structure of arrays: the entries of all steps one after another, and for each step the
/// place of its first entry.
///
/// Step i has the chunks from `prefill_offsets[i]` up to `prefill_offsets[i + 1]`, and the groups from
/// `decode_offsets[i]` up to `decode_offsets[i + 1]`. Offsets begin with 0, do not decrease and end with the number of
/// entries.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Number of steps.
    pub length: usize,
    /// `length + 1` offsets; null if no step has a prompt chunk.
    pub prefill_offsets: *const u64,
    /// Tokens computed by each chunk.
    pub prefill_new_tokens: *const u32,
    /// Tokens in the KV cache after each chunk.
    pub prefill_kv_len: *const u32,
    /// 1 for chunks that end their prompt, else 0; null if all do.
    pub prefill_is_last: *const u8,
    /// Number of chunks of all steps.
    pub prefill_length: usize,
    /// `length + 1` offsets; null if no step has a decoding request.
    pub decode_offsets: *const u64,
    /// Requests of each group.
    pub decode_requests: *const u32,
    /// Sum of the KV lengths of each group.
    pub decode_kv_tokens: *const u64,
    /// Drafted tokens of each request of a group; null for none.
    pub decode_drafted: *const u32,
    /// KV tokens of each group outside the window; null for as few as the lengths allow.
    pub decode_outside_tokens: *const u64,
    /// Number of groups of all steps.
    pub decode_length: usize,
}

/// Predicts the times of many steps: `times` has `times_length` entries, as many as `steps` has steps.
///
/// If a step is invalid, no entry of `times` is meaningful; the message names step and entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_step_times(
    scenario: Handle,
    steps: *const Steps,
    times: *mut Duration,
    times_length: usize,
    error: *mut Error,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let steps = unsafe { input(steps, "steps") }?;
        if times_length != steps.length {
            let expected = format!("{} entries, as many as steps", steps.length);
            return Err(Failure::new(
                Code::Length,
                format_args!("times_length: expected {expected}, found {times_length}"),
            ));
        }
        // SAFETY: the caller's promise.
        let (arrays, times) = unsafe { (Arrays::new(steps)?, OutArray::new(times, times_length, "times")?) };
        REGISTRY.scenarios.read(scenario, |run| {
            let mut failure = None;
            let results = (0..steps.length).map_while(|step| {
                let time = with_batch(arrays.chunks(step), arrays.groups(step), |batch| Ok(total_time(run, batch)));
                time.map_err(|error| failure = Some((step, error))).ok()
            });
            times.fill(results);
            match failure {
                None => Ok(()),
                Some((step, error)) => Err(Failure::new(error.code(), format_args!("step {step}: {error}"))),
            }
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// The arrays of many steps; those that are null are empty.
struct Arrays<'a> {
    prefill: Offsets<'a>,
    new_tokens: &'a [u32],
    kv_len: &'a [u32],
    is_last: &'a [u8],
    decode: Offsets<'a>,
    requests: &'a [u32],
    kv_tokens: &'a [u64],
    drafted: &'a [u32],
    outside_tokens: &'a [u64],
}

impl<'a> Arrays<'a> {
    /// # Safety
    /// The arrays are null or valid for reads of their lengths for `'a`.
    unsafe fn new(steps: &Steps) -> Result<Arrays<'a>, Failure> {
        let (chunks, groups) = (steps.prefill_length, steps.decode_length);
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Arrays {
                prefill: Offsets::new(steps.prefill_offsets, steps.length, chunks, "prefill_offsets")?,
                new_tokens: array(steps.prefill_new_tokens, chunks, "prefill_new_tokens")?,
                kv_len: array(steps.prefill_kv_len, chunks, "prefill_kv_len")?,
                is_last: optional(steps.prefill_is_last, chunks, "prefill_is_last")?,
                decode: Offsets::new(steps.decode_offsets, steps.length, groups, "decode_offsets")?,
                requests: array(steps.decode_requests, groups, "decode_requests")?,
                kv_tokens: array(steps.decode_kv_tokens, groups, "decode_kv_tokens")?,
                drafted: optional(steps.decode_drafted, groups, "decode_drafted")?,
                outside_tokens: optional(steps.decode_outside_tokens, groups, "decode_outside_tokens")?,
            })
        }
    }

    fn chunks(&self, step: usize) -> impl ExactSizeIterator<Item = Chunk> {
        self.prefill.of(step).map(|place| Chunk {
            new_tokens: at(self.new_tokens, place, 0),
            kv_len: at(self.kv_len, place, 0),
            is_last: at(self.is_last, place, 1),
        })
    }

    fn groups(&self, step: usize) -> impl ExactSizeIterator<Item = DecodeGroup> {
        self.decode.of(step).map(|place| DecodeGroup {
            requests: at(self.requests, place, 0),
            kv_tokens: at(self.kv_tokens, place, 0),
            drafted: at(self.drafted, place, 0),
            outside_tokens: at(self.outside_tokens, place, 0),
        })
    }
}

/// Returns an entry, or the value of all entries of an array that is left out.
#[inline]
fn at<T: Copy>(array: &[T], place: usize, left_out: T) -> T {
    array.get(place).copied().unwrap_or(left_out)
}

/// As [`array`], where null means that the array is left out.
///
/// # Safety
/// As [`array`].
unsafe fn optional<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], Failure> {
    match pointer.is_null() {
        true => Ok(&[]),
        // SAFETY: the caller's promise.
        false => unsafe { array(pointer, length, name) },
    }
}

/// The places of the entries of each step.
struct Offsets<'a>(&'a [u64]);

impl<'a> Offsets<'a> {
    /// # Safety
    /// `pointer` is null or valid for reads of `steps + 1` offsets for `'a`.
    unsafe fn new(pointer: *const u64, steps: usize, entries: usize, name: &str) -> Result<Offsets<'a>, Failure> {
        if pointer.is_null() && entries == 0 {
            return Ok(Offsets(&[]));
        }
        let length = steps.saturating_add(1);
        // SAFETY: the caller's promise.
        let offsets = unsafe { array(pointer, length, name) }?;
        let wrong = |message| Err(Failure::new(Code::Length, format_args!("{name}{message}")));
        if let Some(step) = offsets.windows(2).position(|pair| pair.first() > pair.last()) {
            return wrong(format!("[{}]: expected at least the offset before, found less", step + 1));
        }
        match (offsets.first(), offsets.last()) {
            (Some(0), Some(last)) if *last == entries as u64 => Ok(Offsets(offsets)),
            (Some(0), Some(last)) => {
                wrong(format!("[{steps}]: expected {entries}, the number of entries, found {last}"))
            }
            (first, _) => wrong(format!("[0]: expected 0, found {}", first.copied().unwrap_or_default())),
        }
    }

    /// The places of the entries of a step.
    #[inline]
    fn of(&self, step: usize) -> Range<usize> {
        let at = |step| self.0.get(step).map_or(0, |offset| *offset as usize);
        at(step)..at(step + 1)
    }
}
