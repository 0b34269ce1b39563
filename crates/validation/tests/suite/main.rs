//! Tests of reading and predicting measurements.

mod left_out;
mod lookup_errors;
mod messages;
mod predictions;
mod reading;
mod support;
