//! Grids: all combinations of the values of some keys.

use rooflut_error::{key, not_json};
use rooflut_scenario::{Error, Kind, Scenario, grouped, names_file};
use serde_json::{Map, Value};

use crate::axis::Axis;
use crate::fnv::Fnv;
use crate::keys::{cell, sections};

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
}

impl Grid {
    /// Spans a grid. The values of axes replace the values of `base`; a key with one value is no axis of the grid. The
    /// grid drops the files and forms of one answer from the output of `base`.
    ///
    /// # Errors
    /// A repeated key, and more points than a `u64` counts.
    pub fn try_new(base: &Scenario, axes: Vec<Axis>) -> Result<Grid, Error> {
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
        let mut sections = sections(&base)?;
        for axis in &fixed {
            set(&mut sections, axis, axis.values().first());
        }
        let base = scenario(sections.clone())?;
        let mut sizes = axes.iter().map(|axis| axis.values().len() as u64);
        let len = sizes.try_fold(1, u64::checked_mul);
        let grid = Grid { base, sections, axes, len: len.unwrap_or(u64::MAX) };
        match len {
            Some(_) => Ok(grid),
            None => {
                let (most, sizes) = (grouped(u64::MAX), grid.sizes());
                let text = format!("expected at most {most} deployments, found {sizes}; take fewer values");
                Err(Error::new(Kind::Value, text))
            }
        }
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

    /// Returns the size of each axis: `gpu 2 x tp 3`.
    pub fn sizes(&self) -> String {
        let sizes = self.axes.iter().map(|axis| {
            let size = grouped(axis.values().len() as u64);
            format!("{} {size}", axis.key())
        });
        sizes.collect::<Vec<_>>().join(" x ")
    }

    /// Returns the values of a point, in the order of the axes.
    pub fn values(&self, index: u64) -> Vec<&Value> {
        let places = self.places(index).into_iter().zip(&self.axes);
        places.filter_map(|(place, axis)| axis.values().get(place)).collect()
    }

    /// Returns the place of a point on each axis.
    pub(crate) fn places(&self, index: u64) -> Vec<usize> {
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

    /// Returns the index of the point at these places.
    pub(crate) fn index(&self, places: &[usize]) -> u64 {
        let digits = places.iter().zip(&self.axes);
        digits.fold(0, |index, (place, axis)| index * axis.values().len() as u64 + *place as u64)
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
        Ok(format!("{}-{:016x}", self.len, hash.finish()))
    }
}

fn set(sections: &mut Map<String, Value>, axis: &Axis, value: Option<&Value>) {
    let section = sections.get_mut(axis.section());
    let keys = section.and_then(Value::as_object_mut);
    if let (Some(keys), Some(value)) = (keys, value) {
        keys.insert(axis.key().to_owned(), value.clone());
    }
}

fn scenario(sections: Map<String, Value>) -> Result<Scenario, Error> {
    let scenario = serde_json::from_value(Value::Object(sections));
    scenario.map_err(not_json)
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
        assert_eq!(grid.sizes(), "gpu 2 x tp 3 x rate 4");
        let mut index = 0;
        for gpu in ["h100", "h200"] {
            for tp in [1, 2, 4] {
                for rate in [1.0, 2.0, 3.0, 4.0] {
                    let scenario = grid.scenario(index).unwrap();
                    let target = &scenario.target;
                    let found = (target.gpu.as_deref(), target.tp, scenario.workload.rate);
                    assert_eq!(found, (Some(gpu), Some(tp), Some(rate)));
                    assert_eq!(grid.index(&grid.places(index)), index);
                    index += 1;
                }
            }
        }
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
        assert!(error.to_string().contains("rate 2000 x tp 2000"), "{error}");
        let twice = vec![Axis::read("tp", ["1"]).unwrap(); 2];
        let error = Grid::try_new(&Scenario::default(), twice).expect_err("twice");
        assert_eq!(error.to_string(), "tp: expected once, found twice; remove one");
    }
}
