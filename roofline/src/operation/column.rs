//! Columns of shapes, and what a shape may not be.

use core::fmt;

use crate::Dtype;

/// A column of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Its name in the CSV.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ColumnKind,
    /// Meaning of its values.
    pub meaning: &'static str,
    /// Default in a question; `None` if a question must name it.
    pub usual: Option<Usual>,
}

/// The kind of values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// The name of a [`Dtype`].
    Dtype,
    /// A positive whole number.
    Count,
    /// A positive whole number; the given one if a file lacks the column.
    CountOr(u32),
    /// A whole number that may be 0.
    Whole,
    /// One of these names. The code is the place of the name in the list.
    Name(&'static [&'static str]),
}

/// The default of a column in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Usual {
    /// This code.
    Code(u32),
    /// The code of the column with this name.
    SameAs(&'static str),
}

/// The reason why a shape is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The column with the wrong value.
    pub column: &'static str,
    /// The expected value.
    pub expected: Expected,
    /// A suggestion how to correct it.
    pub hint: &'static str,
}

/// The expected value of a column: a number within a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expected {
    before: &'static str,
    number: u32,
    after: &'static str,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.before, self.number, self.after)
    }
}

impl Column {
    pub(super) const fn new(name: &'static str, kind: ColumnKind, meaning: &'static str) -> Column {
        let usual = match kind {
            ColumnKind::Dtype => Some(Usual::Code(Dtype::Bf16.code())),
            ColumnKind::CountOr(number) => Some(Usual::Code(number)),
            ColumnKind::Count | ColumnKind::Whole | ColumnKind::Name(_) => None,
        };
        Column { name, kind, meaning, usual }
    }

    pub(super) const fn dtype(name: &'static str, meaning: &'static str) -> Column {
        Column::new(name, ColumnKind::Dtype, meaning)
    }

    pub(super) const fn count(name: &'static str, meaning: &'static str) -> Column {
        Column::new(name, ColumnKind::Count, meaning)
    }

    /// Returns the column with a default in questions.
    pub(super) const fn usually(self, code: u32) -> Column {
        let usual = Some(Usual::Code(code));
        Column { usual, ..self }
    }

    /// Returns the column with the value of another one as the default in questions.
    pub(super) const fn usually_as(self, column: &'static str) -> Column {
        let usual = Some(Usual::SameAs(column));
        Column { usual, ..self }
    }

    /// Returns whether a file must have the column.
    pub const fn is_required(&self) -> bool {
        !matches!(self.kind, ColumnKind::CountOr(_))
    }

    /// Returns whether its values are positive.
    pub const fn is_positive(&self) -> bool {
        matches!(self.kind, ColumnKind::Count | ColumnKind::CountOr(_))
    }

    /// Returns the name that a value stands for in a CSV; `None` for a number.
    pub fn name_of(&self, code: u32) -> Option<&'static str> {
        match self.kind {
            ColumnKind::Dtype => Dtype::ALL.get(code as usize).map(|dtype| dtype.name()),
            ColumnKind::Name(names) => names.get(code as usize).copied(),
            ColumnKind::Count | ColumnKind::CountOr(_) | ColumnKind::Whole => None,
        }
    }
}

impl Contradiction {
    pub(super) const fn new(column: &'static str, expected: Expected, hint: &'static str) -> Contradiction {
        Contradiction { column, expected, hint }
    }
}

impl Expected {
    pub(super) const fn new(before: &'static str, number: u32, after: &'static str) -> Expected {
        Expected { before, number, after }
    }
}
