//! `rooflut tables`: what is compiled in, or what a set of measurements holds.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use rooflut::hardware::{AttentionShape, Dtype};
use rooflut::table::{Axis, Curve, Entry, Grid as Points, KernelTable, TableSet, sets};
use serde::Serialize;

use crate::args::{TablesArgs, TablesCommand};
use crate::error::Error;
use crate::output::{Align, Answered, Grid, count, json, wrapped};
use crate::table_set::{self, WhichSet};
use crate::{check, plot, score};

/// Answers with the text to print.
pub(crate) fn run(args: &TablesArgs) -> Result<Answered, Error> {
    let tables = args.tables.as_deref();
    match &args.command {
        Some(TablesCommand::Score(score)) => {
            let which = asked(score.gpu.as_deref(), tables)?;
            score::run(score, table_set::find(which)?, args.json).map(Answered::from)
        }
        Some(TablesCommand::Check(check)) => check::run(check, tables, args.json),
        Some(TablesCommand::Plot(plot)) => plot::run(plot, tables, args.json).map(Answered::from),
        None => list(tables, args.json).map(Answered::from),
    }
}

/// The one set that the flags name.
fn asked<'a>(gpu: Option<&'a str>, tables: Option<&'a Path>) -> Result<WhichSet<'a>, Error> {
    WhichSet::chosen(gpu, tables)?.ok_or_else(|| {
        let neither = "expected --gpu NAME or --tables PATH, found neither; see --help";
        Error::Arguments(neither.to_owned())
    })
}

fn list(tables: Option<&Path>, as_json: bool) -> Result<String, Error> {
    let sets: Vec<SetJson> = match tables {
        Some(path) => vec![SetJson::new(table_set::find(WhichSet::At(path))?)],
        None => sets::ALL.into_iter().map(SetJson::new).collect(),
    };
    if as_json {
        return json(&sets);
    }
    let texts: Vec<String> = sets.iter().map(SetJson::text).collect();
    Ok(texts.join("\n"))
}

#[derive(Serialize)]
struct SetJson {
    name: &'static str,
    gpu: &'static str,
    gpu_description: &'static str,
    engine: &'static str,
    timing: &'static str,
    source: &'static str,
    license: &'static str,
    date: &'static str,
    operations: Vec<OperationJson>,
}

#[derive(Serialize)]
struct OperationJson {
    name: &'static str,
    dtypes: Vec<&'static str>,
    /// Empty where the operation has no KV cache.
    kv_dtypes: Vec<&'static str>,
    shapes: usize,
    rows: usize,
    axes: Vec<AxisJson>,
}

#[derive(Serialize)]
struct AxisJson {
    name: &'static str,
    min: u32,
    max: u32,
}

impl SetJson {
    fn new(set: &TableSet) -> SetJson {
        let operations = [
            set.gemm.as_ref().map(|table| {
                let dtypes = table.entries.iter().map(|entry| entry.shape.dtype);
                curves("gemm", "m", dtypes, table)
            }),
            set.prefill
                .as_ref()
                .map(|table| grids("prefill", "seq_len", table)),
            set.decode
                .as_ref()
                .map(|table| grids("decode", "kv_len", table)),
            set.allreduce.as_ref().map(|table| {
                let mut operation = curves("allreduce", "bytes", [], table);
                let ranks = table.entries.iter().map(|entry| entry.shape.ranks);
                operation.axes.splice(0..0, span("ranks", ranks));
                operation
            }),
            set.moe.as_ref().map(|table| {
                let dtypes = table.entries.iter().map(|entry| entry.shape.dtype);
                curves("moe", "tokens", dtypes, table)
            }),
        ];
        SetJson {
            name: set.name,
            gpu: set.gpu.name,
            gpu_description: set.gpu.description,
            engine: set.origin.engine,
            timing: set.origin.timing,
            source: set.origin.source,
            license: set.origin.license,
            date: set.origin.date,
            operations: operations.into_iter().flatten().collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "{}: {}\n", self.name, self.gpu_description)?;
        text.push_str(&wrapped("engine", self.engine));
        text.push_str(&wrapped("timing", self.timing));
        text.push_str(&wrapped("source", self.source));
        text.push_str(&wrapped("licence", self.license));
        text.push_str(&wrapped("date", self.date));
        text.push('\n');
        let mut grid = Grid::new(&[
            ("operation", Align::Left),
            ("dtypes", Align::Left),
            ("KV", Align::Left),
            ("shapes", Align::Right),
            ("rows", Align::Right),
            ("ranges", Align::Left),
        ]);
        for operation in &self.operations {
            let axes = operation.axes.iter();
            let axes = axes.map(AxisJson::text);
            grid.row(vec![
                operation.name.to_owned(),
                or_dash(operation.dtypes.join(" ")),
                or_dash(operation.kv_dtypes.join(" ")),
                count(operation.shapes as u64),
                count(operation.rows as u64),
                axes.collect::<Vec<_>>().join(", "),
            ]);
        }
        text.write_str(&grid.render(2))
    }
}

impl AxisJson {
    fn text(&self) -> String {
        match self.min == self.max {
            true => format!("{} {}", self.name, self.min),
            false => format!("{} {}-{}", self.name, self.min, self.max),
        }
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

fn curves<S>(
    name: &'static str,
    axis: &'static str,
    dtypes: impl IntoIterator<Item = Dtype>,
    table: &KernelTable<S, Curve<'static>>,
) -> OperationJson {
    let curves = || table.entries.iter().map(|entry| &entry.points);
    OperationJson {
        name,
        dtypes: distinct(dtypes),
        kv_dtypes: Vec::new(),
        shapes: table.entries.len(),
        rows: curves().map(|curve| curve.latency_us().len()).sum(),
        axes: span(axis, curves().flat_map(|curve| ends(curve.axis())))
            .into_iter()
            .collect(),
    }
}

fn grids(
    name: &'static str,
    length: &'static str,
    table: &KernelTable<AttentionShape, Points<'static>>,
) -> OperationJson {
    let entries = || table.entries.iter();
    let batches = entries().flat_map(|entry: &Entry<_, Points<'_>>| ends(entry.points.batch()));
    let lengths = entries().flat_map(|entry| ends(entry.points.length()));
    OperationJson {
        name,
        dtypes: distinct(entries().map(|entry| entry.shape.dtype)),
        kv_dtypes: distinct(entries().map(|entry| entry.shape.kv_dtype)),
        shapes: table.entries.len(),
        rows: entries().map(|entry| entry.points.measured_points()).sum(),
        axes: span("batch", batches)
            .into_iter()
            .chain(span(length, lengths))
            .collect(),
    }
}

fn distinct(dtypes: impl IntoIterator<Item = Dtype>) -> Vec<&'static str> {
    let dtypes: BTreeSet<Dtype> = dtypes.into_iter().collect();
    dtypes.into_iter().map(Dtype::name).collect()
}

fn ends(axis: Axis<'_>) -> impl Iterator<Item = u32> + use<> {
    axis.range()
        .into_iter()
        .flat_map(|(first, last)| [first, last])
}

fn span(name: &'static str, values: impl Iterator<Item = u32>) -> Option<AxisJson> {
    let ends = values.fold(None, |ends, value| match ends {
        Some((min, max)) => Some((value.min(min), value.max(max))),
        None => Some((value, value)),
    });
    ends.map(|(min, max)| AxisJson { name, min, max })
}
