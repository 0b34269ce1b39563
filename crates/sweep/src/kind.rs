//! Kinds of columns.

use serde_json::{Number, Value};

use crate::keys::{cell, is_formula, unmarked};

/// The kind of a column's values. Any value may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// True or false.
    Truth,
    /// Texts; values of several kinds as the texts of cells.
    Text,
}

impl Kind {
    /// Returns whether a cell of CSV has a value of this kind, or null.
    pub(crate) fn has(self, cell: &str) -> bool {
        match self {
            Kind::Text => !is_formula(cell),
            _ => self.value(cell).is_some(),
        }
    }

    /// Returns the values as a message describes them.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Kind::Integer => "a whole number",
            Kind::Number => "a number",
            Kind::Truth => "true or false",
            Kind::Text => "text that no spreadsheet runs",
        }
    }

    /// Returns the kind that has all of `values`.
    pub(crate) fn of(values: &[Value]) -> Kind {
        let are = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
        match () {
            () if are(Value::is_i64) => Kind::Integer,
            () if are(is_number) => Kind::Number,
            () if are(Value::is_boolean) => Kind::Truth,
            () => Kind::Text,
        }
    }

    /// Returns a value of a column of this kind as it comes back from CSV and Parquet.
    pub(crate) fn plain(self, value: Value) -> Value {
        match (self, &value) {
            (Kind::Number, Value::Number(number)) => number.as_f64().into(),
            (Kind::Text, _) => self.value(&cell(&value)).unwrap_or_default(),
            _ => value,
        }
    }

    /// Returns the value of a cell of CSV, if it is one of this kind. An empty cell is null.
    pub(crate) fn value(self, cell: &str) -> Option<Value> {
        Some(match self {
            _ if cell.is_empty() => Value::Null,
            Kind::Integer => cell.parse::<i64>().ok()?.into(),
            Kind::Number => Number::from_f64(cell.parse().ok()?)?.into(),
            Kind::Truth => cell.parse::<bool>().ok()?.into(),
            Kind::Text => unmarked(cell).into(),
        })
    }
}

/// Whether a double has the value to the last digit.
fn is_number(value: &Value) -> bool {
    let is_exact = |whole: i64| whole.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS;
    value.is_f64() || value.as_i64().is_some_and(is_exact)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_is_of_the_kind_of_its_column() {
        for (kind, cells, others) in [
            (
                Kind::Integer,
                vec!["0", "-3", "9007199254740993"],
                vec!["1.0", "1e3", "x", " 1", "0x1", "99999999999999999999"],
            ),
            (Kind::Number, vec!["0", "-0.25", "1e-7", "3.5e300"], vec!["NaN", "inf", "1e999", "1,0", "1 ", "-"]),
            (Kind::Truth, vec!["true", "false"], vec!["True", "1", "truefalse"]),
            (Kind::Text, vec!["a", "1", "true", "-1.5", "'=a"], vec!["=a", "+a", "-a", "@a"]),
        ] {
            assert!(kind.has(""));
            assert!(cells.iter().all(|cell| kind.has(cell)), "{kind:?}");
            assert!(!others.iter().any(|cell| kind.has(cell)), "{kind:?}");
        }
    }

    #[test]
    fn a_kind_has_all_values() {
        let kind = |values: Value| Kind::of(values.as_array().unwrap());
        assert_eq!(kind(json!([1, 2, null])), Kind::Integer);
        assert_eq!(kind(json!([1, 2.5])), Kind::Number);
        assert_eq!(kind(json!([1, u64::MAX])), Kind::Text);
        assert_eq!(kind(json!([true, false])), Kind::Truth);
        assert_eq!(kind(json!(["h100", "h200"])), Kind::Text);
        assert_eq!(kind(json!([256, "lognormal:200,0.8"])), Kind::Text);
        assert_eq!(kind(json!([["ttft:500"], ["tpot:20"]])), Kind::Text);
    }
}
