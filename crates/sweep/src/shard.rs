//! Parts of a grid.

use std::fmt;
use std::str::FromStr;

/// A part of a grid, `i/n`: the points `i - 1`, `i - 1 + n`, `i - 1 + 2 n` and so on, so parts take about the same
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    count: u64,
}

impl Shard {
    /// The whole grid.
    pub const WHOLE: Shard = Shard { number: 1, count: 1 };
    /// Maximum number of shards.
    pub const MOST: u64 = 1_000_000;

    /// Returns the index of a point in the grid by its place in the shard.
    pub(crate) fn index(self, place: u64) -> u64 {
        self.number - 1 + place * self.count
    }

    /// Returns the number of points of the largest grid whose shards have at most `max_points` points.
    pub fn max_grid(self, max_points: u64) -> u64 {
        max_points.saturating_mul(self.count)
    }

    /// Returns the number of points of the shard in a grid of `len` points.
    pub fn len(self, len: u64) -> u64 {
        (len + self.count).saturating_sub(self.number) / self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, &'static str> {
        let parts = text.split_once('/');
        let parsed = parts
            .and_then(|(number, count)| {
                let (number, count) = (number.parse().ok()?, count.parse().ok()?);
                (1..=count).contains(&number).then_some(Shard { number, count })
            })
            .filter(|shard| shard.count <= Shard::MOST);
        parsed.ok_or("expected the number of a shard and how many there are, as in 1/8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_each_point_once() {
        for (len, count) in [(0, 3), (1, 3), (10, 1), (10, 3), (12, 3), (2, 5)] {
            let mut seen = Vec::new();
            for number in 1..=count {
                let shard: Shard = format!("{number}/{count}").parse().unwrap();
                seen.extend((0..shard.len(len)).map(|place| shard.index(place)));
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn shards_of_the_largest_grid_are_just_small_enough() {
        let shard: Shard = "1/3".parse().unwrap();
        assert_eq!([shard.max_grid(4), shard.len(shard.max_grid(4)), shard.len(shard.max_grid(4) + 1)], [12, 4, 5]);
    }

    #[test]
    fn shards_are_counted_from_one() {
        for wrong in ["", "1", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/4/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
