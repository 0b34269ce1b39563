//! `rooflut tables`: lists the built-in tables, or those of a set of measurements.

use std::collections::BTreeSet;

use rooflut::hardware::Dtype;
use rooflut::table::{Axis, Points, Table, TableSet, sets};
use rooflut_roofline::operation::Codes;
use serde::Serialize;

use crate::args::TablesArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, title, to_json, wrapped};
use crate::table_set::{self, WhichSet};

pub(crate) fn run(args: &TablesArgs) -> Result<String, Error> {
    let sets = match &args.tables {
        Some(path) => vec![table_set::find(WhichSet::At(path))?],
        None => sets::ALL.into_iter().cloned().collect(),
    };
    let sets: Vec<SetJson<'_>> = sets.iter().map(SetJson::new).collect();
    if args.json {
        return to_json(&TablesJson { tables: sets });
    }
    let texts: Vec<String> = sets.iter().map(SetJson::text).collect();
    Ok(texts.join("\n"))
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// Table sets.
pub(crate) struct TablesJson<'s> {
    tables: Vec<SetJson<'s>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SetJson<'s> {
    name: &'s str,
    gpu: &'s str,
    gpu_description: &'s str,
    engine: &'s str,
    timing: &'s str,
    source: &'s str,
    license: &'s str,
    date: &'s str,
    operations: Vec<OperationJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OperationJson {
    name: &'static str,
    dtypes: Vec<&'static str>,
    /// Empty if the operation has no KV cache.
    kv_dtypes: Vec<&'static str>,
    shapes: usize,
    rows: usize,
    axes: Vec<AxisJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AxisJson {
    name: &'static str,
    min: u32,
    max: u32,
}

impl<'s> SetJson<'s> {
    fn new(set: &'s TableSet) -> SetJson<'s> {
        let origin = set.origin();
        SetJson {
            name: set.name(),
            gpu: set.gpu().name.as_str(),
            gpu_description: set.gpu().description.as_str(),
            engine: origin.engine.as_str(),
            timing: origin.timing.as_str(),
            source: origin.source.as_str(),
            license: origin.license.as_str(),
            date: origin.date.as_str(),
            operations: set.tables().map(OperationJson::new).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = title(&format!("{}: {}", self.name, self.gpu_description));
        for (label, value) in [
            ("engine", self.engine),
            ("timing", self.timing),
            ("source", self.source),
            ("licence", self.license),
            ("date", self.date),
        ] {
            text += &wrapped(label, value);
        }
        let mut grid = Grid::new("operation | dtypes | KV | >shapes | >rows | ranges");
        for operation in &self.operations {
            let axes = operation.axes.iter().map(AxisJson::text);
            grid.row(vec![
                operation.name.to_owned(),
                or_dash(operation.dtypes.join(" ")),
                or_dash(operation.kv_dtypes.join(" ")),
                count(operation.shapes as u64),
                count(operation.rows as u64),
                axes.collect::<Vec<_>>().join(", "),
            ]);
        }
        text + "\n" + &grid.render(2)
    }
}

impl AxisJson {
    fn text(&self) -> String {
        if self.min == self.max {
            format!("{} {}", self.name, self.min)
        } else {
            format!("{} {}-{}", self.name, self.min, self.max)
        }
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

impl OperationJson {
    fn new(table: Table<'_>) -> OperationJson {
        let (operation, declared) = (table.operation(), table.operation().declared());
        let entries = || table.typed::<Codes, Points<'_>>().entries();
        let codes = |column: &'static str| entries().filter_map(move |entry| declared.code(&entry.shape, column));
        // The shapes of an all-reduce have no other column than ranks.
        let ranks = span("ranks", codes("ranks"));
        let axes = declared.axes.iter().enumerate().map(|(index, name)| {
            let axes = entries().filter_map(move |entry| entry.points.axes().get(index).copied());
            span(name, axes.flat_map(ends))
        });
        OperationJson {
            name: operation.name(),
            dtypes: dtypes(codes("dtype")),
            kv_dtypes: dtypes(codes("kv_dtype")),
            shapes: table.len(),
            rows: entries().map(|entry| entry.points.measured()).sum(),
            axes: [ranks].into_iter().chain(axes).flatten().collect(),
        }
    }
}

fn dtypes(codes: impl Iterator<Item = u32>) -> Vec<&'static str> {
    let codes: BTreeSet<u32> = codes.collect();
    let dtypes = codes.into_iter().map(|code| Dtype::ALL.get(code as usize));
    dtypes.flatten().map(|dtype| dtype.name()).collect()
}

fn ends(axis: Axis<'_>) -> impl Iterator<Item = u32> + use<> {
    axis.range().into_iter().flat_map(|(first, last)| [first, last])
}

fn span(name: &'static str, values: impl Iterator<Item = u32>) -> Option<AxisJson> {
    let ends = values.fold(None, |ends, value| match ends {
        Some((min, max)) => Some((value.min(min), value.max(max))),
        None => Some((value, value)),
    });
    ends.map(|(min, max)| AxisJson { name, min, max })
}
