//! Tolerances of tests, with their reasons.

/// A latency of a CSV against the answer for its row: tables store `f32`, which rounds by up to
/// 2^-24 = 6e-8.
pub(crate) const STORED_F32: f64 = 1e-7;

/// An interpolated answer against the oracle: the logarithm of the slowdown, up to about 8, is stored
/// as `f32` (8 x 6e-8), twice for blended shapes (the measured curves and the blend).
pub(crate) const STORED_LN_F32: f64 = 1e-6;

/// Sums of the same terms in another order or with other roundings, in `f64`: some hundred terms of
/// 1.1e-16 each.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Slope of an operation's reference time in log-log coordinates: the time grows at most like its
/// FLOPs (rows, tokens, bytes: 1; prompt length: 2).
pub(crate) const LINEAR_SLOPE: f64 = 1.0;
/// See [`LINEAR_SLOPE`]: FLOPs of prefill grow with the square of the length.
pub(crate) const SQUARE_SLOPE: f64 = 2.0;
/// See [`LINEAR_SLOPE`]: where KV entries outgrow the L2 cache, time grows from 0.3 of the time from
/// memory to all of it while bytes grow by a half: a slope of 1 + (0.7 / 0.35) x 0.7 / 0.3.
pub(crate) const DECODE_SLOPE: f64 = 5.7;

/// A step of more requests against the longest step of fewer, in logarithms: GEMMs and all-reduces of a
/// few rows were measured a few percent faster than of one or two rows, those of the widest model most.
pub(crate) const FEWER_REQUESTS: f64 = 0.04;
