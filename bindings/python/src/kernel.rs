//! Lookups of one kernel.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut::op;

use crate::arrays::{Numbers, common_rows, whole_within};
use crate::border::compute;
use crate::error::error;

/// Queries between two looks at the signals.
const BLOCK: usize = 1 << 18;

/// A kernel whose measured points are found. Lookups cannot fail.
#[pyclass(frozen, module = "rooflut")]
pub(crate) struct Kernel {
    kernel: op::Kernel,
    /// Its operation and table set.
    name: String,
}

impl Kernel {
    pub(crate) fn new(kernel: op::Kernel, name: String) -> Kernel {
        Kernel { kernel, name }
    }

    /// Reads the arguments of a query; the second of an operation with one is 1.
    fn query(&self, given: Option<&Bound<'_, PyDict>>) -> PyResult<[Numbers<u64>; 2]> {
        let mut query = [Numbers::Same(1), Numbers::Same(1)];
        let arguments = self.kernel.arguments();
        let names: Vec<&str> = arguments.iter().map(|argument| argument.name()).collect();
        for name in given.into_iter().flat_map(|given| given.keys()) {
            let name: String = name.extract()?;
            if !names.contains(&name.as_str()) {
                return Err(error(format!("{name}: unknown argument; give {}", names.join(" and "))));
            }
        }
        for ((argument, name), numbers) in arguments.iter().zip(&names).zip(&mut query) {
            let value = given.map(|given| given.get_item(name)).transpose()?;
            let value =
                value.flatten().ok_or_else(|| error(format!("{name}: missing; give {}", names.join(" and "))))?;
            *numbers = whole_within(name, &value, 1..=argument.max())?;
        }
        Ok(query)
    }
}

#[pymethods]
impl Kernel {
    /// Returns the time of one query.
    #[pyo3(signature = (**query))]
    fn at(&self, query: Option<&Bound<'_, PyDict>>) -> PyResult<Estimate> {
        match self.query(query)? {
            [Numbers::Same(first), Numbers::Same(second)] => Ok(self.kernel.at(first, second).into()),
            _ => Err(error("expected single numbers; use times() for arrays")),
        }
    }

    /// Returns the times of many queries in seconds; single numbers apply to all rows.
    #[pyo3(signature = (**query))]
    fn times<'py>(&self, py: Python<'py>, query: Option<&Bound<'_, PyDict>>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let columns = self.query(query)?;
        let lengths: Vec<_> = self.arguments().into_iter().zip(columns.iter().map(Numbers::rows)).collect();
        let rows = common_rows(&lengths)?.unwrap_or(1);
        let [first, second] = &columns;
        let mut times: Vec<f64> = Vec::with_capacity(rows);
        while times.len() < rows {
            let block = times.len()..rows.min(times.len() + BLOCK);
            let queries = block.filter_map(|row| Some((first.at(row)?, second.at(row)?)));
            let answers = queries.map(|(first, second)| self.kernel.at(first, second).time.0);
            compute(py, || times.extend(answers))?;
            py.check_signals()?;
        }
        Ok(PyArray1::from_vec(py, times))
    }

    /// The names of the arguments of a query: ``["m"]`` of a GEMM, ``["batch", "kv_tokens"]`` of decoding.
    #[getter]
    fn arguments(&self) -> Vec<&'static str> {
        let arguments = self.kernel.arguments().iter();
        arguments.map(|argument| argument.name()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<rooflut.Kernel {}>", self.name)
    }
}

/// The time of a kernel.
#[pyclass(frozen, get_all, module = "rooflut")]
pub(crate) struct Estimate {
    /// Time in seconds.
    time_s: f64,
    /// Model FLOPs utilization, from 0 to 1.
    mfu: f64,
    /// The source of the time, and whether it lies inside the measured axes.
    provenance: String,
}

impl From<op::Estimate> for Estimate {
    fn from(estimate: op::Estimate) -> Estimate {
        Estimate { time_s: estimate.time.0, mfu: estimate.mfu().0, provenance: estimate.provenance.to_string() }
    }
}

#[pymethods]
impl Estimate {
    fn __repr__(&self) -> String {
        format!("<rooflut.Estimate {:e} s, {}>", self.time_s, self.provenance)
    }
}
