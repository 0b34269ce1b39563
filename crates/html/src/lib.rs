#![doc = include_str!("../README.md")]

mod document;
mod facts;
mod input;
mod kind;
mod row_sink;
mod rows;
mod text;

pub use document::{Document, FIRST_LINE};
pub use input::Input;
pub use kind::Kind;
pub use row_sink::RowSink;
