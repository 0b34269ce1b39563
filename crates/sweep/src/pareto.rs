//! The rows of a sweep that no other row beats.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use csv::StringRecord;
use rooflut_scenario::{Error, Kind};

use crate::cells::CheckedRows;
use crate::column::{FIRST, FIXED};

/// Columns of the front: both are the better the higher.
const PER_USER: &str = "tokens_per_s_per_user";
const PER_GPU: &str = "output_tokens_per_s_per_gpu";

/// The Pareto front of a sweep: the rows of which no other has as many tokens per second for each user and for each GPU,
/// and more of one of them.
///
/// Rows of servers that do not keep up with their load are left out: their rates say nothing about the time in queues.
#[derive(Debug, Clone, PartialEq)]
pub struct Front {
    /// Names of the keys that the sweep varies.
    pub keys: Vec<String>,
    /// The rows, by ascending tokens per second for each user; of rows with the same figures the first.
    pub rows: Vec<FrontRow>,
}

/// A row of a front.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontRow {
    /// Its column `index`.
    pub index: String,
    /// Values of the keys.
    pub values: Vec<String>,
    /// Output tokens per second of a user: 1 over the mean of TPOT.
    pub per_user: f64,
    /// Output tokens per second, over all GPUs.
    pub per_gpu: f64,
    /// Number of rows with these figures.
    pub count: u64,
}

impl Front {
    /// Maximum size of the rows of a front in memory, MiB, and bytes of a row and of a value beside its text.
    const MAX_MIB: usize = 16;
    const PER_ROW: usize = 512;
    const PER_VALUE: usize = 64;

    /// Finds the front of the rows of a sweep, as it writes them. Memory does not grow with the rows.
    ///
    /// # Errors
    /// Rows that cannot be read, a cell that is not of the kind of its column, no row that has both figures, and a front
    /// that takes more than 16 MiB.
    pub fn of(rows: impl Read) -> Result<Front, Error> {
        let mut rows = Rows::try_new(rows)?;
        let (mut steps, mut room) = (Steps::default(), Front::MAX_MIB << 20);
        while let Some((row, figures)) = rows.next()? {
            let Some(step) = steps.step(figures, |beaten: FrontRow| room += beaten.size()) else {
                continue;
            };
            if let Some(first) = step {
                first.count += 1;
                continue;
            }
            let values = rows.keys.clone().filter_map(|key| Some(row.get(key)?.to_owned())).collect();
            let index = row.get(0).unwrap_or_default().to_owned();
            let row = FrontRow { index, values, per_user: figures.0, per_gpu: figures.1, count: 1 };
            room = room.checked_sub(row.size()).ok_or_else(too_large)?;
            *step = Some(row);
        }
        let names = rows.csv.names();
        let keys = rows.keys.filter_map(|key| names.get(key).cloned());
        Ok(Front { keys: keys.collect(), rows: steps.values().collect() })
    }

    /// Returns the column `index` of all rows of the front, by ascending tokens per second for each user.
    ///
    /// # Errors
    /// As [`of`](Front::of), for a front of any size.
    pub fn indices(rows: impl Read) -> Result<Vec<u64>, Error> {
        let (mut rows, mut steps) = (Rows::try_new(rows)?, Steps::default());
        while let Some((row, figures)) = rows.next()? {
            if let Some(step) = steps.step(figures, drop) {
                step.get_or_insert_with(Vec::new).extend(row.get(0).and_then(|index| index.parse::<u64>().ok()));
            }
        }
        Ok(steps.values().flat_map(|equal| equal.into_iter().rev()).collect())
    }
}

impl FrontRow {
    fn size(&self) -> usize {
        Front::PER_ROW + self.values.iter().map(|value| Front::PER_VALUE + value.len()).sum::<usize>()
    }
}

fn too_large() -> Error {
    let text = format!("expected a front of at most {} MiB, found a larger one; sweep fewer values", Front::MAX_MIB);
    Error::new(Kind::Value, text)
}

/// Tokens per second for each user and for each GPU.
type Figures = (f64, f64);

/// The rows that have both figures.
struct Rows<R> {
    csv: CheckedRows<R>,
    keys: Range<usize>,
    per_user: Option<usize>,
    per_gpu: Option<usize>,
    overloaded: Option<usize>,
    /// Whether there was one.
    is_any: bool,
}

impl<R: Read> Rows<R> {
    fn try_new(rows: R) -> Result<Rows<R>, Error> {
        let csv = CheckedRows::try_new(rows)?;
        let at = |wanted: &str| csv.columns.iter().position(|(name, _)| name == wanted);
        let [first, per_user, per_gpu, overloaded] = [FIRST, PER_USER, PER_GPU, "overloaded"].map(at);
        let keys = FIXED.len()..first.unwrap_or(FIXED.len());
        Ok(Rows { csv, keys, per_user, per_gpu, overloaded, is_any: false })
    }

    /// Returns the next row of a server that keeps up, with its figures; `None` at the end.
    fn next(&mut self) -> Result<Option<(StringRecord, Figures)>, Error> {
        while let Some(row) = self.csv.next()? {
            let number = |column: Option<usize>| row.get(column?)?.parse::<f64>().ok().filter(|it| it.is_finite());
            let keeps_up = self.overloaded.and_then(|column| row.get(column)) == Some("false");
            if let Some(figures) = number(self.per_user).zip(number(self.per_gpu)).filter(|_| keeps_up) {
                self.is_any = true;
                return Ok(Some((row, figures)));
            }
        }
        if self.is_any {
            return Ok(None);
        }
        let text = format!("expected rows with {PER_USER} and {PER_GPU}, on servers that keep up, found none");
        Err(Error::new(Kind::NoAnswer, text))
    }
}

/// Figures that no others beat: the second by the first, which fall as the first rise, and an item for each pair.
struct Steps<T>(BTreeMap<i64, (i64, Option<T>)>);

impl<T> Default for Steps<T> {
    fn default() -> Steps<T> {
        Steps(BTreeMap::new())
    }
}

impl<T> Steps<T> {
    /// Returns the item of figures, which is to be set if they are new; `None` if others beat them. The items of figures
    /// that these beat are passed to `beaten`.
    fn step(&mut self, figures: Figures, mut beaten: impl FnMut(T)) -> Option<&mut Option<T>> {
        let (first, second) = (ordered(figures.0), ordered(figures.1));
        let above = self.0.range(first..).next().map(|(of, (second, _))| (*of, *second));
        if above.is_some_and(|above| above.1 >= second && above != (first, second)) {
            return None;
        }
        while let Some((of, _)) =
            self.0.range(..=first).next_back().filter(|(of, (at, _))| (**of, *at) != (first, second) && *at <= second)
        {
            let of = *of;
            self.0.remove(&of).and_then(|(_, item)| item).map(&mut beaten);
        }
        Some(&mut self.0.entry(first).or_insert((second, None)).1)
    }

    /// Returns the items by their first figures.
    fn values(self) -> impl Iterator<Item = T> {
        self.0.into_values().filter_map(|(_, item)| item)
    }
}

/// Returns an integer for a finite number: the larger the number, the larger the integer. The zeros are equal.
fn ordered(number: f64) -> i64 {
    let bits = (number + 0.0).to_bits().cast_signed();
    if bits < 0 { i64::MIN - bits } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `users`, tokens/s of a user and of a GPU, and whether servers are overloaded.
    fn front(rows: &[(u32, &str, &str, bool)]) -> Result<Vec<String>, Error> {
        let mut text = "index,grid,schema_version,users,gpus,overloaded,tokens_per_s_per_user,\
                        output_tokens_per_s_per_gpu\n"
            .to_owned();
        for (index, (users, per_user, per_gpu, overloaded)) in rows.iter().enumerate() {
            text += &format!("{index},x,1,{users},4,{overloaded},{per_user},{per_gpu}\n");
        }
        let Front { keys, rows } = Front::of(text.as_bytes())?;
        assert_eq!(keys, ["users"]);
        Ok(rows.into_iter().map(|row| row.values.concat()).collect())
    }

    /// Lines of rows with one key, from their values and figures.
    fn csv<'r>(rows: impl IntoIterator<Item = (&'r str, u32, u32)>) -> String {
        let header =
            "index,grid,schema_version,users,gpus,overloaded,tokens_per_s_per_user,output_tokens_per_s_per_gpu\n";
        let rows = (0..).zip(rows);
        let rows = rows.map(|(index, (users, user, gpu))| format!("{index},x,1,{users},4,false,{user},{gpu}\n"));
        [header.to_owned()].into_iter().chain(rows).collect()
    }

    #[test]
    fn the_front_is_that_of_all_pairs_of_rows() {
        let mut random = 1_u32;
        let mut next = |below| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % below
        };
        for below in [1, 2, 4, 9, 60] {
            let rows: Vec<(u32, u32)> = (0..60).map(|_| (next(below), next(below))).collect();
            let beats = |a: &(u32, u32), b: &(u32, u32)| a != b && a.0 >= b.0 && a.1 >= b.1;
            let on_front = |row: &(u32, u32)| !rows.iter().any(|other| beats(other, row));
            let text = csv(rows.iter().map(|(user, gpu)| ("8", *user, *gpu)));
            let mut expected: Vec<(u32, u32)> = rows.iter().copied().filter(on_front).collect();
            let indices = (0..).zip(&rows).filter(|(_, row)| on_front(row)).map(|(index, _)| index);
            let mut found = Front::indices(text.as_bytes()).unwrap();
            found.sort_unstable();
            assert_eq!(found, indices.collect::<Vec<u64>>());
            expected.sort_unstable();
            let front = Front::of(text.as_bytes()).unwrap().rows;
            assert_eq!(front.iter().map(|row| row.count).sum::<u64>(), expected.len() as u64);
            expected.dedup();
            let found: Vec<(u32, u32)> = front.iter().map(|row| (row.per_user as u32, row.per_gpu as u32)).collect();
            assert_eq!(found, expected);
            for row in front {
                let first = rows.iter().position(|of| *of == (row.per_user as u32, row.per_gpu as u32)).unwrap();
                assert_eq!(row.index, first.to_string());
            }
        }
    }

    #[test]
    fn numbers_are_ordered() {
        let numbers = [f64::MIN, -2.0, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 1.0, f64::MAX];
        assert!(numbers.iter().zip(&numbers[1..]).all(|(less, more)| ordered(*less) < ordered(*more)));
        assert_eq!(ordered(-0.0), ordered(0.0));
    }

    #[test]
    fn a_front_takes_bounded_memory() {
        let long = "x".repeat(1 << 18);
        let equal = csv((0..70).map(|_| (long.as_str(), 1, 1)));
        let front = Front::of(equal.as_bytes()).unwrap().rows;
        assert_eq!((front.len(), front[0].count), (1, 70));
        // Each of these beats the one before it.
        let rising = csv((0..70).map(|place| (long.as_str(), place, place)));
        assert_eq!(Front::of(rising.as_bytes()).unwrap().rows.len(), 1);
        let wide = csv((0..70).map(|place| (long.as_str(), place, 70 - place)));
        let error = Front::of(wide.as_bytes()).expect_err("a large front").to_string();
        assert_eq!(error, "expected a front of at most 16 MiB, found a larger one; sweep fewer values");
        assert_eq!(Front::indices(wide.as_bytes()).unwrap().len(), 70);
    }

    #[test]
    fn a_row_is_on_the_front_unless_another_is_better_in_one_and_as_good_in_the_other() {
        let rows = [
            (1, "100", "20", false),
            (2, "90", "40", false),
            // Worse than 2 in one.
            (3, "90", "35", false),
            // Worse than 2 in both.
            (4, "80", "30", false),
            (8, "50", "90", false),
            // As good as 8 in one.
            (9, "40", "90", false),
            // Better than all, without a steady state.
            (16, "99", "99", true),
            (32, "", "", false),
        ];
        assert_eq!(front(&rows).unwrap(), ["8", "2", "1"]);
        assert!(front(&[(1, "", "3", false)]).is_err());
        let error = front(&[(1, "5", "5", false), (2, "5", "5%", false)]).expect_err("a wrong cell").to_string();
        assert!(error.starts_with("line 3: output_tokens_per_s_per_gpu: expected a number, found \"5%\""), "{error}");
    }
}
