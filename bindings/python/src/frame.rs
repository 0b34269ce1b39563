//! Frames of requests: dictionaries of arrays, tables of pandas, polars or Arrow.

use std::io::Write;

use pyo3::prelude::*;
use rooflut::sim::Request;

use crate::arrays::{Numbers, Whole, common_rows, real, whole, whole_within};
use crate::error::{error, in_place_of, shown};

/// Columns of whole numbers beside the arrival.
const TOKENS: [&str; 4] = ["prompt_tokens", "output_tokens", "cached_prompt_tokens", "priority"];
const PREFIX_TOKENS: &str = "prefix_tokens";
const IDS: [&str; 2] = ["prefix_id", "session_id"];

/// Reads the requests of a frame with the columns that [`TOKENS`] names and their arrivals; without these, they arrive at
/// `now_ns`.
pub(crate) fn requests(frame: &Bound<'_, PyAny>, now_ns: u64) -> PyResult<Vec<Request>> {
    let frame = Frame::of(frame, &["arrival_ns"], &TOKENS)?;
    let arrival_ns = frame.column::<u64>("arrival_ns")?;
    let [prompt, output, cached, priority] = TOKENS.map(|name| frame.column::<u32>(name));
    let (prompt, output, cached, priority) = (prompt?, output?, cached?, priority?);
    let required = |name: &str| error(format!("{name}: missing; the frame must have it"));
    let prompt = prompt.ok_or_else(|| required("prompt_tokens"))?;
    let output = output.ok_or_else(|| required("output_tokens"))?;
    let rows = |name, column: &Option<Numbers<u32>>| (name, column.as_ref().and_then(Numbers::rows));
    let rows = common_rows(&[
        ("prompt_tokens", prompt.rows()),
        ("output_tokens", output.rows()),
        ("arrival_ns", arrival_ns.as_ref().and_then(Numbers::rows)),
        rows("cached_prompt_tokens", &cached),
        rows("priority", &priority),
    ])?;
    let of = |column: &Option<Numbers<u32>>, row| column.as_ref().map_or(Some(0), |column| column.at(row));
    let request = |row| {
        let arrival_ns = arrival_ns.as_ref().map_or(Some(now_ns), |column| column.at(row))?;
        let request = Request::new(prompt.at(row)?, output.at(row)?).at_ns(arrival_ns);
        Some(request.with_cached_prompt_tokens(of(&cached, row)?).with_priority(of(&priority, row)?))
    };
    Ok((0..rows.unwrap_or(1)).filter_map(request).collect())
}

/// Returns the trace of a frame, a CSV of rooflut's own format.
pub(crate) fn trace(frame: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let frame = Frame::of(frame, &["arrival_ms"], &[TOKENS.as_slice(), &[PREFIX_TOKENS], &IDS].concat())?;
    let arrival_ms = frame.value("arrival_ms")?;
    let arrival_ms = arrival_ms.map(|value| real("arrival_ms", &value)).transpose()?;
    let mut header = Vec::new();
    let mut columns = Vec::new();
    for name in TOKENS.into_iter().chain([PREFIX_TOKENS]).chain(IDS) {
        let most = if IDS.contains(&name) { u64::MAX } else { u32::MAX.into() };
        if let Some(column) = frame.value(name)? {
            header.push(name);
            columns.push(whole_within(name, &column, 0..=most)?);
        }
    }
    let mut lengths = vec![("arrival_ms", arrival_ms.as_ref().and_then(Numbers::rows))];
    lengths.extend(header.iter().copied().zip(columns.iter().map(Numbers::rows)));
    let rows = common_rows(&lengths)?.unwrap_or(1);
    let mut csv = Vec::new();
    write_csv(&mut csv, rows, arrival_ms.as_ref(), &header, &columns).map_err(error)?;
    Ok(csv)
}

fn write_csv(
    csv: &mut Vec<u8>,
    rows: usize,
    arrival_ms: Option<&Numbers<f64>>,
    header: &[&str],
    columns: &[Numbers<u64>],
) -> std::io::Result<()> {
    let arrival = if arrival_ms.is_some() { "arrival_ms," } else { "" };
    writeln!(csv, "{arrival}{}", header.join(","))?;
    for row in 0..rows {
        if let Some(arrival_ms) = arrival_ms.and_then(|column| column.at(row)) {
            write!(csv, "{arrival_ms},")?;
        }
        for (place, value) in columns.iter().filter_map(|column| column.at(row)).enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(csv, "{comma}{value}")?;
        }
        writeln!(csv)?;
    }
    Ok(())
}

/// A frame and the names of its columns.
struct Frame<'a, 'py> {
    frame: &'a Bound<'py, PyAny>,
    names: Vec<String>,
}

impl<'a, 'py> Frame<'a, 'py> {
    /// Refuses columns of other names.
    fn of(frame: &'a Bound<'py, PyAny>, some: &[&str], others: &[&str]) -> PyResult<Frame<'a, 'py>> {
        let names = ["column_names", "columns"]
            .into_iter()
            .find_map(|name| frame.getattr(name).ok())
            .map_or_else(|| frame.call_method0("keys"), Ok)
            .and_then(|names| names.try_iter())
            .map_err(|_| {
                let found = shown(frame);
                error(format!("expected a dictionary of arrays or a frame with named columns, found {found}"))
            })?;
        let name = |name: PyResult<Bound<'py, PyAny>>| {
            let name = name?;
            let text = name.extract::<String>();
            text.map_err(|_| error(format!("expected names of columns, found {}", shown(&name))))
        };
        let names = names.map(name).collect::<PyResult<Vec<String>>>()?;
        let known = [some, others].concat();
        match names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => {
                Err(error(format!("unknown column {unknown:?}; drop it, the columns are {}", known.join(", "))))
            }
            None => Ok(Frame { frame, names }),
        }
    }

    fn value(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_given = self.names.iter().any(|own| own == name);
        let value = is_given.then(|| self.frame.get_item(name)).transpose();
        value.map_err(|cause| {
            in_place_of(cause, self.frame.py(), |cause| format!("{name}: the frame does not give it: {cause}"))
        })
    }

    fn column<T: Whole>(&self, name: &str) -> PyResult<Option<Numbers<T>>> {
        let value = self.value(name)?;
        value.map(|value| whole(name, &value, 0)).transpose()
    }
}
