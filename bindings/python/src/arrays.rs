//! Arrays of numbers from Python: anything that NumPy converts to one dimension, or a single number.

use std::ops::RangeInclusive;

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use crate::error::{error, in_place_of, shown};

/// One number for all rows, or one for each.
pub(crate) enum Numbers<T> {
    Same(T),
    Each(Vec<T>),
}

impl<T: Copy> Numbers<T> {
    /// The number of rows, if it is not that of others.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Numbers::Same(_) => None,
            Numbers::Each(values) => Some(values.len()),
        }
    }

    /// Returns the number of a row; `None` beyond the last.
    pub(crate) fn at(&self, row: usize) -> Option<T> {
        match self {
            Numbers::Same(value) => Some(*value),
            Numbers::Each(values) => values.get(row).copied(),
        }
    }
}

/// Returns the common number of rows of columns, given by name; `None` if all are single numbers.
pub(crate) fn common_rows(columns: &[(&str, Option<usize>)]) -> PyResult<Option<usize>> {
    let mut lengths = columns.iter().filter_map(|(name, rows)| Some((*name, (*rows)?)));
    let Some((first, rows)) = lengths.next() else {
        return Ok(None);
    };
    match lengths.find(|(_, other)| *other != rows) {
        Some((name, found)) => Err(error(format!(
            "{name}: expected {rows} values, as many as {first}, found {found}; give arrays of one length"
        ))),
        None => Ok(Some(rows)),
    }
}

/// Reads one whole number of at least `least`, at most those of `T`.
pub(crate) fn number<T: Whole>(name: &str, value: &Bound<'_, PyAny>, least: u64) -> PyResult<T> {
    number_within(name, value, &(least..=T::MAX))
}

fn number_within<T: Whole>(name: &str, value: &Bound<'_, PyAny>, range: &RangeInclusive<u64>) -> PyResult<T> {
    let number = value.extract::<u64>().ok();
    let number = number.filter(|number| range.contains(number));
    number.and_then(T::from_u64).ok_or_else(|| out_of_range(name, range, &shown(value)))
}

fn out_of_range(place: &str, range: &RangeInclusive<u64>, found: &str) -> PyErr {
    let (least, most) = (range.start(), range.end());
    error(format!("{place}: expected a whole number from {least} to {most}, found {found}"))
}

/// Reads whether something holds: booleans, or 0 and 1.
pub(crate) fn switch(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Numbers<bool>> {
    let expected = "booleans, or 0 and 1";
    let Array { array, is_single, .. } = Array::of(name, value, "biu", expected)?;
    let numbers = typed::<i64>(&array, "i8")?;
    let numbers = numbers.as_slice().map_err(error)?.iter().enumerate();
    let read = |(row, number): (usize, &i64)| match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(error(format!("{}: expected {expected}, found {number}", place(name, row, is_single)))),
    };
    let switches: PyResult<Vec<bool>> = numbers.map(read).collect();
    Ok(numbers_of(switches?, is_single))
}

/// Reads whole numbers of at least `least`, at most those of `T`.
pub(crate) fn whole<T: Whole>(name: &str, value: &Bound<'_, PyAny>, least: u64) -> PyResult<Numbers<T>> {
    whole_within(name, value, least..=T::MAX)
}

/// Reads whole numbers within a range, which is one of `T`.
pub(crate) fn whole_within<T: Whole>(
    name: &str,
    value: &Bound<'_, PyAny>,
    range: RangeInclusive<u64>,
) -> PyResult<Numbers<T>> {
    if value.is_exact_instance_of::<PyInt>() {
        return number_within(name, value, &range).map(Numbers::Same);
    }
    let Array { array, kind, is_single } = Array::of(name, value, "iu", "whole numbers")?;
    let (numbers, rows): (Vec<T>, usize) = if kind == 'u' {
        let values = typed::<u64>(&array, "u8")?;
        let values = values.as_slice().map_err(error)?;
        (up_to_first_outside(values.iter().copied().map(Some), &range), values.len())
    } else {
        let values = typed::<i64>(&array, "i8")?;
        let values = values.as_slice().map_err(error)?;
        (up_to_first_outside(values.iter().map(|value| u64::try_from(*value).ok()), &range), values.len())
    };
    if numbers.len() < rows {
        // The number as Python writes it: it may be negative.
        let row = numbers.len();
        let found = array.get_item(row).map_or_else(|_| "another".to_owned(), |found| found.to_string());
        return Err(out_of_range(&place(name, row, is_single), &range, &found));
    }
    Ok(numbers_of(numbers, is_single))
}

/// Returns the numbers before the first that is outside of the range.
fn up_to_first_outside<T: Whole>(
    numbers: impl ExactSizeIterator<Item = Option<u64>>,
    range: &RangeInclusive<u64>,
) -> Vec<T> {
    let mut found = Vec::with_capacity(numbers.len());
    let inside = |number: Option<u64>| number.filter(|number| range.contains(number)).and_then(T::from_u64);
    found.extend(numbers.map_while(inside));
    found
}

/// Reads finite numbers that are not negative.
pub(crate) fn real(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Numbers<f64>> {
    let Array { array, is_single, .. } = Array::of(name, value, "fiu", "numbers")?;
    let values = typed::<f64>(&array, "f8")?;
    let values = values.as_slice().map_err(error)?;
    let mut found = values.iter().enumerate();
    match found.find(|(_, value)| !(value.is_finite() && **value >= 0.0)) {
        Some((row, value)) => Err(error(format!(
            "{}: expected a finite number of at least 0, found {value}",
            place(name, row, is_single)
        ))),
        None => Ok(numbers_of(values.to_vec(), is_single)),
    }
}

/// An unsigned type of whole numbers.
pub(crate) trait Whole: Copy {
    const MAX: u64;

    fn from_u64(number: u64) -> Option<Self>;
}

impl Whole for u32 {
    const MAX: u64 = u32::MAX as u64;

    fn from_u64(number: u64) -> Option<u32> {
        number.try_into().ok()
    }
}

impl Whole for u64 {
    const MAX: u64 = u64::MAX;

    fn from_u64(number: u64) -> Option<u64> {
        Some(number)
    }
}

/// An array of one dimension.
struct Array<'py> {
    array: Bound<'py, PyAny>,
    /// NumPy's letter of the kind of its numbers.
    kind: char,
    /// Whether it is a single number.
    is_single: bool,
}

impl<'py> Array<'py> {
    /// Converts a value to an array, and refuses other `kinds` of numbers and more dimensions.
    fn of(name: &str, value: &Bound<'py, PyAny>, kinds: &str, expected: &str) -> PyResult<Array<'py>> {
        let py = value.py();
        let numpy = py.import("numpy")?;
        if value.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)? {
            return Err(error(format!("{name}: expected an array without a mask; use its compressed() or filled()")));
        }
        let array = numpy.call_method1("asarray", (value,));
        let array =
            array.map_err(|cause| in_place_of(cause, py, |cause| format!("{name}: expected {expected}: {cause}")))?;
        let dtype = array.getattr("dtype")?;
        let kind: char = dtype.getattr("kind")?.extract()?;
        let dimensions: usize = array.getattr("ndim")?.extract()?;
        // NumPy makes an empty list one of floats.
        let is_empty = array.getattr("size")?.extract::<usize>()? == 0;
        if dimensions == 0 && !kinds.contains(kind) {
            return Err(error(format!("{name}: expected {expected}, found {}; convert it", shown(value))));
        }
        if dimensions > 1 || !(kinds.contains(kind) || is_empty) {
            let shape: Bound<'_, PyTuple> = array.getattr("shape")?.extract()?;
            return Err(error(format!(
                "{name}: expected one dimension of {expected}, found {dtype} of shape {shape}; convert it"
            )));
        }
        Ok(Array { array: array.call_method1("reshape", (-1,))?, kind, is_single: dimensions == 0 })
    }
}

/// Returns an array as contiguous, aligned values in the byte order of the machine.
fn typed<'py, T: Element>(array: &Bound<'py, PyAny>, dtype: &str) -> PyResult<PyReadonlyArray1<'py, T>> {
    let numpy = array.py().import("numpy")?;
    let array = numpy.call_method1("require", (array, dtype, ["C", "A"]))?;
    let array: Bound<'_, PyArray1<T>> = array.extract()?;
    array.try_readonly().map_err(error)
}

/// Returns the name of a row of a column.
fn place(name: &str, row: usize, is_single: bool) -> String {
    if is_single { name.to_owned() } else { format!("{name}[{row}]") }
}

fn numbers_of<T: Copy>(values: Vec<T>, is_single: bool) -> Numbers<T> {
    match values.first() {
        Some(only) if is_single => Numbers::Same(*only),
        _ => Numbers::Each(values),
    }
}
