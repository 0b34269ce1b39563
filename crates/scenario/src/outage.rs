//! Servers that are lost for a while.

use std::fmt;
use std::str::FromStr;

use rooflut::Invalid;
use rooflut::sim::cluster;
use rooflut::units::Seconds;
use rooflut_error::Error;

use crate::number::{invalid, seconds, whole};

/// Seconds up to which a server may be lost.
const LAST_S: f64 = 1e9;

/// A server that is lost at a time and back at a later one: `2@300s..900s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outage {
    /// The server, counted from 0: prefill servers first, those of a fleet in its order.
    pub server: u32,
    /// When it is lost, seconds from the start.
    pub from_s: f64,
    /// When it is back, empty.
    pub to_s: f64,
}

impl Outage {
    pub(crate) fn of_cluster(&self) -> Result<cluster::Outage, Invalid> {
        cluster::Outage::try_new(self.server, Seconds(self.from_s), Seconds(self.to_s))
    }

    /// Returns two outages of one server at the same time.
    pub(crate) fn overlapping(outages: &[Outage]) -> Option<(&Outage, &Outage)> {
        let mut sorted: Vec<&Outage> = outages.iter().collect();
        sorted.sort_by(|a, b| a.server.cmp(&b.server).then(a.from_s.total_cmp(&b.from_s)));
        let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
        let (first, second) = pairs.find(|(a, b)| a.server == b.server && b.from_s < a.to_s)?;
        Some((first, second))
    }

    /// Returns when a run shows the outages and the recovery from them: after the last one, as long again as the
    /// longest, and at least a minute.
    pub(crate) fn recovered_s(outages: &[Outage]) -> Option<f64> {
        const LEAST_S: f64 = 60.0;
        let last = outages.iter().map(|outage| outage.to_s).max_by(f64::total_cmp)?;
        let lengths = outages.iter().map(|outage| outage.to_s - outage.from_s);
        Some(last + lengths.fold(LEAST_S, f64::max))
    }
}

impl FromStr for Outage {
    type Err = Error;

    fn from_str(text: &str) -> Result<Outage, Error> {
        let read = text.split_once('@').and_then(|(server, span)| {
            let (from, to) = span.split_once("..")?;
            Some(Outage { server: whole(server).ok()?, from_s: seconds(from).ok()?, to_s: seconds(to).ok()? })
        });
        let outage = read.ok_or(invalid(
            "expected SERVER@FROM..TO, as in 2@300s..900s: server 2, counted from 0, is lost after 300 s and back after \
             900 s",
        ))?;
        let Outage { from_s, to_s, .. } = outage;
        if from_s >= 0.0 && from_s < to_s && to_s <= LAST_S {
            Ok(outage)
        } else {
            Err(invalid(format!(
                "expected seconds from 0 to 1e9, the second later than the first, found {from_s} and {to_s}"
            )))
        }
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}s..{}s", self.server, self.from_s, self.to_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outages(texts: &[&str]) -> Vec<Outage> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn an_outage_is_read_with_units_or_in_seconds_and_written_as_it_can_be_read() {
        let [one, other] = [outages(&["2@5m..900"]), outages(&["2@300s..900s"])];
        assert_eq!((&one, one[0].to_string().as_str()), (&other, "2@300s..900s"));
        for wrong in
            ["2", "2@300", "2@300..", "x@1..2", "2@900s..300s", "2@300..300", "-1@1..2", "1@-5..2", "1@0..1e10"]
        {
            assert!(wrong.parse::<Outage>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn outages_of_one_server_overlap_if_one_begins_before_another_ends() {
        assert!(Outage::overlapping(&outages(&["0@5..9", "1@6..8", "0@1..5"])).is_none());
        let both = outages(&["0@5..9", "1@6..8", "0@1..5.5"]);
        assert_eq!(Outage::overlapping(&both), Some((&both[2], &both[0])));
    }

    #[test]
    fn a_run_lasts_as_long_again_as_the_longest_outage_and_at_least_a_minute() {
        assert_eq!(Outage::recovered_s(&outages(&["0@100..400", "1@500..520"])), Some(820.0));
        assert_eq!(Outage::recovered_s(&outages(&["0@1..2"])), Some(62.0));
        assert_eq!(Outage::recovered_s(&[]), None);
    }
}
