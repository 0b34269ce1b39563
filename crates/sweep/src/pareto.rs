//! The rows of a sweep that no other row beats.

use std::io::Read;

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
    /// The rows, by ascending tokens per second for each user.
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
}

impl Front {
    /// Finds the front of the rows of a sweep, as it writes them.
    ///
    /// # Errors
    /// Rows that cannot be read, a cell that is not of the kind of its column, and no row that has both figures.
    pub fn of(rows: impl Read) -> Result<Front, Error> {
        let mut rows = CheckedRows::try_new(rows)?;
        let names = rows.names();
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        let [first, per_user, per_gpu, overloaded] = [FIRST, PER_USER, PER_GPU, "overloaded"].map(at);
        let keys = FIXED.len()..first.unwrap_or(FIXED.len());
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let number = |column: Option<usize>| row.get(column?)?.parse::<f64>().ok().filter(|it| it.is_finite());
            let keeps_up = overloaded.and_then(|column| row.get(column)) == Some("false");
            if let Some((per_user, per_gpu)) = number(per_user).zip(number(per_gpu)).filter(|_| keeps_up) {
                let values = keys.clone().filter_map(|key| Some(row.get(key)?.to_owned())).collect();
                all.push(FrontRow { index: row.get(0).unwrap_or_default().to_owned(), values, per_user, per_gpu });
            }
        }
        if all.is_empty() {
            let text = format!("expected rows with {PER_USER} and {PER_GPU}, on servers that keep up, found none");
            return Err(Error::new(Kind::NoAnswer, text));
        }
        let keys = keys.filter_map(|key| names.get(key).cloned()).collect();
        Ok(Front { keys, rows: unbeaten(all) })
    }
}

/// Returns the rows that no other beats, by ascending tokens per second for each user.
fn unbeaten(mut rows: Vec<FrontRow>) -> Vec<FrontRow> {
    // A stable order: equal rows stay as they are.
    rows.sort_by(|a, b| b.per_user.total_cmp(&a.per_user).then(b.per_gpu.total_cmp(&a.per_gpu)));
    let mut front: Vec<FrontRow> = Vec::new();
    for row in rows {
        let is_kept = front.last().is_none_or(|last| {
            let is_equal =
                last.per_user.total_cmp(&row.per_user).is_eq() && last.per_gpu.total_cmp(&row.per_gpu).is_eq();
            row.per_gpu > last.per_gpu || is_equal
        });
        if is_kept {
            front.push(row);
        }
    }
    front.reverse();
    front
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
        // Equal rows are both on it.
        assert_eq!(front(&[(1, "5", "5", false), (2, "5", "5", false)]).unwrap(), ["2", "1"]);
        assert!(front(&[(1, "", "3", false)]).is_err());
        let error = front(&[(1, "5", "5", false), (2, "5", "5%", false)]).expect_err("a wrong cell").to_string();
        assert!(error.starts_with("line 3: output_tokens_per_s_per_gpu: expected a number, found \"5%\""), "{error}");
    }
}
