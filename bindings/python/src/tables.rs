//! Table sets.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut::hardware::{MeasuredKernel, OperationKind};
use rooflut::op;
use rooflut::table::{TableSet, sets};
use rooflut_roofline::operation::Codes;

use crate::border::compute;
use crate::columns::{Column, Columns, to_dict};
use crate::error::error;
use crate::kernel::Kernel;
use crate::shape;

/// A set of measured tables.
#[pyclass(frozen, module = "rooflut")]
pub(crate) struct Tables(TableSet);

#[pymethods]
impl Tables {
    /// Finds a built-in set.
    #[new]
    fn new(name: &str) -> PyResult<Tables> {
        let mut all = sets::ALL.into_iter();
        let set = all.find(|set| set.name().eq_ignore_ascii_case(name));
        set.cloned().map(Tables).ok_or_else(|| {
            let known = Tables::names().join(", ");
            error(format!("name: expected one of {known}, found {name:?}; Tables.load() reads a folder"))
        })
    }

    /// Reads a set from a folder of measurements, or from one file made of it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Tables> {
        compute(py, || TableSet::try_load(&path))?.map(Tables).map_err(error)
    }

    /// Returns the names of the built-in sets.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        sets::ALL.into_iter().map(TableSet::name).collect()
    }

    /// The name of the set.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The name of the GPU.
    #[getter]
    fn gpu(&self) -> &str {
        self.0.gpu().name.as_str()
    }

    /// The operations that were measured.
    #[getter]
    fn operations(&self) -> Vec<&'static str> {
        self.0.tables().map(|table| table.operation().name()).collect()
    }

    /// Finds the measured points of a kernel: ``kernel("gemm", dtype="bf16", k=4096, n=6144)``.
    ///
    /// The shape has the columns of the operation's tables, formats by name.
    #[pyo3(signature = (operation, /, **shape))]
    fn kernel(&self, operation: &str, shape: Option<&Bound<'_, PyDict>>) -> PyResult<Kernel> {
        let operation = shape::operation(operation)?;
        let codes = shape::shape(operation.declared(), shape)?;
        let kernel = op::Kernel::resolve(&self.0, operation, codes).map_err(error)?;
        let name = format!("{operation} of {}", self.0.name());
        Ok(Kernel::new(kernel, name))
    }

    /// Returns the measured rows of an operation: shape, axes, and ``latency_us`` in microseconds.
    fn measured<'py>(&self, py: Python<'py>, operation: &str) -> PyResult<Bound<'py, PyDict>> {
        let operation = shape::operation(operation)?;
        let table = self.0.table(operation).ok_or_else(|| {
            let measured = self.operations().join(", ");
            error(format!("operation: {} has {measured}, not {operation}", self.0.name()))
        })?;
        let rows: Vec<_> = table.rows().collect();
        to_dict(py, columns(operation, &rows))
    }

    fn __repr__(&self) -> String {
        format!("<rooflut.Tables {}>", self.0.name())
    }
}

fn columns(operation: OperationKind, rows: &[(MeasuredKernel, f32)]) -> Columns {
    let declared = operation.declared();
    let mut columns = Columns::new();
    for (place, column) in declared.shape.iter().enumerate() {
        let codes = rows.iter().filter_map(|(kernel, _)| {
            let codes: Codes = kernel.shape();
            codes.get(place).copied()
        });
        let codes: Vec<u32> = codes.collect();
        let names: Option<Vec<&'static str>> = codes.iter().map(|code| column.name_of(*code)).collect();
        columns.push((column.name, names.map_or(Column::U32(codes), Column::Name)));
    }
    for (place, axis) in declared.axes.iter().enumerate() {
        let points = rows.iter().filter_map(|(kernel, _)| kernel.point().get(place).copied());
        columns.push((axis, Column::U32(points.collect())));
    }
    let latencies = rows.iter().map(|(_, latency_us)| *latency_us);
    columns.push(("latency_us", Column::F32(latencies.collect())));
    columns
}
