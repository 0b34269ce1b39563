//! Kernels and points as names and values, in the order of the output.

use std::fmt;

use rooflut::hardware::{MeasuredKernel, OperationKind};
use rooflut_roofline::operation::Codes;
use serde::{Serialize, Serializer};

/// Names and values, in order: a shape, a point.
#[derive(Clone, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fields(
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Value>"))]
    Vec<(&'static str, Value)>,
);

/// A value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Value {
    /// A dimension or a coordinate.
    Number(u64),
    /// The name of a format.
    Name(&'static str),
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Name(name) => name.fmt(f),
        }
    }
}

impl Fields {
    /// Returns the names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.0.iter().copied()
    }

    /// Adds a field.
    pub fn and(mut self, name: &'static str, value: impl Into<Value>) -> Fields {
        self.0.push((name, value.into()));
        self
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {value}")?;
        }
        Ok(())
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Returns the fields that are equal in all kernels, and the names of the other fields.
pub fn split(kernels: &[&Fields]) -> (Vec<String>, Vec<&'static str>) {
    let mut common = Vec::new();
    let mut varying = Vec::new();
    for field in kernels.iter().take(1).flat_map(|first| first.iter()) {
        let (name, value) = field;
        let has = |kernel: &&Fields| kernel.iter().any(|other| other == field);
        if kernels.iter().all(has) {
            common.push(format!("{name} {value}"));
        } else {
            varying.push(name);
        }
    }
    (common, varying)
}

/// Returns the shape and point of a measured kernel.
pub fn measured(kernel: &MeasuredKernel) -> Fields {
    let mut fields = shape(kernel.operation(), kernel.shape());
    for (axis, coordinate) in kernel.operation().declared().axes.iter().zip(kernel.point()) {
        fields = fields.and(axis, coordinate);
    }
    fields
}

/// Returns the columns of a shape.
pub fn shape(operation: OperationKind, shape: Codes) -> Fields {
    let mut fields = Fields::default();
    for (column, code) in operation.declared().shape.iter().zip(shape) {
        fields = match column.name_of(code) {
            Some(name) => fields.and(column.name, Value::Name(name)),
            None => fields.and(column.name, code),
        };
    }
    fields
}
