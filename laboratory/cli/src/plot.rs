//! `rooflut-lab tables plot`: draws a set.

use std::fs;
use std::path::{Path, PathBuf};

use rooflut_inspect::Family;
use serde::Serialize;
use serde_json::json;

use crate::args::PlotArgs;
use crate::check::{Checked, subject};
use crate::error::Error;
use crate::output::{plural, title, to_json, wrapped};
use crate::output_file::OutputFile;
use crate::outputs::{Existing, Outputs};
use crate::picture::{self, picture};

/// The first line of a picture, by which it is recognised.
const FIRST_LINE: &[u8] = b"<!-- rooflut-lab tables plot -->\n";

#[derive(Serialize)]
struct PlotJson<'f> {
    file: String,
    kernels: &'f str,
    rows: usize,
    outliers: usize,
    dips: usize,
}

/// Draws the set and returns the names of the pictures.
pub(crate) fn run(args: &PlotArgs, tables: Option<&Path>, as_json: bool) -> Result<String, Error> {
    let inspection = subject(args.set.as_deref(), tables)?;
    let set = inspection.set.name();
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => PathBuf::from(format!("{set}-plots")),
    };
    let families = inspection.families.iter();
    let files: Vec<(PathBuf, &Family)> = families.map(|family| (folder.join(file_name(family)), family)).collect();
    fs::create_dir_all(&folder).map_err(Error::writing(&folder))?;
    let read = args.set.as_deref().map(Path::new).or(tables).map(|set| (set.to_owned(), "is a file of the set"));
    let mut outputs = Outputs::new(read.into_iter().collect(), Existing::from(args.force));
    let mut written = Vec::new();
    let mut pending = Vec::new();
    for (path, family) in &files {
        let checked = Checked::new(&inspection, family);
        let drawn = picture(&inspection, family, &checked.outliers, &checked.dips);
        let mut file = outputs.open(path, FIRST_LINE)?;
        picture::write(&mut file, path, FIRST_LINE, drawn)?;
        pending.push(file);
        written.push(PlotJson {
            file: path.display().to_string(),
            kernels: &family.name,
            rows: family.rows.len(),
            outliers: checked.outliers.len(),
            dips: checked.dip_count(),
        });
    }
    // No file appears before all are drawn.
    pending.into_iter().try_for_each(OutputFile::finish)?;
    if as_json {
        return to_json(&json!({"plots": written}));
    }
    let mut text = title(&format!("{set}: {}", inspection.set.gpu().description.as_str()));
    for plot in &written {
        let found = format!(
            "{} ({}, {}, {})",
            plot.file,
            plural(plot.rows as u64, "row"),
            plural(plot.outliers as u64, "outlier"),
            plural(plot.dips as u64, "dip")
        );
        text += &wrapped("written", &found);
    }
    Ok(text)
}

/// Returns the name of a picture: `decode-bf16-fp8-kv.svg`.
fn file_name(family: &Family) -> String {
    let name = family.name.replace(" with ", " ").replace(' ', "-");
    format!("{}.svg", name.to_ascii_lowercase())
}
