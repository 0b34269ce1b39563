//! Tests of reading and predicting measurements.

mod closed_loops;
mod engine_steps;
mod intervals;
mod left_out;
mod lookup_errors;
mod memory;
mod messages;
mod predictions;
mod reading;
mod support;
mod transfers;
