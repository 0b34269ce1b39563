//! A folder of tables with its `set.toml`.

use std::path::Path;

use crate::Error;
use crate::gpus::Gpus;
use crate::header::Header;
use crate::operation::{AllReduce, Decode, Gemm, Moe, Operation, Prefill};
use crate::table::Table;
use crate::toml_file::TomlFile;

/// A checked table set, ready to be emitted.
pub struct TableSet {
    pub(crate) header: Header,
    pub(crate) gemm: Option<Table<Gemm>>,
    pub(crate) prefill: Option<Table<Prefill>>,
    pub(crate) decode: Option<Table<Decode>>,
    pub(crate) allreduce: Option<Table<AllReduce>>,
    pub(crate) moe: Option<Table<Moe>>,
}

/// The files of a set; all but the first are optional.
pub const FILES: [&str; 6] = [
    "set.toml",
    Gemm::FILE,
    Prefill::FILE,
    Decode::FILE,
    AllReduce::FILE,
    Moe::FILE,
];

impl TableSet {
    pub(crate) fn read(dir: &Path, gpus: &Gpus) -> Result<TableSet, Error> {
        if !dir.is_dir() {
            return Err(Error::NoFolder {
                dir: dir.to_owned(),
            });
        }
        let header_path = dir.join("set.toml");
        if matches!(header_path.try_exists(), Ok(false)) {
            return Err(Error::NoSetToml {
                dir: dir.to_owned(),
            });
        }
        let folder = dir
            .file_name()
            .unwrap_or(dir.as_os_str())
            .to_string_lossy()
            .into_owned();
        check_files(dir, &folder)?;
        let text = std::fs::read_to_string(&header_path).map_err(|source| Error::Io {
            path: header_path,
            source,
        })?;
        let file = format!("{folder}/set.toml");
        let header = Header::parse(&TomlFile::new(&file, &text), gpus)?;
        let gpu = &header.gpu;
        let set = TableSet {
            gemm: Table::read(dir, &folder, gpu, header.gemm)?,
            prefill: Table::read(dir, &folder, gpu, header.prefill)?,
            decode: Table::read(dir, &folder, gpu, header.decode)?,
            allreduce: Table::read(dir, &folder, gpu, header.allreduce)?,
            moe: Table::read(dir, &folder, gpu, header.moe)?,
            header,
        };
        let empty = set.gemm.is_none()
            && set.prefill.is_none()
            && set.decode.is_none()
            && set.allreduce.is_none()
            && set.moe.is_none();
        if empty {
            Err(Error::NoTable {
                file: folder,
                expected: FILES.iter().copied().skip(1).collect(),
            })
        } else {
            Ok(set)
        }
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.header.name
    }
}

/// A misspelt file would be left out in silence: refuse CSV files that no operation reads.
fn check_files(dir: &Path, folder: &str) -> Result<(), Error> {
    let io = |source| Error::Io {
        path: dir.to_owned(),
        source,
    };
    let mut names = std::fs::read_dir(dir)
        .map_err(io)?
        .map(|entry| {
            Ok(entry
                .map_err(io)?
                .file_name()
                .to_string_lossy()
                .into_owned())
        })
        .collect::<Result<Vec<String>, Error>>()?;
    names.sort();
    let unknown = names.into_iter().find(|name| {
        // Hidden files belong to editors and file managers.
        name.to_ascii_lowercase().ends_with(".csv")
            && !name.starts_with('.')
            && !FILES.contains(&name.as_str())
    });
    match unknown {
        Some(name) => Err(Error::UnknownFile {
            file: format!("{folder}/{name}"),
            expected: FILES.iter().copied().skip(1).collect(),
        }),
        None => Ok(()),
    }
}
