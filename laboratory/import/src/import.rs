//! Imports published tables as a table set.

use std::collections::BTreeMap;

use rooflut_codegen::OperationKind;
use rooflut_error::{Error, Kind};
use rooflut_roofline::Gpu;

use crate::answers::{Answers, MeasuredGpu};
use crate::defects::variants;
use crate::device;
use crate::error::wrong;
use crate::file::{self, File};
use crate::filter::RowFilter;
use crate::findings::{Facts, Findings};
use crate::folders;
use crate::layout::{Content, Heads, Layout};
use crate::missing::{self, MissingAnswer};
use crate::read::{self, Readings};
use crate::reading::{LeftOut, Reason};
use crate::report::{FileRead, LeftOutRows, NotImported, ReasonCount, Report, TableCount, ranges};
use crate::set::{self, SetFile};
use crate::table::SourceTable;
use crate::text::{MAX_LISTED, listed};

/// A table set in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// `set.toml` and a CSV for each operation.
    pub files: Vec<SetFile>,
    /// The account of every row.
    pub report: Report,
}

/// The files to import, all of one layout.
#[derive(Debug, Clone)]
pub struct Source {
    /// The layout.
    pub layout: Layout,
    /// The tables that could be read. Tables that no set can hold are included: their rows are counted.
    pub tables: Vec<SourceTable>,
    /// The files that were not imported, with the reason.
    pub not_imported: Vec<NotImported>,
}

/// Turns published tables into a table set.
///
/// `known` are the GPUs that the library has data sheets of. They are listed if `answers` has no GPU, and
/// their peaks are tried if an `mfu` column does not fit.
///
/// # Errors
/// All that stands in its way, at once: missing answers, missing columns, one kernel with several latencies
/// that columns distinguish, rows that no GPU or format explains.
pub fn import(source: &Source, answers: &Answers, known: &[Gpu]) -> Result<Import, Error> {
    let layout = source.layout;
    let Sorted { tables, not_imported, mut missing } = sort(source, answers)?;
    let names: Vec<&str> = known.iter().map(|gpu| &*gpu.name).collect();
    let sources: Vec<&SourceTable> = tables.iter().map(|(table, ..)| *table).collect();
    let is_selected = missing.is_empty();
    let complete = missing::complete(layout, &sources, answers, &names, &mut missing);
    if !is_selected || missing.iter().any(MissingAnswer::is_header) {
        return Err(missing::unanswered(&missing));
    }
    let mut problems = Vec::new();
    let mut files = Vec::new();
    for (table, operation, heads) in tables {
        match File::try_new(layout, table, operation, heads, answers) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(file::check_conditions(&files, answers).err());
    problems.extend(file::check_dtype_names(&files, answers).err());
    let mut read = read::read(layout, &files, answers);
    let mut findings = Findings::default();
    findings.of_files(&files, &read);
    let rows = read.readings.values().flatten();
    let measured = answers.gpu.as_ref();
    let other = measured.and_then(|gpu| device::check_devices(&files, rows, gpu, known).err());
    // Rows of another GPU need not be possible on this one.
    let gpu = measured.map(MeasuredGpu::gpu).filter(|_| other.is_none());
    problems.extend(other);
    for (operation, readings) in &mut read.readings {
        if let Err(problem) = variants::check(*operation, readings, &read.variants) {
            problems.push(problem);
            continue;
        }
        let Some(gpu) = gpu else { continue };
        let mut filter = RowFilter {
            operation: *operation,
            readings: std::mem::take(readings),
            left_out: &mut read.left_out,
            findings: &mut findings,
        };
        filter.warm_ups(&read.first_rows);
        problems.extend(filter.impossible(gpu, &files).err());
        filter.repeated();
        filter.floor(gpu, answers.floor);
        filter.points();
        *readings = filter.readings;
        let facts = Facts { gpu, answers, known, files: &files };
        findings.of_rows(*operation, readings, &facts);
    }
    read.left_out.sort_by_key(|left_out| (left_out.file, left_out.number));
    let tables = counts(&files, &read);
    if problems.is_empty() && missing.is_empty() {
        nothing_left(&tables)?;
    }
    let engines = match &answers.engine {
        Some(engine) => vec![engine.clone()],
        None => device::engines(&files, read.readings.values().flatten()),
    };
    if engines.len() > 1 {
        let problem = format!(
            "expected rows of one engine stack, found {}; select one with --where version=..., or name the \
             stack of the set with --engine",
            listed(&engines)
        );
        problems.push(wrong("engine", problem));
    }
    if engines.is_empty() && !missing.iter().any(|missing| missing.flag == "--engine") {
        missing.push(missing::engine());
    }
    if !missing.is_empty() {
        problems.insert(0, missing::unanswered(&missing));
    }
    let complete = complete.filter(|_| problems.is_empty());
    let (Some(complete), [engine]) = (complete, engines.as_slice()) else {
        let kind = problems.first().map_or(Kind::Conflict, Error::kind);
        let all: Vec<String> = problems.iter().map(Error::to_string).collect();
        return Err(Error::new(kind, all.join("; also: ")));
    };
    Ok(Import {
        files: set::files(&complete, engine, answers, &read.readings),
        report: Report {
            layout: layout.name(),
            set: complete.name.to_owned(),
            gpu: complete.gpu.gpu().name.to_string(),
            tables,
            findings: findings.into_list(),
            files: files_read(&files, &read),
            not_imported,
            left_out: left_out(&files, &read.left_out),
        },
    })
}

/// Checks that a row is left.
///
/// # Errors
/// None is.
fn nothing_left(tables: &[TableCount]) -> Result<(), Error> {
    if tables.iter().any(|table| table.written > 0) {
        return Ok(());
    }
    let reasons = tables.iter().flat_map(|table| &table.left_out);
    let left_out: Vec<String> =
        reasons.map(|ReasonCount { reason, rows }| format!("{rows} left out: {reason}")).collect();
    let text = if left_out.is_empty() {
        "expected rows of measurements, found only headers; check SRC".to_owned()
    } else {
        format!("expected rows that a table set can hold, found none: {}", left_out.join("; "))
    };
    Err(Error::new(Kind::Contents, text))
}

/// The files of a source: tables to read, and the others.
struct Sorted<'s> {
    tables: Vec<(&'s SourceTable, OperationKind, Option<Heads>)>,
    not_imported: Vec<NotImported>,
    missing: Vec<MissingAnswer>,
}

fn sort<'s>(source: &'s Source, answers: &Answers) -> Result<Sorted<'s>, Error> {
    let layout = source.layout;
    let mut not_imported = source.not_imported.clone();
    let mut leave = |table: &SourceTable, why: &str| {
        not_imported.push(NotImported { path: table.path.clone(), rows: Some(table.len()), why: why.to_owned() });
    };
    let mut tables = Vec::new();
    for table in &source.tables {
        match layout.content(&table.path) {
            _ if table.header.is_none() && table.is_empty() => leave(table, "an empty file"),
            Content::Table { operation, heads } => tables.push((table, operation, heads)),
            Content::NotImported(why) => leave(table, why),
            Content::Unknown => leave(table, "no table of this layout"),
        }
    }
    let paths: Vec<&str> = tables.iter().map(|(table, ..)| table.path.as_str()).collect();
    let (foreign, missing) = match folders::foreign_files(layout, &paths, answers) {
        Ok(foreign) => (foreign, Vec::new()),
        Err(missing) => (BTreeMap::new(), missing),
    };
    tables.retain(|(table, ..)| {
        let why = foreign.get(&table.path);
        if let Some(why) = why {
            leave(table, why);
        }
        why.is_none()
    });
    not_imported.sort_by(|a, b| a.path.cmp(&b.path));
    if tables.is_empty() {
        return Err(no_table(layout, &not_imported));
    }
    Ok(Sorted { tables, not_imported, missing })
}

fn no_table(layout: Layout, not_imported: &[NotImported]) -> Error {
    let mut text = format!("expected tables of {layout} ({}), found none", layout.expected());
    for NotImported { path, why, .. } in not_imported.iter().take(MAX_LISTED) {
        text.push_str(&format!("; {path}: {why}"));
    }
    match not_imported.len() {
        0 => text.push_str("; check the path"),
        found if found > MAX_LISTED => text.push_str(&format!("; and {} more", found - MAX_LISTED)),
        _ => {}
    }
    Error::new(Kind::Contents, text)
}

fn counts(files: &[File<'_>], read: &Readings) -> Vec<TableCount> {
    let mut reasons = BTreeMap::<(OperationKind, Reason), usize>::new();
    for left_out in &read.left_out {
        if let Some(file) = files.get(left_out.file) {
            *reasons.entry((file.operation, left_out.cause.reason)).or_default() += 1;
        }
    }
    let rows = |operation: OperationKind| {
        let of = files.iter().filter(move |file| file.operation == operation);
        of.map(|file| file.table.len() * file.measurements_per_row).sum::<usize>()
    };
    OperationKind::ALL
        .into_iter()
        .filter(|operation| files.iter().any(|file| file.operation == *operation))
        .map(|operation| TableCount {
            operation: operation.name(),
            read: rows(operation),
            written: read.readings.get(&operation).map_or(0, Vec::len),
            left_out: reasons
                .iter()
                .filter(|((kind, _), _)| *kind == operation)
                .map(|((_, reason), rows)| ReasonCount { reason: reason.text().to_owned(), rows: *rows })
                .collect(),
        })
        .collect()
}

fn files_read(files: &[File<'_>], read: &Readings) -> Vec<FileRead> {
    let described = files.iter().zip(&read.ignored).map(|(file, ignored)| FileRead {
        path: file.table.path.clone(),
        operation: file.operation.name(),
        rows: file.table.len(),
        measurements_per_row: file.measurements_per_row,
        ignored: ignored.clone(),
    });
    described.collect()
}

/// Groups left-out rows by file, reason and detail.
fn left_out(files: &[File<'_>], left_out: &[LeftOut]) -> Vec<LeftOutRows> {
    let mut groups = BTreeMap::<(usize, Reason, &str), Vec<u64>>::new();
    for LeftOut { file, number, cause } in left_out {
        let key = (*file, cause.reason, cause.detail.as_str());
        groups.entry(key).or_default().push(*number);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((file, reason, _), numbers)| (*file, *reason, numbers.first().copied()));
    let rows = groups.iter().filter_map(|((file, reason, detail), numbers)| {
        let table = files.get(*file)?.table;
        Some(LeftOutRows {
            file: table.path.clone(),
            numbering: table.numbering.name(),
            places: ranges(numbers),
            rows: numbers.len(),
            reason: reason.text().to_owned(),
            detail: (*detail).to_owned(),
        })
    });
    rows.collect()
}
