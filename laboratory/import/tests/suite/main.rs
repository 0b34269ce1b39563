//! Importing and its defects.

mod defects;
mod round_trip;
mod support;
