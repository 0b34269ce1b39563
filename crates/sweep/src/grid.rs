//! Grids: all combinations of the values of some keys, or some of them.

use std::collections::HashMap;

use rooflut_error::{key, not_json};
use rooflut_scenario::{Error, Kind, Scenario, grouped, names_file, plural};
use serde_json::{Map, Value};

use crate::axis::{Axis, wrong};
use crate::fnv::Fnv;
use crate::keys::{canonical, cell, section};

/// A scenario, and lists of values for some of its keys. A point of the grid is the scenario with one value of each.
///
/// Points are numbered from 0; the values of the last key vary fastest.
///
/// ```
/// use rooflut_scenario::Scenario;
/// use rooflut_sweep::{Axis, Grid};
/// let axes = vec![Axis::read("tp", ["1,2"])?, Axis::read("rate", ["1..5:2"])?];
/// let grid = Grid::try_new(&Scenario::default(), axes)?;
/// assert_eq!(grid.len(), 6);
/// let scenario = grid.scenario(4)?;
/// assert_eq!((scenario.target.tp, scenario.workload.rate), (Some(2), Some(3.0)));
/// # Ok::<(), rooflut_sweep::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    base: Scenario,
    sections: Map<String, Value>,
    axes: Vec<Axis>,
    len: u64,
    /// The places of each point on the axes, one after the other, unless the points are all combinations.
    points: Option<Vec<u32>>,
}

impl Grid {
    /// Spans a grid. The values of axes replace the values of `base`; a key with one value is no axis of the grid. The
    /// grid drops the files and forms of one answer from the output of `base`.
    ///
    /// # Errors
    /// A repeated key, and more points than a `u64` counts.
    pub fn try_new(base: &Scenario, axes: Vec<Axis>) -> Result<Grid, Error> {
        let mut grid = Grid::with_fixed(base, axes)?;
        let mut sizes = grid.axes.iter().map(|axis| axis.values().len() as u64);
        match sizes.try_fold(1, u64::checked_mul) {
            Some(len) => Ok(Grid { len, ..grid }),
            None => {
                grid.len = u64::MAX;
                let (most, sizes) = (grouped(u64::MAX), grid.sizes());
                let text = format!("expected at most {most} deployments, found {sizes}; take fewer values");
                Err(Error::new(Kind::Value, text))
            }
        }
    }

    /// Lists up to `max_points` points that need not be all combinations: `points` has the values of each, in the order
    /// of `keys`. The points of a grid that is listed have other [fingerprints](Grid::fingerprint), and otherwise the
    /// same rows.
    ///
    /// ```
    /// use rooflut_scenario::Scenario;
    /// use rooflut_sweep::Grid;
    /// use serde_json::json;
    /// let points = [[json!(1), json!(4)], [json!(2), json!(4)], [json!(4), json!(9.5)]].map(Ok);
    /// let grid = Grid::of_points(&Scenario::default(), &["tp", "rate"], points, 3)?;
    /// assert_eq!((grid.len(), grid.scenario(2)?.workload.rate), (3, Some(9.5)));
    /// # Ok::<(), rooflut_sweep::Error>(())
    /// ```
    ///
    /// # Errors
    /// No point; a repeated or unknown key; with its line, from 1, a point that could not be read, a value that its key
    /// does not take, and the first point that is one too many.
    pub fn of_points<P: IntoIterator<Item = Value>>(
        base: &Scenario,
        keys: &[&str],
        points: impl IntoIterator<Item = Result<P, Error>>,
        max_points: u64,
    ) -> Result<Grid, Error> {
        let columns = keys.iter().map(|key| Distinct::try_new(key)).collect::<Result<Vec<_>, _>>();
        let mut columns = columns.map_err(|error| error.at_line(1))?;
        let (mut places, mut len, mut room) = (Vec::new(), 0_u64, MAX_MIB << 20);
        for point in points {
            len += 1;
            let at_line = |error: Error| error.at_line(len);
            if len > max_points {
                return Err(at_line(too_many(max_points)));
            }
            for (column, value) in columns.iter_mut().zip(point.map_err(at_line)?) {
                places.push(column.place(value, &mut room).map_err(at_line)?);
            }
        }
        if len == 0 {
            return Err(Error::new(Kind::Value, "expected at least one point, found none; list one"));
        }
        let is_axis: Vec<bool> = columns.iter().map(Distinct::is_several).collect();
        let grid = Grid::with_fixed(base, columns.into_iter().map(Distinct::axis).collect())?;
        let mut is_of_axis = is_axis.iter().cycle();
        places.retain(|_| is_of_axis.next() == Some(&true));
        Ok(Grid { len, points: Some(places), ..grid })
    }

    /// Sets the axes with one value in the scenario.
    fn with_fixed(base: &Scenario, axes: Vec<Axis>) -> Result<Grid, Error> {
        let mut keys: Vec<&str> = axes.iter().map(Axis::key).collect();
        keys.sort_unstable();
        if let Some((twice, _)) = keys.iter().zip(keys.iter().skip(1)).find(|(a, b)| a == b) {
            let text = format!("{}: expected once, found twice; remove one", key(twice));
            return Err(Error::new(Kind::Conflict, text));
        }
        let (fixed, axes): (Vec<Axis>, Vec<Axis>) = axes.into_iter().partition(|axis| axis.values().len() == 1);
        let mut base = base.clone();
        let output = std::mem::take(&mut base.output);
        base.output.goodput = output.goodput;
        base.output.prices = output.prices;
        base.output.price = output.price;
        base.output.strict = output.strict;
        base.output.interval = output.interval;
        let mut sections = base.sections()?;
        for axis in &fixed {
            set(&mut sections, axis, axis.values().first());
        }
        let base = scenario(sections.clone())?;
        Ok(Grid { base, sections, axes, len: 1, points: None })
    }

    /// The scenario with the values that all points share.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// The keys with more than one value.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of points; at least 1.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the size of each axis: `gpu 2 x tp 3`; for points that are listed, their number.
    pub fn sizes(&self) -> String {
        if self.points.is_some() {
            return plural(self.len, "point");
        }
        let sizes =
            self.axes.iter().map(|axis| format!("{} of {}", plural(axis.values().len() as u64, "value"), axis.key()));
        sizes.collect::<Vec<_>>().join(" x ")
    }

    /// Returns the values of a point, in the order of the axes.
    pub fn values(&self, index: u64) -> Vec<&Value> {
        let places = self.places(index).into_iter().zip(&self.axes);
        places.filter_map(|(place, axis)| axis.values().get(place)).collect()
    }

    /// Returns the place of a point on each axis.
    pub(crate) fn places(&self, index: u64) -> Vec<usize> {
        if let Some(points) = &self.points {
            let width = self.axes.len();
            let own = points.iter().skip(index as usize * width).take(width);
            return own.map(|place| *place as usize).collect();
        }
        let mut rest = index;
        let mut places: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let size = axis.values().len() as u64;
                let place = rest % size;
                rest /= size;
                place as usize
            })
            .collect();
        places.reverse();
        places
    }

    /// Returns the index of the first point of each value of an axis that may name a model, a file or the like.
    pub(crate) fn first_named(&self, axis: usize) -> Vec<u64> {
        let Some(of) = self.axes.get(axis) else {
            return Vec::new();
        };
        let named = self.firsts(axis).into_iter().zip(of.values()).filter(|(_, value)| may_name(of.key(), value));
        named.map(|(first, _)| first).collect()
    }

    /// Returns the index of the first point of each value of an axis.
    fn firsts(&self, axis: usize) -> Vec<u64> {
        let size = |axis: &Axis| axis.values().len() as u64;
        let Some(points) = &self.points else {
            let step: u64 = self.axes.iter().skip(axis + 1).map(size).product();
            return (0..self.axes.get(axis).map_or(0, size)).map(|place| place * step).collect();
        };
        // Values are in the order in which they appear.
        let mut next = 0;
        let own = (0..).zip(points.iter().skip(axis).step_by(self.axes.len()));
        let firsts = own.filter(|(_, place)| {
            let is_first = **place == next;
            next += u32::from(is_first);
            is_first
        });
        firsts.map(|(index, _)| index).collect()
    }

    /// Adds the number of a point that is listed to its error.
    pub(crate) fn at_point(&self, index: u64, error: Error) -> Error {
        if self.points.is_none() { error } else { error.map(|text| format!("point {}: {text}", index + 1)) }
    }

    /// Returns the scenario of a point. Keys may contradict each other; a run rejects such a scenario.
    ///
    /// # Errors
    /// None is known for a grid that was spanned.
    pub fn scenario(&self, index: u64) -> Result<Scenario, Error> {
        let mut sections = self.sections.clone();
        for (axis, value) in self.axes.iter().zip(self.values(index)) {
            set(&mut sections, axis, Some(value));
        }
        let mut scenario = scenario(sections)?;
        // A base is for the data sheets among the GPUs.
        if scenario.target.sheet().is_none() && self.has_sheets() {
            scenario.target.base = None;
        }
        Ok(scenario)
    }

    /// Returns whether a data sheet is among several GPUs.
    fn has_sheets(&self) -> bool {
        let mut gpus = self.axes.iter().filter(|axis| axis.key() == "gpu").flat_map(Axis::values);
        gpus.any(|gpu| gpu.as_str().is_some_and(names_file))
    }

    /// Returns what identifies the rows of the grid: its size and a hash (64-bit FNV-1a) of the scenario, of all values
    /// and of `version`, which stands for everything else that predictions depend on.
    ///
    /// # Errors
    /// None is known for a grid that was spanned.
    pub fn fingerprint(&self, version: &str) -> Result<String, Error> {
        let mut text = serde_json::to_string(&self.base).map_err(not_json)?;
        for axis in &self.axes {
            text += &format!("\n{}", axis.key());
            for value in axis.values() {
                text += &format!("\t{}", cell(value));
            }
        }
        text += &format!("\n{version}");
        let mut hash = Fnv::default();
        hash.add(text.as_bytes());
        for place in self.points.iter().flatten() {
            hash.add(&place.to_le_bytes());
        }
        Ok(format!("{}-{:016x}", self.len, hash.finish()))
    }
}

/// Maximum size of the different values of points in memory, MiB, and bytes of one beside its text.
const MAX_MIB: usize = 512;
const PER_VALUE: usize = 256;

/// There are more points than are wanted.
fn too_many(max_points: u64) -> Error {
    let (max, setting) = (grouped(max_points), key("max_points"));
    let text = format!("expected at most {max} deployments ({setting}), found more; list fewer, or raise {setting}");
    Error::new(Kind::Value, text)
}

/// The different values of a key, in the order in which they appear.
struct Distinct<'k> {
    key: &'k str,
    section: String,
    values: Vec<Value>,
    /// Places by the text of a value as it is given, and as a scenario holds it.
    places: HashMap<String, u32>,
}

impl<'k> Distinct<'k> {
    fn try_new(key: &'k str) -> Result<Distinct<'k>, Error> {
        Ok(Distinct { key, section: section(key)?, values: Vec::new(), places: HashMap::new() })
    }

    /// Returns the place of a value, which is added if it is new and there is room for it.
    fn place(&mut self, value: Value, room: &mut usize) -> Result<u32, Error> {
        let given = value.to_string();
        if let Some(place) = self.places.get(&given) {
            return Ok(*place);
        }
        *room = room.checked_sub(PER_VALUE + 4 * given.len()).ok_or_else(|| {
            let text = format!(
                "expected different values that take at most {MAX_MIB} MiB in memory, found more; divide the file"
            );
            Error::new(Kind::Value, text)
        })?;
        let found = cell(&value);
        let read = canonical(&self.section, self.key, value);
        let value = read.map_err(|expected| wrong(self.key, &found, &expected))?;
        let new = self.values.len() as u32;
        let place = *self.places.entry(value.to_string()).or_insert(new);
        if place == new {
            self.values.push(value);
        }
        self.places.insert(given, place);
        Ok(place)
    }

    fn is_several(&self) -> bool {
        self.values.len() > 1
    }

    fn axis(self) -> Axis {
        Axis::of_distinct(self.key, self.section, self.values)
    }
}

/// Whether a value may name something. Lengths name nothing but files.
fn may_name(key: &str, value: &Value) -> bool {
    !matches!(key, "prompt" | "output" | "turns") || value.as_str().is_some_and(|text| text.starts_with("file:"))
}

fn set(sections: &mut Map<String, Value>, axis: &Axis, value: Option<&Value>) {
    let section = sections.get_mut(axis.section());
    let keys = section.and_then(Value::as_object_mut);
    if let (Some(keys), Some(value)) = (keys, value) {
        keys.insert(axis.key().to_owned(), value.clone());
    }
}

fn scenario(sections: Map<String, Value>) -> Result<Scenario, Error> {
    Scenario::try_from_sections(sections).map_err(not_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_varies_fastest() {
        let axes = [("gpu", "h100,h200"), ("tp", "1,2,4"), ("rate", "1..4")]
            .map(|(key, text)| Axis::read(key, [text]).unwrap());
        let grid = Grid::try_new(&Scenario::default(), axes.into()).unwrap();
        assert_eq!(grid.len(), 24);
        assert_eq!(grid.sizes(), "2 values of gpu x 3 values of tp x 4 values of rate");
        let mut index = 0;
        for gpu in ["h100", "h200"] {
            for tp in [1, 2, 4] {
                for rate in [1.0, 2.0, 3.0, 4.0] {
                    let scenario = grid.scenario(index).unwrap();
                    let target = &scenario.target;
                    let found = (target.gpu.as_deref(), target.tp, scenario.workload.rate);
                    assert_eq!(found, (Some(gpu), Some(tp), Some(rate)));
                    for (axis, place) in grid.places(index).into_iter().enumerate() {
                        let first = (0..).find(|other| grid.places(*other)[axis] == place);
                        assert_eq!(grid.firsts(axis).get(place).copied(), first);
                    }
                    index += 1;
                }
            }
        }
    }

    #[test]
    fn points_are_the_combinations_that_are_listed() {
        let points = |points: &[(Value, Value, Value)]| {
            let points = points.iter().cloned().map(|(gpu, tp, rate)| Ok([gpu, tp, rate]));
            Grid::of_points(&Scenario::default(), &["gpu", "tp", "rate"], points, 4)
        };
        let listed = [("h100", "1", 4.0), ("h200", "2", 4.0), ("h100", "2", 4.0), ("h200", "2", 4.0)];
        let given = listed.map(|(gpu, tp, rate)| (gpu.into(), tp.into(), rate.into()));
        let grid = points(&given).unwrap();
        assert_eq!((grid.len(), grid.axes().len(), grid.sizes().as_str()), (4, 2, "4 points"));
        for (index, (gpu, tp, rate)) in listed.into_iter().enumerate() {
            let scenario = grid.scenario(index as u64).unwrap();
            let found = (scenario.target.gpu.as_deref(), scenario.target.tp, scenario.workload.rate);
            assert_eq!(found, (Some(gpu), Some(tp.parse().unwrap()), Some(rate)));
        }
        assert_eq!([grid.firsts(0), grid.firsts(1)], [[0, 1], [0, 1]]);
        let mut other = given.clone();
        other.swap(0, 1);
        assert_ne!(grid.fingerprint("a").unwrap(), points(&other).unwrap().fingerprint("a").unwrap());
        other[2].1 = "x".into();
        let error = points(&other).expect_err("no number");
        assert_eq!(
            (error.line(), error.to_string().contains("tp: expected a whole number")),
            (Some(3), true),
            "{error}"
        );
    }

    #[test]
    fn points_are_read_up_to_the_first_that_is_one_too_many() {
        let mut read = 0;
        let points = std::iter::repeat_with(|| {
            read += 1;
            Ok([Value::from(read)])
        });
        let error = Grid::of_points(&Scenario::default(), &["seed"], points, 3).expect_err("endless");
        let expected =
            "line 4: expected at most 3 deployments (max_points), found more; list fewer, or raise max_points";
        assert_eq!((error.to_string().as_str(), read), (expected, 4));
        let long = |index: u64| Ok([Value::from(format!("{index}{}", "x".repeat(1 << 20)))]);
        let error = Grid::of_points(&Scenario::default(), &["model"], (0..).map(long), u64::MAX).expect_err("endless");
        assert_eq!(error.line(), Some(128));
        assert!(error.to_string().contains("at most 512 MiB in memory"), "{error}");
        assert!(Grid::of_points::<[Value; 1]>(&Scenario::default(), &["seed"], [], 3).is_err());
    }

    #[test]
    fn keys_with_one_value_belong_to_the_scenario() {
        let axes = vec![Axis::read("tp", ["2"]).unwrap(), Axis::read("rate", ["1,2"]).unwrap()];
        let grid = Grid::try_new(&Scenario::default(), axes).unwrap();
        assert_eq!((grid.len(), grid.axes().len()), (2, 1));
        assert_eq!(grid.base().target.tp, Some(2));
    }

    #[test]
    fn fingerprints_tell_grids_apart() {
        let fingerprint = |rates: &str, requests, version: &str| {
            let mut base = Scenario::default();
            base.workload.requests = Some(requests);
            let axes = vec![Axis::read("rate", [rates]).unwrap()];
            let grid = Grid::try_new(&base, axes).unwrap();
            grid.fingerprint(version).unwrap()
        };
        let first = fingerprint("1,2", 100, "a");
        assert_eq!(first, fingerprint("1..2", 100, "a"));
        for other in [
            fingerprint("1,3", 100, "a"),
            fingerprint("2,1", 100, "a"),
            fingerprint("1,2", 101, "a"),
            fingerprint("1,2", 100, "b"),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn grids_that_cannot_be_numbered_are_rejected() {
        let keys = ["rate", "tp", "requests", "max_num_seqs", "max_num_batched_tokens", "seed"];
        let axes = keys.map(|key| Axis::read(key, ["1..2_000"]).unwrap());
        let error = Grid::try_new(&Scenario::default(), axes.into()).expect_err("too large");
        assert!(error.to_string().contains("2000 values of rate x 2000 values of tp"), "{error}");
        let twice = vec![Axis::read("tp", ["1"]).unwrap(); 2];
        let error = Grid::try_new(&Scenario::default(), twice).expect_err("twice");
        assert_eq!(error.to_string(), "tp: expected once, found twice; remove one");
    }
}
