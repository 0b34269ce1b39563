//! The border between rooflut and Python: converts types and computes nothing.
//!
//! The package `rooflut` around it adds what is plain Python: dictionaries, frames, the asynchronous iterator.

mod arrays;
mod baseline;
mod batch;
mod border;
mod columns;
mod command;
mod deployment;
mod error;
mod event;
mod frame;
mod html;
mod kernel;
mod model;
mod records;
mod scenario;
mod server;
mod shape;
mod simulate;
mod steps;
mod tables;
mod toml_value;
mod units;

/// The extension module.
#[pyo3::pymodule]
mod _rooflut {
    use pyo3::prelude::*;
    use rooflut::step::{Binding, Part};
    use rooflut::table::Class;

    /// Adds the version, and the names that steps use, in the order of the library.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("PARTS", Part::ALL.map(Part::name))?;
        module.add("BINDINGS", Binding::ALL.map(Binding::name))?;
        module.add("CLASSES", Class::ALL.map(Class::name))
    }

    #[pymodule_export]
    use crate::baseline::_baseline;
    #[pymodule_export]
    use crate::border::_panic;
    #[pymodule_export]
    use crate::command::{answer, main};
    #[pymodule_export]
    use crate::deployment::Deployment;
    #[pymodule_export]
    use crate::error::RooflutError;
    #[pymodule_export]
    use crate::event::{_event, Event};
    #[pymodule_export]
    use crate::html::html;
    #[pymodule_export]
    use crate::kernel::{Estimate, Kernel};
    #[pymodule_export]
    use crate::model::read_config;
    #[pymodule_export]
    use crate::server::Server;
    #[pymodule_export]
    use crate::simulate::simulate;
    #[pymodule_export]
    use crate::tables::Tables;
    #[pymodule_export]
    use crate::units::{SweepUnits, UnitsOut, sweep_csv, version};
}
