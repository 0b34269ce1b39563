//! Fixed inputs and the baseline of the benches.
#![allow(dead_code, unreachable_pub)] // each bench includes it and uses a part

pub mod csv_tables;
pub mod served;

/// Queries in one batch.
pub const QUERIES: usize = 1024;

/// [`QUERIES`] fixed pseudo-random numbers from `least` to `most`, spread evenly in logarithms.
pub fn queries(least: u32, most: u32) -> Vec<u32> {
    let (low, high) = (f64::from(least).ln(), f64::from(most).ln());
    let mut state = 0x853c_49e6_748f_ea9b_u64 ^ u64::from(most);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..QUERIES).map(|_| (low + (high - low) * next()).exp().round() as u32).collect()
}
