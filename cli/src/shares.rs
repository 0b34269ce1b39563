//! Shares of the time, told.

use rooflut::step::{Binding, Part, TimeSources};
use serde::{Serialize, Serializer};

use crate::output::percent;

/// Names with their shares of the time.
pub(crate) struct Shares(Vec<(&'static str, f64)>);

impl Shares {
    /// By part of a step.
    pub(crate) fn by_part(sources: &TimeSources) -> Shares {
        let names = Part::ALL.map(Part::name);
        Shares(names.into_iter().zip(sources.part_shares()).collect())
    }

    /// By what set the pace.
    pub(crate) fn by_binding(sources: &TimeSources) -> Shares {
        let names = Binding::ALL.map(Binding::name);
        Shares(names.into_iter().zip(sources.binding_shares()).collect())
    }

    /// For people: the `most` largest, the largest first, and what is left.
    pub(crate) fn describe(&self, most: usize) -> String {
        let mut shares: Vec<_> = self.0.iter().filter(|(_, share)| *share > 0.0).collect();
        shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let left: f64 = shares.iter().skip(most).map(|(_, share)| share).sum();
        let largest = shares
            .iter()
            .take(most)
            .map(|&&(name, share)| (name, share));
        let told: Vec<String> = largest
            .chain((left > 0.0).then_some(("others", left)))
            .map(|(name, share)| format!("{} {name}", percent(100.0 * share)))
            .collect();
        told.join(", ")
    }
}

/// An object, in the order of the names.
impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_told_first_and_the_rest_together() {
        let shares = Shares(vec![
            ("a", 0.125),
            ("b", 0.0),
            ("c", 0.5),
            ("d", 0.25),
            ("e", 0.125),
        ]);
        assert_eq!(shares.describe(2), "50 % c, 25 % d, 25 % others");
        assert_eq!(shares.describe(4), "50 % c, 25 % d, 12 % a, 12 % e");
        assert_eq!(Shares(vec![("a", 0.0)]).describe(3), "");
        let json = serde_json::to_string(&shares).unwrap();
        assert_eq!(json, r#"{"a":0.125,"b":0.0,"c":0.5,"d":0.25,"e":0.125}"#);
    }
}
