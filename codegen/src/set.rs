//! A checked set of tables.

use std::path::Path;

use crate::Error;
use crate::files::{FILES, Files};
use crate::gpus::Gpus;
use crate::header::Header;
use crate::measured::TableRows;
use crate::operation::{AllReduce, Decode, Gemm, Moe, Prefill};
use crate::table::Table;
use crate::toml_file::TomlFile;

/// A checked table set, ready to be emitted or stored.
pub struct TableSet {
    pub(crate) header: Header,
    pub(crate) gemm: Option<Table<Gemm>>,
    pub(crate) prefill: Option<Table<Prefill>>,
    pub(crate) decode: Option<Table<Decode>>,
    pub(crate) allreduce: Option<Table<AllReduce>>,
    pub(crate) moe: Option<Table<Moe>>,
}

impl TableSet {
    /// Reads and checks the set at `path`, which has none of the names `taken`.
    ///
    /// # Errors
    /// See [`Error`].
    pub(crate) fn read(path: &Path, gpus: &Gpus, taken: &[&str]) -> Result<TableSet, Error> {
        let files = Files::read(path)?;
        let header = Header::parse(&TomlFile::of(files.header())?, gpus, taken)?;
        let gpu = &header.gpu;
        if files.has_no_table() {
            return Err(Error::NoTable {
                file: files.name().to_owned(),
                expected: FILES.iter().copied().skip(1).collect(),
            });
        }
        Ok(TableSet {
            gemm: Table::read(&files, gpu, header.gemm)?,
            prefill: Table::read(&files, gpu, header.prefill)?,
            decode: Table::read(&files, gpu, header.decode)?,
            allreduce: Table::read(&files, gpu, header.allreduce)?,
            moe: Table::read(&files, gpu, header.moe)?,
            header,
        })
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.header.name
    }

    /// The rows of its tables with their places in the files.
    pub fn rows(&self) -> Vec<TableRows> {
        let tables = [
            self.gemm.as_ref().map(Table::measured),
            self.prefill.as_ref().map(Table::measured),
            self.decode.as_ref().map(Table::measured),
            self.allreduce.as_ref().map(Table::measured),
            self.moe.as_ref().map(Table::measured),
        ];
        tables.into_iter().flatten().collect()
    }
}
