//! Columns of a table, and their conversion to NumPy arrays.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The values of a column.
pub(crate) enum Column {
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// One of few names.
    Name(Vec<&'static str>),
}

macro_rules! column_from {
    ($($variant:ident $type:ty),*) => {$(
        impl From<Vec<$type>> for Column {
            fn from(values: Vec<$type>) -> Column {
                Column::$variant(values)
            }
        }
    )*};
}

column_from!(U32 u32, U64 u64, I64 i64, F32 f32, F64 f64, Name &'static str);

/// Columns by name.
pub(crate) type Columns = Vec<(&'static str, Column)>;

/// Returns the named fields of rows as columns.
macro_rules! columns {
    ($rows:expr; $($field:ident)*) => {
        vec![$((
            stringify!($field),
            $crate::columns::Column::from($rows.iter().map(|row| row.$field).collect::<Vec<_>>()),
        )),*]
    };
}

pub(crate) use columns;

/// Returns a dictionary of arrays.
pub(crate) fn to_dict<'py>(py: Python<'py>, columns: Columns) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in columns {
        let array = match column {
            Column::U32(values) => PyArray1::from_vec(py, values).into_any(),
            Column::U64(values) => PyArray1::from_vec(py, values).into_any(),
            Column::I64(values) => PyArray1::from_vec(py, values).into_any(),
            Column::F32(values) => PyArray1::from_vec(py, values).into_any(),
            Column::F64(values) => PyArray1::from_vec(py, values).into_any(),
            Column::Name(values) => names(py, &values)?,
        };
        dict.set_item(name, array)?;
    }
    Ok(dict)
}

/// Returns an array of strings.
fn names<'py>(py: Python<'py>, values: &[&'static str]) -> PyResult<Bound<'py, PyAny>> {
    let mut distinct: Vec<&str> = values.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let codes = values.iter().filter_map(|value| distinct.binary_search(value).ok());
    let codes: Vec<u64> = codes.map(|code| code as u64).collect();
    let names = py.import("numpy")?.call_method1("array", (distinct, "U"))?;
    names.get_item(PyArray1::from_vec(py, codes))
}
