//! Reads the files to import.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rooflut_error::Whole;
use rooflut_import::{Answers, Content, Layout, NotImported, Source, SourceTable, foreign_files};

#[cfg(feature = "parquet")]
use super::parquet::ParquetFile;
use crate::error::Error;

/// Reads the files of a layout in `src`, a file or a folder, except those of `skip`. Files of other GPUs and
/// engine stacks than the answers name are not read, and no rows are read if they name none of several.
pub(crate) fn read(layout: Layout, src: &Path, skip: &[String], answers: &Answers) -> Result<Source, Error> {
    let mut source = Source { layout, tables: Vec::new(), not_imported: Vec::new() };
    let mut tables = Vec::new();
    for file in files(layout, src)? {
        let content = layout.content(&file.named);
        if content == Content::Unknown && !is_table(&file.path) {
            continue;
        }
        let mut leave = |rows: Option<usize>, why: &str| {
            source.not_imported.push(NotImported { path: file.named.clone(), rows, why: why.to_owned() });
        };
        let names = [&file.inside, &file.named];
        if skip.iter().any(|skipped| names.iter().any(|name| is_skipped(name, skipped))) {
            leave(None, "left out by --skip");
            continue;
        }
        match content {
            Content::Unknown => leave(None, "not the name of a table of this layout"),
            // Files that are not imported need not be readable.
            Content::NotImported(why) => leave(rows(&file).ok(), why),
            Content::Table { .. } => tables.push(file),
        }
    }
    let paths: Vec<&str> = tables.iter().map(|file| file.named.as_str()).collect();
    let foreign = foreign_files(layout, &paths, answers);
    for file in &tables {
        match &foreign {
            Ok(foreign) => match foreign.get(&file.named) {
                Some(why) => source.not_imported.push(NotImported {
                    path: file.named.clone(),
                    rows: rows(file).ok(),
                    why: why.clone(),
                }),
                None => source.tables.push(table(file, layout, answers)?),
            },
            Err(_) => source.tables.push(header(file)?),
        }
    }
    Ok(source)
}

/// A file of the source.
struct SourceFile {
    path: PathBuf,
    /// Its path in SRC.
    inside: String,
    /// Its path with SRC.
    named: String,
}

/// Finds the files in `src`. The layout depends on the folders above it, too: it may be
/// `bench_data/gemm/h100`.
fn files(layout: Layout, src: &Path) -> Result<Vec<SourceFile>, Error> {
    let mut found = Vec::new();
    let mut above = spelled(src);
    match fs::metadata(src) {
        Ok(metadata) if metadata.is_dir() => walk_all(src, "", &mut found)?,
        Ok(_) => {
            let named = spelled(src);
            return Ok(vec![SourceFile { path: src.to_owned(), inside: named.clone(), named }]);
        }
        Err(error) => {
            let name = src.file_name().unwrap_or_default().to_string_lossy();
            let is_version = name.starts_with(|c: char| c.is_ascii_digit());
            if layout == Layout::AiConfigurator && is_version {
                above = walk_stack(src, &mut found)?;
            }
            if found.is_empty() {
                return Err(Error::reading(src)(error));
            }
        }
    }
    let files = found.into_iter().map(|(path, inside)| SourceFile { path, named: format!("{above}/{inside}"), inside });
    Ok(files.collect())
}

/// Finds the files of one engine stack in the folders of all operations, and returns the folder of these:
/// `h100_sxm/vllm/0.24.0` stands for `h100_sxm/gemm/vllm/0.24.0` and its like.
fn walk_stack(src: &Path, found: &mut Vec<(PathBuf, String)>) -> Result<String, Error> {
    let mut folders = src.ancestors().skip(2);
    let gpu = match folders.next() {
        Some(gpu) if gpu != Path::new("") => gpu,
        _ => Path::new("."),
    };
    let stack = src.strip_prefix(gpu).unwrap_or(src);
    let Ok(operations) = fs::read_dir(gpu) else {
        return Ok(spelled(gpu));
    };
    let mut operations: Vec<_> = operations.flatten().map(|entry| entry.file_name()).collect();
    operations.sort();
    for operation in operations {
        let inside = Path::new(&operation).join(stack);
        let folder = gpu.join(&inside);
        if folder.is_dir() {
            walk_all(&folder, &spelled(&inside), found)?;
        }
    }
    Ok(spelled(gpu))
}

/// Finds all files below a folder; `above` is its path in SRC.
fn walk_all(folder: &Path, above: &str, found: &mut Vec<(PathBuf, String)>) -> Result<(), Error> {
    let mut above: Vec<String> = match above {
        "" => Vec::new(),
        above => vec![above.to_owned()],
    };
    walk(folder, &mut above, &mut BTreeSet::new(), found)
}

/// Whether a file may be a table with a misspelt name.
fn is_table(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    ["csv", "txt", "parquet"].iter().any(|name| extension == *name)
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
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Hidden files belong to editors and version control.
        if name.starts_with('.') {
            continue;
        }
        above.push(name);
        if path.is_dir() {
            walk(&path, above, seen, found)?
        } else {
            found.push((path, above.join("/")))
        }
        above.pop();
    }
    Ok(())
}

/// Returns a path with `/` between its folders.
fn spelled(path: &Path) -> String {
    let spelled = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    spelled.trim_end_matches('/').to_owned()
}

/// The first bytes of a file that Git LFS has not fetched.
const LFS: &[u8] = b"version https://git-lfs";

fn is_lfs_pointer(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    let file = rooflut_error::open(path)?;
    file.take(LFS.len() as u64).read_to_end(&mut start)?;
    Ok(start == LFS)
}

/// Reads a table.
#[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "a CSV is read with all columns"))]
fn table(file: &SourceFile, layout: Layout, answers: &Answers) -> Result<SourceTable, Error> {
    if is_parquet(file)? {
        #[cfg(feature = "parquet")]
        return ParquetFile::open(&file.path)?.read(&file.named, |column| layout.reads(&file.named, column, answers));
    }
    csv(file)
}

/// Reads the columns of a table; the rows, too, where that is no less work.
fn header(file: &SourceFile) -> Result<SourceTable, Error> {
    if is_parquet(file)? {
        #[cfg(feature = "parquet")]
        return Ok(ParquetFile::open(&file.path)?.header(&file.named));
    }
    csv(file)
}

/// Counts the rows of a table.
fn rows(file: &SourceFile) -> Result<usize, Error> {
    if is_parquet(file)? {
        #[cfg(feature = "parquet")]
        return Ok(ParquetFile::open(&file.path)?.rows());
    }
    Ok(csv(file)?.len())
}

fn csv(file: &SourceFile) -> Result<SourceTable, Error> {
    let bytes = Whole::Table.open(&file.path).map_err(Error::reading(&file.path))?;
    Ok(SourceTable::of_csv(&file.named, &bytes)?)
}

/// Whether a table is in a parquet file.
///
/// # Errors
/// It cannot be read: a pointer, or a parquet file without a reader.
fn is_parquet(file: &SourceFile) -> Result<bool, Error> {
    let path = &file.path;
    if is_lfs_pointer(path).map_err(Error::reading(path))? {
        return Err(Error::in_file(
            path,
            None,
            "expected a table, found its Git LFS pointer; fetch the table with \
             `git lfs pull` in its repository",
        ));
    }
    let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
    if is_parquet && cfg!(not(feature = "parquet")) {
        return Err(Error::in_file(
            path,
            None,
            "rooflut-lab was built without a reader of parquet; build it with `cargo install --path laboratory/cli \
             --features parquet`, or convert the file to CSV",
        ));
    }
    Ok(is_parquet)
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
