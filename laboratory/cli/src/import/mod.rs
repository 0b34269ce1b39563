//! `rooflut-lab import`: turns published tables into a table set.

mod destination;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod source;
pub(crate) mod value;

use std::path::Path;

use rooflut::hardware::gpus;
use rooflut::table::sets;
use rooflut_error::Whole;
use rooflut_import::{Answers, FloorRows, GpuSheet, MeasuredGpu, import};

use self::destination::Destination;
use crate::args::{ImportArgs, ImportFrom, SetArgs};
use crate::error::Error;

/// Imports the tables and returns the text to print.
pub(crate) fn run(args: &ImportArgs) -> Result<String, Error> {
    let (layout, set) = args.from.parts();
    let inputs: Vec<&Path> = [set.src.as_path()].into_iter().chain(set.gpu_sheet.as_deref()).collect();
    let destination = Destination::try_new(&set.dest, set.force, &inputs)?;
    let answers = answers(&args.from, set, destination.name())?;
    let source = source::read(layout, &set.src, &set.skip, &answers)?;
    let import = import(&source, &answers, &gpus::ALL)?;
    destination.write(&import.files, &import.report.to_string())?;
    if args.json {
        output::as_json(&import.report, &import.files, &set.dest)
    } else {
        Ok(output::text(&import.report, &import.files, &set.dest))
    }
}

fn answers(from: &ImportFrom, set: &SetArgs, folder: &str) -> Result<Answers, Error> {
    let why = if is_built_in(folder) { "the name of a built-in set" } else { "not a name for sets" };
    let common = Answers {
        name: match &set.name {
            Some(name) => Some(given_name(name)?),
            None => set_name(folder),
        },
        no_name: format!("; the name of DEST, {folder}, is {why}"),
        gpu: gpu(set)?,
        engine: set.engine.clone(),
        timing: set.timing.clone(),
        source: set.source.clone(),
        license: set.license.clone(),
        date: set.date.clone(),
        dtype_names: set.dtype_names.clone(),
        conditions: set.conditions.clone(),
        headers: set.headers.clone(),
        folders: set.folders.clone(),
        t0_us: set.t0_us.clone(),
        floor: if set.drop_floor { FloorRows::Drop } else { FloorRows::Keep },
        ..Answers::default()
    };
    Ok(match from {
        ImportFrom::Infersim(tree) | ImportFrom::Blis(tree) => Answers {
            dtype: tree.dtype,
            gemm_dtype: tree.gemm_dtype,
            kv_dtype: tree.kv_dtype,
            mfu_peak_flops_per_s: tree.mfu_peak.map(|tflops| tflops * 1e12),
            ..common
        },
        ImportFrom::Aiconfigurator(perf) => Answers { element_bytes: perf.element_bytes, ..common },
        ImportFrom::Vidur(profile) => Answers { dtype: profile.dtype, statistic: profile.statistic, ..common },
    })
}

fn gpu(set: &SetArgs) -> Result<Option<MeasuredGpu>, Error> {
    match &set.gpu_sheet {
        Some(path) => sheet(path).map(|sheet| Some(MeasuredGpu::Own(sheet))),
        None => Ok(set.gpu.clone().map(MeasuredGpu::Known)),
    }
}

fn sheet(path: &Path) -> Result<GpuSheet, Error> {
    let text = Whole::DataSheet.open(path).map_err(Error::reading(path))?;
    let text = String::from_utf8(text).map_err(|_| Error::in_file(path, None, rooflut_error::not_text()))?;
    Ok(GpuSheet::parse(&path.display().to_string(), &text)?)
}

/// Checks that the given name is not that of a built-in set.
fn given_name(name: &str) -> Result<String, Error> {
    if is_built_in(name) {
        Err(Error::new(format!("--name: expected a name that no built-in set has, found {name}; choose another")))
    } else {
        Ok(name.to_owned())
    }
}

fn is_built_in(name: &str) -> bool {
    sets::ALL.into_iter().any(|set| set.name() == name)
}

/// Returns the name of the folder, if it may be that of a set.
fn set_name(folder: &str) -> Option<String> {
    let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = folder.starts_with(|c: char| c.is_ascii_lowercase());
    (starts && folder.chars().all(simple) && folder != "all" && !is_built_in(folder)).then(|| folder.to_owned())
}
