#![doc = include_str!("../README.md")]

pub mod leave_one_out;
pub mod lookup;
pub mod step;
