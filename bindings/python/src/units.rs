//! Units of sweeps that several processes simulate.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::border::{compute, interruptible};
use crate::error::error;

/// A sweep whose rows are simulated in units.
#[pyclass(frozen, module = "rooflut._rooflut")]
pub(crate) struct SweepUnits(Arc<rooflut_cli::SweepUnits>);

#[pymethods]
impl SweepUnits {
    #[new]
    #[pyo3(signature = (arguments, points=None))]
    fn new(py: Python<'_>, arguments: Vec<OsString>, points: Option<Vec<u8>>) -> PyResult<SweepUnits> {
        let arguments = ["rooflut", "sweep"].map(OsString::from).into_iter().chain(arguments);
        let arguments: Vec<OsString> = arguments.collect();
        let units = interruptible(py, move |_| {
            rooflut_cli::SweepUnits::try_new(arguments, points.as_deref()).map_err(|error| error.to_string())
        })?;
        Ok(SweepUnits(Arc::new(units)))
    }

    /// Number of points of the grid.
    #[getter]
    fn points(&self) -> u64 {
        self.0.points()
    }

    /// Checks that there are at most this many points; the error of more has their hours on the workers.
    fn check_size(&self, py: Python<'_>, max_points: u64, workers: usize) -> PyResult<()> {
        let units = Arc::clone(&self.0);
        interruptible(py, move |_| units.check_size(max_points, workers).map_err(|error| error.in_keys()))
    }

    /// The text that identifies grid, files, version and tables in each row.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.0.fingerprint()
    }

    /// Returns the header as a line of CSV.
    fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.csv_header())
    }

    /// Simulates the rows from start to end; returns lines of CSV, the number of rows with an error, and remarks.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        end: u64,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, u64, Vec<String>)> {
        let units = Arc::clone(&self.0);
        let rows =
            interruptible(py, move |stop| units.rows(start..end, threads, &stop).map_err(|error| error.to_string()))?;
        Ok((PyBytes::new(py, &rows.csv), rows.failed, rows.remarks))
    }

    /// Checks that lines of CSV are whole rows, from that of index first on, and returns their number.
    fn check(&self, py: Python<'_>, csv: &[u8], first: u64) -> PyResult<u64> {
        compute(py, || self.0.check(csv, first))?.map_err(error)
    }

    /// Opens the output that the arguments name.
    fn open(&self, py: Python<'_>) -> PyResult<UnitsOut> {
        let units = Arc::clone(&self.0);
        interruptible(py, move |_| {
            let out = units.open().map_err(|error| error.to_string())?;
            Ok(UnitsOut { units, out: Mutex::new(Some(out)) })
        })
    }
}

/// The output of a sweep, which takes its units in the order of the grid.
#[pyclass(frozen, module = "rooflut._rooflut")]
pub(crate) struct UnitsOut {
    units: Arc<rooflut_cli::SweepUnits>,
    out: Mutex<Option<rooflut_cli::UnitsOut>>,
}

#[pymethods]
impl UnitsOut {
    /// Rows of the output: the index of the next unit.
    #[getter]
    fn rows(&self) -> PyResult<u64> {
        self.with(|_, out| Ok(out.rows()))
    }

    /// Adds the rows of the next unit, and returns their number.
    fn push(&self, py: Python<'_>, csv: &[u8]) -> PyResult<u64> {
        compute(py, || self.with(|units, out| out.push(units, csv).map_err(error)))?
    }

    /// Writes rows that are in memory alone, and closes the output.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        compute(py, || {
            let out = self.out.lock().unwrap_or_else(PoisonError::into_inner).take();
            out.map_or(Ok(()), |mut out| out.finish().map_err(error))
        })?
    }
}

impl UnitsOut {
    fn with<T>(
        &self,
        work: impl FnOnce(&rooflut_cli::SweepUnits, &mut rooflut_cli::UnitsOut) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let out = out.as_mut().ok_or_else(|| error("the output is closed; open it again"))?;
        work(&self.units, out)
    }
}

/// Returns the rows of a sweep, a CSV file or a folder of Parquet files, as CSV.
#[pyfunction]
pub(crate) fn sweep_csv(py: Python<'_>, out: PathBuf) -> PyResult<String> {
    compute(py, || rooflut_cli::sweep_csv(&out))?.map_err(error)
}

/// Returns the version with its commit and the fingerprint of the measurements.
#[pyfunction]
pub(crate) fn version() -> String {
    rooflut_cli::version::version()
}
