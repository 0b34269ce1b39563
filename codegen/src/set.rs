//! A checked set of tables.

use std::path::Path;

use rooflut_roofline::OperationKind;

use crate::Error;
use crate::files::{FILES, Files};
use crate::gpus::Gpus;
use crate::header::Header;
use crate::measured::TableRows;
use crate::table::Table;
use crate::toml_file::TomlFile;

/// A checked table set, ready to be emitted or stored.
pub struct TableSet {
    pub(crate) header: Header,
    /// In order of their operations.
    pub(crate) tables: Vec<Table>,
}

impl TableSet {
    /// Reads and checks the set at `path`, which has none of the names `taken`.
    ///
    /// # Errors
    /// See [`Error`].
    pub(crate) fn read(path: &Path, gpus: &Gpus, taken: &[&str]) -> Result<TableSet, Error> {
        let files = Files::read(path)?;
        let header = Header::parse(&TomlFile::of(files.header())?, gpus, taken)?;
        if files.has_no_table() {
            return Err(Error::NoTable {
                file: files.name().to_owned(),
                expected: FILES.iter().copied().skip(1).collect(),
            });
        }
        let mut tables = Vec::new();
        for kind in OperationKind::ALL {
            tables.extend(Table::read(kind, &files, &header)?);
        }
        Ok(TableSet { header, tables })
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.header.name
    }

    /// The rows of its tables with their places in the files.
    pub fn rows(&self) -> Vec<TableRows> {
        self.tables.iter().map(Table::measured).collect()
    }
}
