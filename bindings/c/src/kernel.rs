//! Kernels that tables answer for.

use std::fmt;

use rooflut::ResolveError;
use rooflut::hardware::OperationKind;
use rooflut::op::{Argument, Estimate, Kernel};
use rooflut::table::TableSet;
use rooflut_roofline::operation::Codes;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::error::Failure;

/// An operation and a shape, as in `{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}`.
pub(crate) struct Shape {
    operation: OperationKind,
    codes: Codes,
}

impl Shape {
    pub(crate) fn resolve(self, set: &TableSet) -> Result<Kernel, ResolveError> {
        Kernel::resolve(set, self.operation, self.codes)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_map(OneOperation)
    }
}

struct OneOperation;

impl<'de> Visitor<'de> for OneOperation {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one key, the operation")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let operation = map.next_key()?;
        let operation: OperationKind = operation.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let codes = map.next_value_seed(operation)?;
        match map.next_key::<IgnoredAny>()? {
            None => Ok(Shape { operation, codes }),
            Some(_) => Err(A::Error::invalid_length(2, &self)),
        }
    }
}

/// Returns the estimate for a batch and a size, as `rooflut_lookup_at` describes them.
#[inline]
pub(crate) fn at(kernel: &Kernel, batch: u32, size: u64) -> Result<Estimate, Failure> {
    let (first, second) = match *kernel.arguments() {
        [Argument::Batch] => (positive(batch)?, without_size(size)?),
        [Argument::Batch, Argument::KvTokens] => (positive(batch)?, kv_tokens(batch, size)?),
        [_, argument] => (positive(batch)?, within(argument, size)?),
        [argument] => (within(argument, without_batch(batch, size)?)?, 1),
        _ => (batch.into(), size),
    };
    Ok(kernel.at(first, second))
}

#[inline]
fn positive(batch: u32) -> Result<u64, Failure> {
    match batch {
        0 => Err(Failure::value("batch", "at least 1 request", 0)),
        batch => Ok(batch.into()),
    }
}

#[inline]
fn within(argument: Argument, size: u64) -> Result<u64, Failure> {
    let max = argument.max();
    if (1..=max).contains(&size) {
        return Ok(size);
    }
    Err(Failure::value("size", format_args!("1 to {max}"), size))
}

#[inline]
fn kv_tokens(batch: u32, size: u64) -> Result<u64, Failure> {
    if size >= u64::from(batch) {
        return Ok(size);
    }
    let expected = format!("at least {batch} KV tokens, one for each request");
    Err(Failure::value("size", expected, size))
}

#[inline]
fn without_size(size: u64) -> Result<u64, Failure> {
    match size {
        0 => Ok(1),
        found => Err(Failure::value("size", "0 for this kernel", found)),
    }
}

#[inline]
fn without_batch(batch: u32, size: u64) -> Result<u64, Failure> {
    match (batch, size) {
        (0, 1..) => Ok(size),
        (0, _) => Err(Failure::value("size", "at least 1", 0)),
        _ => Err(Failure::value("batch", "0 for this kernel", batch)),
    }
}
