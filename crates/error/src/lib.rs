#![doc = include_str!("../README.md")]

mod error;
mod file;
mod json;
mod nearest;
mod printable;

pub use error::{
    Error, Key, Kind, Shortage, conflict, key, missing, no_effect, not_json, not_text, reading, setting, split, value,
};
pub use file::{MAX_LINE, Whole, open, open_in_time};
pub use json::JsonSize;
pub use nearest::{either, hint, misspelt, nearest};
pub use printable::{is_printable, printable};
