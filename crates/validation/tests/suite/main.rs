//! Measurements, how they are read and predicted.

mod left_out;
mod predictions;
mod reading;
mod support;
