//! Tests of reading and predicting measurements.

mod left_out;
mod predictions;
mod reading;
mod support;
