#![doc = include_str!("../README.md")]

mod error;
mod nearest;

pub use error::{Error, Key, KeyName, Kind, in_file_form, key, setting};
pub use nearest::{either, hint, misspelt, nearest};
