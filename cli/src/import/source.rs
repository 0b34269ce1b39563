//! Reads the files to import.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rooflut_import::{Content, Layout, NotImported, Source, SourceTable};

#[cfg(feature = "parquet")]
use super::parquet;
use crate::error::Error;

/// Reads all files of a layout in `src`, a file or a folder, except those of `skip`.
pub(crate) fn read(layout: Layout, src: &Path, skip: &[String]) -> Result<Source, Error> {
    let mut found = Vec::new();
    let metadata = fs::metadata(src).map_err(Error::reading(src))?;
    match metadata.is_dir() {
        true => walk(src, &mut Vec::new(), &mut BTreeSet::new(), &mut found)?,
        false => found.push((src.to_owned(), spelled(src))),
    }
    // The layout depends on the folders above SRC, too: SRC may be `bench_data/gemm/h100`.
    let above = match metadata.is_dir() {
        true => format!("{}/", spelled(src)),
        false => String::new(),
    };
    let mut source = Source {
        layout,
        tables: Vec::new(),
        not_imported: Vec::new(),
    };
    for (path, inside) in found {
        let named = format!("{above}{inside}");
        let content = layout.content(&named);
        if content == Content::Unknown && !is_table(&path) {
            continue;
        }
        let mut leave = |why: &str| {
            source.not_imported.push(NotImported {
                path: named.clone(),
                rows: None,
                why: why.to_owned(),
            });
        };
        if skip.iter().any(|skipped| is_skipped(&inside, skipped)) {
            leave("left out by --skip");
            continue;
        }
        if content == Content::Unknown {
            leave("not the name of a table of this layout");
            continue;
        }
        match (table(&path, &named), content) {
            (Ok(table), _) => source.tables.push(table),
            // Files that are not imported need not be readable.
            (Err(_), Content::NotImported(why)) => leave(why),
            (Err(error), _) => return Err(error),
        }
    }
    Ok(source)
}

/// Whether a file may be a table with a misspelt name.
fn is_table(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    ["csv", "txt", "parquet"]
        .iter()
        .any(|name| extension == *name)
}

/// Whether a path is `skipped` or below it.
fn is_skipped(path: &str, skipped: &str) -> bool {
    let skipped = skipped.trim_start_matches("./").trim_end_matches('/');
    let rest = path.strip_prefix(skipped);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Finds all files below a folder, with their paths in it, in the order of the paths.
fn walk(
    folder: &Path,
    above: &mut Vec<String>,
    seen: &mut BTreeSet<PathBuf>,
    found: &mut Vec<(PathBuf, String)>,
) -> Result<(), Error> {
    // A link may lead back to a folder that contains it.
    let real = fs::canonicalize(folder).map_err(Error::reading(folder))?;
    if !seen.insert(real) {
        return Ok(());
    }
    let entries = fs::read_dir(folder).map_err(Error::reading(folder))?;
    let mut paths = entries
        .map(|entry| Ok(entry.map_err(Error::reading(folder))?.path()))
        .collect::<Result<Vec<PathBuf>, Error>>()?;
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // Hidden files belong to editors and version control.
        if name.starts_with('.') {
            continue;
        }
        above.push(name);
        match path.is_dir() {
            true => walk(&path, above, seen, found)?,
            false => found.push((path, above.join("/"))),
        }
        above.pop();
    }
    Ok(())
}

/// Returns a path with `/` between its folders.
fn spelled(path: &Path) -> String {
    let spelled = path
        .to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/");
    spelled.trim_end_matches('/').to_owned()
}

/// The first bytes of a file that Git LFS has not fetched.
const LFS: &[u8] = b"version https://git-lfs";

fn is_lfs_pointer(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    let file = fs::File::open(path)?;
    file.take(LFS.len() as u64).read_to_end(&mut start)?;
    Ok(start == LFS)
}

fn table(path: &Path, named: &str) -> Result<SourceTable, Error> {
    if is_lfs_pointer(path).map_err(Error::reading(path))? {
        return Err(Error::in_file(
            path,
            None,
            "expected a table, found the pointer of Git LFS to it; fetch the table with \
             `git lfs pull` in its repository",
        ));
    }
    if path
        .extension()
        .is_some_and(|extension| extension == "parquet")
    {
        #[cfg(feature = "parquet")]
        return parquet::read(path, named);
        #[cfg(not(feature = "parquet"))]
        return Err(Error::in_file(
            path,
            None,
            "this rooflut was built without a reader of parquet; build it with `cargo install --path \
             cli --features parquet`, or convert the file to CSV",
        ));
    }
    let bytes = fs::read(path).map_err(Error::reading(path))?;
    Ok(SourceTable::of_csv(named, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_or_a_whole_folder_is_skipped() {
        assert!(is_skipped("gemm/h100/data.csv", "gemm/h100/data.csv"));
        assert!(is_skipped("gemm/h100/data.csv", "./gemm/"));
        assert!(!is_skipped("gemm/h100/data.csv", "gem"));
        assert!(!is_skipped("gemm/h100/data.csv", "h100"));
    }
}
