//! Measured kernels as rows of a table set.

use std::fmt::{Display, Write};

use rooflut_codegen::MeasuredKernel;
use rooflut_roofline::Dtype;
use rooflut_roofline::operation::{Codes, Column, ColumnKind};

/// Returns the kernel with the math in another format.
pub(crate) fn with_dtype(kernel: MeasuredKernel, dtype: Dtype) -> MeasuredKernel {
    let mut shape = kernel.shape::<Codes>();
    for (column, code) in columns(&kernel).zip(&mut shape) {
        if column.name == "dtype" {
            *code = dtype.code();
        }
    }
    MeasuredKernel::new(kernel.operation(), shape, kernel.point())
}

/// Returns the common part of all points of one curve or grid: the kernel with coordinates of 0.
pub(crate) fn shape(kernel: &MeasuredKernel) -> MeasuredKernel {
    kernel.at([0; 2])
}

/// Describes the shape: `dtype bf16, k 4096, n 6144`.
pub(crate) fn describe(kernel: &MeasuredKernel) -> String {
    let cells = cells(kernel).map(|(column, cell)| format!("{} {cell}", column.name));
    cells.collect::<Vec<_>>().join(", ")
}

/// Appends the row of a kernel. `with_optional` adds the columns that a file may lack.
pub(crate) fn write_row(text: &mut String, kernel: &MeasuredKernel, latency_us: &dyn Display, with_optional: bool) {
    for (_, cell) in cells(kernel).filter(|(column, _)| with_optional || column.is_required()) {
        text.push_str(&cell);
        text.push(',');
    }
    for (_, coordinate) in kernel.operation().declared().axes.iter().zip(kernel.point()) {
        // Writing to a String does not fail.
        let _ = write!(text, "{coordinate},");
    }
    let _ = writeln!(text, "{latency_us}");
}

/// Whether the row of a kernel needs the columns that a file may lack.
pub(crate) fn needs_optional(kernel: &MeasuredKernel) -> bool {
    let codes = kernel.shape::<Codes>();
    let mut pairs = columns(kernel).zip(codes);
    pairs.any(|(column, code)| matches!(column.kind, ColumnKind::CountOr(usual) if usual != code))
}

/// Returns why a table set cannot hold a kernel of this shape.
pub(crate) fn contradiction(kernel: &MeasuredKernel) -> Option<String> {
    let check = kernel.operation().declared().check;
    let refused = check(&kernel.shape()).err()?;
    let found = kernel.code(refused.column).unwrap_or_default();
    let (column, expected) = (refused.column, refused.expected);
    Some(format!("{column} {found}, expected {expected}"))
}

fn columns(kernel: &MeasuredKernel) -> impl Iterator<Item = &'static Column> + use<> {
    kernel.operation().declared().shape.iter()
}

/// Returns the columns of the shape with their cells.
fn cells(kernel: &MeasuredKernel) -> impl Iterator<Item = (&'static Column, String)> + use<> {
    let codes = kernel.shape::<Codes>();
    columns(kernel).zip(codes).map(|(column, code)| {
        let name = column.name_of(code).map(str::to_owned);
        (column, name.unwrap_or_else(|| code.to_string()))
    })
}
