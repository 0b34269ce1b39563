//! Checked numbers in, Rust out.
//!
//! The source is text: `Debug` of a number, a string, an axis point or a slice of these is its literal.

mod constants;
mod engines;
mod lookup_errors;
mod set;
mod sets;

pub use constants::generate_constants;
pub use engines::generate_engines;
pub use lookup_errors::generate_lookup_errors;
pub use sets::{generate_builtin, generate_expression};

/// The name of the constant or static for something called `name`.
fn constant_name(name: &str) -> String {
    name.to_uppercase().replace(['-', '.'], "_")
}

/// A documentation comment with this text.
fn doc(text: &str) -> String {
    let lines: Vec<_> = text.split(['\n', '\r']).map(|line| format!("/// {line}")).collect();
    lines.join("\n")
}
