//! Batches of many steps as arrays.

use std::ops::Range;

use pyo3::prelude::*;
use rooflut::Invalid;
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch};

use crate::arrays::{Numbers, Whole, common_rows, whole};
use crate::error::error;

/// Chunks or groups, some for each step: two numbers each, and a third value that may be left out.
pub(crate) struct Rows<A, B, C> {
    first: Numbers<A>,
    second: Numbers<B>,
    third: Numbers<C>,
    /// The place of the first row of each step, and the end of those of the last; `None` for a row each.
    offsets: Option<Vec<u64>>,
    rows: Option<usize>,
}

/// Reads the column of this name.
type Reader<C> = fn(&str, &Bound<'_, PyAny>) -> PyResult<Numbers<C>>;

/// The columns of rows as Python names and gives them; the default of the third, and its reader.
pub(crate) struct Arguments<'a, 'py, C> {
    pub(crate) names: [&'static str; 4],
    pub(crate) values: [Option<&'a Bound<'py, PyAny>>; 4],
    pub(crate) third: (C, Reader<C>),
}

/// Chunks of prompts.
pub(crate) type Prefills = Rows<u32, u32, bool>;

impl<A: Whole, B: Whole, C: Copy> Rows<A, B, C> {
    /// Reads columns and their offsets; `None` if none is given.
    pub(crate) fn read(arguments: &Arguments<'_, '_, C>) -> PyResult<Option<Rows<A, B, C>>> {
        let [first_name, second_name, third_name, offsets_name] = arguments.names;
        let (first, second, third, offsets) = match arguments.values {
            [None, None, None, None] => return Ok(None),
            [Some(first), Some(second), third, offsets] => (first, second, third, offsets),
            _ => {
                return Err(error(format!("expected both {first_name} and {second_name}; give both")));
            }
        };
        let first = whole::<A>(first_name, first, 0)?;
        let second = whole::<B>(second_name, second, 0)?;
        let (default, read) = arguments.third;
        let third = third.map_or(Ok(Numbers::Same(default)), |third| read(third_name, third))?;
        let rows =
            common_rows(&[(first_name, first.rows()), (second_name, second.rows()), (third_name, third.rows())])?;
        let offsets = offsets.map(|offsets| check_offsets(offsets_name, offsets, rows));
        Ok(Some(Rows { first, second, third, offsets: offsets.transpose()?, rows }))
    }

    /// The number of steps, if it is not that of others.
    pub(crate) fn steps(&self) -> Option<usize> {
        match &self.offsets {
            Some(offsets) => Some(offsets.len().saturating_sub(1)),
            None => self.rows,
        }
    }

    /// Returns the places of the rows of a step.
    fn places(&self, step: usize) -> Range<usize> {
        match &self.offsets {
            Some(offsets) => {
                let at = |place: usize| offsets.get(place).map_or(0, |offset| *offset as usize);
                at(step)..at(step + 1)
            }
            None => step..step + 1,
        }
    }

    fn at(&self, row: usize) -> Option<(A, B, C)> {
        Some((self.first.at(row)?, self.second.at(row)?, self.third.at(row)?))
    }
}

/// Decoding requests, and those of their KV tokens that lie outside the window of layers with one.
pub(crate) struct Decodes {
    rows: Rows<u32, u64, u32>,
    outside: Option<Numbers<u64>>,
}

impl Decodes {
    /// Reads the columns; `None` if none is given.
    pub(crate) fn read(
        arguments: &Arguments<'_, '_, u32>,
        outside: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Decodes>> {
        const OUTSIDE: &str = "decode_outside_tokens";
        let outside = outside.map(|outside| whole::<u64>(OUTSIDE, outside, 0)).transpose()?;
        let Some(mut rows) = Rows::read(arguments)? else {
            return match outside {
                Some(_) => {
                    Err(error(format!("{OUTSIDE}: expected decode_requests and decode_kv_tokens beside it; give both")))
                }
                None => Ok(None),
            };
        };
        let more = outside.as_ref().and_then(Numbers::rows);
        rows.rows = common_rows(&[("decode_requests", rows.rows), (OUTSIDE, more)])?;
        Ok(Some(Decodes { rows, outside }))
    }

    /// Returns the groups of a step. A row without requests is none.
    fn of(&self, step: usize) -> impl Iterator<Item = Result<DecodeGroup, Invalid>> + '_ {
        let rows = self.rows.places(step);
        rows.filter_map(|row| {
            let (requests, kv_tokens, drafted) = self.rows.at(row)?;
            let outside = self.outside.as_ref().and_then(|outside| outside.at(row));
            let group = || {
                let group = DecodeGroup::from_sum(requests, kv_tokens)?.with_drafted(drafted)?;
                outside.map_or(Ok(group), |tokens| group.with_outside(tokens))
            };
            (requests > 0).then(group)
        })
    }
}

fn check_offsets(name: &str, offsets: &Bound<'_, PyAny>, rows: Option<usize>) -> PyResult<Vec<u64>> {
    let Numbers::Each(offsets) = whole::<u64>(name, offsets, 0)? else {
        return Err(error(format!("{name}: expected an array, found a number")));
    };
    let rows = rows.ok_or_else(|| error(format!("{name}: expected none beside single numbers; leave it out")))?;
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    if let Some((place, (before, after))) = pairs.enumerate().find(|(_, (a, b))| a > b) {
        return Err(error(format!(
            "{name}[{}]: expected at least {before}, the offset before, found {after}",
            place + 1
        )));
    }
    match (offsets.first(), offsets.last()) {
        (Some(0), Some(end)) if *end == rows as u64 => Ok(offsets),
        (Some(first), Some(last)) => Err(error(format!(
            "{name}: expected offsets from 0 to {rows}, the number of values, found {first} to {last}"
        ))),
        _ => Err(error(format!("{name}: expected offsets from 0 to {rows}, the number of values, found none"))),
    }
}

/// Returns a chunk that ends a prompt, or after which it continues.
pub(crate) fn chunk(new: u32, kv_len: u32, is_last: bool) -> Result<Chunk, Invalid> {
    if is_last { Chunk::last(new, kv_len) } else { Chunk::partial(new, kv_len) }
}

/// Many steps.
pub(crate) struct Steps {
    pub(crate) prefill: Option<Prefills>,
    pub(crate) decode: Option<Decodes>,
    pub(crate) count: usize,
}

impl Steps {
    pub(crate) fn new(prefill: Option<Prefills>, decode: Option<Decodes>) -> PyResult<Steps> {
        if prefill.is_none() && decode.is_none() {
            return Err(error("expected prefill_tokens and prefill_kv_len, or decode_requests and decode_kv_tokens"));
        }
        let prefills = prefill.as_ref().and_then(Rows::steps);
        let decodes = decode.as_ref().and_then(|decode| decode.rows.steps());
        let count = common_rows(&[("prefill", prefills), ("decode", decodes)])?;
        Ok(Steps { prefill, decode, count: count.unwrap_or(1) })
    }

    /// Appends the times of some steps to `times_ns`. A row without tokens or requests adds nothing to its step.
    ///
    /// # Errors
    /// The first step whose batch contradicts itself.
    pub(crate) fn time(
        &self,
        steps: Range<usize>,
        model: &impl LatencyModel,
        times_ns: &mut Vec<u64>,
    ) -> Result<(), String> {
        let (mut chunks, mut groups) = (Vec::new(), Vec::new());
        for step in steps {
            let failed = |error: Invalid| format!("step {step}: {error}");
            chunks.clear();
            groups.clear();
            if let Some(rows) = &self.prefill {
                for (new, kv_len, is_last) in rows.places(step).filter_map(|row| rows.at(row)) {
                    if new > 0 {
                        chunks.push(chunk(new, kv_len, is_last).map_err(failed)?);
                    }
                }
            }
            for group in self.decode.iter().flat_map(|decodes| decodes.of(step)) {
                groups.push(group.map_err(failed)?);
            }
            let batch = StepBatch { prefill: &chunks, decode: &groups };
            times_ns.push(model.total_time(&batch).to_nanos());
        }
        Ok(())
    }
}
