//! The cells of a row, by the names of their columns.

use rooflut_roofline::Dtype;

use crate::answers::Answers;
use crate::decimal::Decimal;
use crate::reading::{Cause, Latency, Reason, Rounded};
use crate::table::SourceRow;

/// Indices of the columns of a file.
pub(crate) struct ColumnIndices(Vec<(String, usize)>);

impl ColumnIndices {
    /// The indices of those of `columns` that `header` has.
    pub(crate) fn of<'c>(header: &[String], columns: impl Iterator<Item = &'c str>) -> ColumnIndices {
        let index = |column: &str| header.iter().position(|name| name == column);
        ColumnIndices(columns.filter_map(|column| Some((column.to_owned(), index(column)?))).collect())
    }
}

/// A row of a file whose columns are known.
pub(crate) struct Cells<'a> {
    pub(crate) indices: &'a ColumnIndices,
    pub(crate) row: SourceRow<'a>,
    pub(crate) answers: &'a Answers,
}

impl<'a> Cells<'a> {
    /// Returns the text of a column; `None` where the file has no such column or the cell is empty.
    pub(crate) fn text(&self, column: &str) -> Option<&'a str> {
        let (_, index) = self.indices.0.iter().find(|(name, _)| name == column)?;
        Some(self.row.cell(*index)).filter(|text| !text.is_empty())
    }

    /// Parses a positive whole number.
    pub(crate) fn count(&self, column: &str) -> Result<u32, Cause> {
        match self.whole(column)? {
            0 => Err(self.malformed(column, "a positive whole number")),
            number => Ok(number),
        }
    }

    /// Parses a whole number; pandas writes `8` as `8.0`.
    pub(crate) fn whole(&self, column: &str) -> Result<u32, Cause> {
        let text = self.text(column).unwrap_or_default();
        let whole = |number: f64| {
            (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(number as u32)
        };
        text.parse()
            .ok()
            .or_else(|| text.parse().ok().and_then(whole))
            .ok_or_else(|| self.malformed(column, "a whole number below 2^32"))
    }

    /// Parses a time in units of 10^`power` us. Only the decimal point moves: no digit is lost.
    pub(crate) fn latency(&self, column: &str, power: i32) -> Result<Latency, Cause> {
        let text = self.text(column).unwrap_or_default();
        let exact = Decimal::parse(text, power);
        let us = match exact {
            Some(exact) => exact.to_string().parse().ok(),
            None => shifted(text, power),
        };
        match us {
            // A table set stores 32 bits.
            Some(us) if us > 0.0 && (us as f32).is_normal() => Ok(Latency { us, exact }),
            _ => Err(self.malformed(column, "a positive time")),
        }
    }

    /// Parses a format of numbers; `otherwise` replaces a missing column.
    pub(crate) fn dtype(&self, column: &str, otherwise: Option<Dtype>) -> Result<Dtype, Cause> {
        let unknown = |name: &str| Cause::new(Reason::UnknownDtype, format!("{column} {name:?}"));
        match self.text(column) {
            Some(name) => self.answers.dtype_named(name).ok_or_else(|| unknown(name)),
            None => otherwise.ok_or_else(|| unknown("")),
        }
    }

    /// Parses the format of a KV cache.
    pub(crate) fn kv_dtype(&self, column: &str) -> Result<Dtype, Cause> {
        let dtype = self.dtype(column, self.answers.kv_dtype)?;
        match dtype {
            Dtype::Bf16 | Dtype::Fp8 => Ok(dtype),
            other => Err(Cause::new(Reason::UnknownDtype, format!("{column} {other}"))),
        }
    }

    /// Parses the column `mfu`; `None` if it holds no number.
    pub(crate) fn mfu(&self) -> Option<Rounded> {
        let text = self.text("mfu")?;
        let value: f64 = text.parse().ok().filter(|mfu: &f64| mfu.is_finite())?;
        let (digits, exponent) = split_exponent(text)?;
        let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let decimals = i32::try_from(fraction).ok()?.saturating_sub(exponent);
        Some(Rounded { value, half_unit: 0.5 * 0.1_f64.powi(decimals) })
    }

    /// The cause for leaving out a row with a malformed value.
    pub(crate) fn malformed(&self, column: &str, expected: &str) -> Cause {
        let found: String = self.text(column).unwrap_or_default().chars().take(40).collect();
        let detail = format!("{column}: expected {expected}, found {found:?}");
        Cause::new(Reason::Malformed, detail)
    }
}

/// Parses a number times 10^`power`, rounded once.
fn shifted(text: &str, power: i32) -> Option<f64> {
    if power == 0 {
        return text.parse().ok();
    }
    let (digits, exponent) = split_exponent(text)?;
    // The parser of floats accepts words, too; none of them is a time.
    format!("{digits}e{}", exponent.checked_add(power)?).parse().ok()
}

fn split_exponent(text: &str) -> Option<(&str, i32)> {
    match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => Some((digits, exponent.parse().ok()?)),
        None => Some((text, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, SourceTable};

    fn with<T>(cell: &str, read: impl FnOnce(&Cells<'_>) -> T) -> T {
        let header = ["x".to_owned(), "mfu".to_owned()];
        let indices = ColumnIndices::of(&header, ["x", "mfu"].into_iter());
        let mut column = Column::default();
        column.push(cell);
        let columns = header.map(|name| (name, column.clone())).to_vec();
        let table = SourceTable::of_columns("x", columns, 1);
        read(&Cells { indices: &indices, row: table.row(1).unwrap(), answers: &Answers::default() })
    }

    #[test]
    fn milliseconds_become_microseconds_digit_by_digit() {
        // 0.0033 * 1000.0 is 3.3000000000000003.
        for (ms, us) in [("0.0033", 3.3), ("4.2e-3", 4.2), ("12", 12_000.0), ("1E1", 10_000.0)] {
            assert_eq!(with(ms, |cells| cells.latency("x", 3).map(|latency| latency.us)), Ok(us), "{ms}");
        }
        assert_eq!(with("3.3", |cells| cells.latency("x", 0).map(|latency| latency.us)), Ok(3.3));
    }

    #[test]
    fn text_that_is_not_a_time_is_rejected() {
        for wrong in ["", "-", "0", "-1", "nan", "inf", "OOM", "1e40", "1e-50", "e", "1e"] {
            for power in [0, 3] {
                let found = with(wrong, |cells| cells.latency("x", power).map(|latency| latency.us));
                assert_eq!(found.unwrap_err().reason, Reason::Malformed, "{wrong}");
            }
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        assert_eq!(with("4096.0", |cells| cells.count("x")), Ok(4096));
        assert_eq!(with("0", |cells| cells.whole("x")), Ok(0));
        for wrong in ["", "0", "-1", "1.5", "4294967296", "8k", "NaN"] {
            assert!(with(wrong, |cells| cells.count("x")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_rounding_of_an_mfu_is_that_of_its_digits() {
        let mfu = with("0.250", |cells| cells.mfu()).unwrap();
        assert!((mfu.value - 0.25).abs() < 1e-12);
        assert!((mfu.half_unit - 0.0005).abs() < 1e-12);
        assert_eq!(with("-", |cells| cells.mfu()), None);
    }
}
