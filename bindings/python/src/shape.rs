//! Shapes of kernels from keyword arguments.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut::hardware::{Dtype, OperationKind};
use rooflut_roofline::operation::{Codes, Column, ColumnKind, Operation};

use crate::arrays::{Numbers, whole};
use crate::error::error;

/// Returns the operation of this name.
pub(crate) fn operation(name: &str) -> PyResult<OperationKind> {
    let operation: Result<OperationKind, _> = name.parse();
    operation.map_err(|cause| error(format!("operation: {cause}, found {name:?}")))
}

/// Reads the columns of a shape, and checks that they do not contradict each other.
pub(crate) fn shape(operation: &Operation, given: Option<&Bound<'_, PyDict>>) -> PyResult<Codes> {
    let mut codes = Codes::default();
    for (column, code) in operation.shape.iter().zip(&mut codes) {
        let value = given.map(|given| given.get_item(column.name)).transpose()?.flatten();
        *code = match (value, column.kind) {
            (Some(value), _) => code_of(column, &value)?,
            (None, ColumnKind::CountOr(default)) => default,
            (None, _) => return Err(missing(operation, column)),
        };
    }
    for name in given.into_iter().flat_map(|given| given.keys()) {
        let name: String = name.extract()?;
        if !operation.shape.iter().any(|column| column.name == name) {
            let columns = columns(operation);
            return Err(error(format!("{name}: {} has no such column; it has {columns}", operation.name)));
        }
    }
    (operation.check)(&codes).map_err(|wrong| {
        let found = operation.code(&codes, wrong.column).unwrap_or_default();
        error(format!("{}: expected {}, found {found}; {}", wrong.column, wrong.expected, wrong.hint))
    })?;
    Ok(codes)
}

fn code_of(column: &Column, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let named = |names: &[&str]| {
        let found: String = value.extract().map_err(|_| expected(column, names, value))?;
        let place = names.iter().position(|name| *name == found).ok_or_else(|| expected(column, names, value))?;
        Ok(place as u32)
    };
    let least = match column.kind {
        ColumnKind::Dtype => {
            let found: String = value.extract().map_err(|_| expected(column, &[], value))?;
            let dtype: Result<Dtype, _> = found.parse();
            return dtype.map(Dtype::code).map_err(|cause| error(format!("{}: {cause}, found {found:?}", column.name)));
        }
        ColumnKind::Name(names) => return named(names),
        ColumnKind::Whole => 0,
        _ => 1,
    };
    match whole::<u32>(column.name, value, least)? {
        Numbers::Same(code) => Ok(code),
        Numbers::Each(_) => Err(error(format!("{}: expected one number, found an array", column.name))),
    }
}

fn expected(column: &Column, names: &[&str], value: &Bound<'_, PyAny>) -> PyErr {
    let names = match names {
        [] => "the name of a format".to_owned(),
        names => format!("one of {}", names.join(", ")),
    };
    error(format!("{}: expected {names}, found {value}", column.name))
}

fn missing(operation: &Operation, column: &Column) -> PyErr {
    let columns = columns(operation);
    error(format!("{}: missing; {} has the columns {columns}", column.name, operation.name))
}

fn columns(operation: &Operation) -> String {
    let mut names = String::new();
    for (place, column) in operation.shape.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(names, "{comma}{}", column.name);
        if let ColumnKind::CountOr(default) = column.kind {
            let _ = write!(names, " (default {default})");
        }
    }
    names
}
