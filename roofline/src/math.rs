//! The transcendental functions of rooflut.
//!
//! `core` has none, and the results of `std` differ in the last bits between platforms. These functions use only IEEE
//! additions, multiplications and bit operations in a fixed order, so the same input gives the same bits everywhere.
//! They are faster than libm because they omit cases that table lookups do not need (the last bit, subnormal
//! numbers). Arguments outside the fast range are passed to libm.
//!
//! `ln` and `exp` reduce their argument to a small remainder with a table of 64 entries, which the compiler computes
//! from the series.

/// Number of table entries.
const STEPS: usize = 64;
/// log2 of [`STEPS`].
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Bits of the fraction of an f64.
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
/// Adding 1.5 x 2^52 rounds to the nearest integer and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// [`STEPS`] as a factor.
const PER_STEP: f64 = STEPS as f64;
/// The bits of 1.0, which are also the bits of an exponent of 0.
const ONE: u64 = 1.0_f64.to_bits();

/// ln 2 in two parts. The first has trailing zeros, so its products with small integers are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// For each of [`STEPS`] equal parts of 1 to 2: a short number near the reciprocal of the part's
/// middle, and minus its logarithm.
static RECIPROCALS: [(f64, f64); STEPS] = reciprocals();

/// 2 to the power of i / [`STEPS`].
static POWERS: [f64; STEPS] = powers();

/// Returns the natural logarithm, within 1e-15 of the exact one, relative or absolute.
///
/// With x = 2^e m, 1 <= m < 2, and c the tabled reciprocal: ln x = e ln 2 - ln c + ln(1 + r), where
/// r = m c - 1 and |r| < 1/64. The series of ln(1 + r) ends after r^7/7; the rest is below
/// |r|^8 / 8 / (1 - |r|) < 1e-15.
///
/// ```
/// use rooflut_roofline::math::ln;
/// assert_eq!(ln(1.0), 0.0);
/// assert!((ln(10.0) - core::f64::consts::LN_10).abs() < 1e-15);
/// assert!(ln(-1.0).is_nan());
/// ```
#[inline]
pub fn ln(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..=f64::MAX).contains(&x) {
        return libm::log(x);
    }
    let bits = x.to_bits();
    let exponent = (bits >> FRACTION_BITS) as i64 - (ONE >> FRACTION_BITS) as i64;
    let e = exponent as f64;
    let part = (bits >> (FRACTION_BITS - STEP_BITS)) as usize % STEPS;
    let m = f64::from_bits(bits & ((1 << FRACTION_BITS) - 1) | ONE);
    let (reciprocal, minus_ln) = RECIPROCALS.get(part).copied().unwrap_or((1.0, 0.0));
    let r = m * reciprocal - 1.0;
    let r2 = r * r;
    let low = -1.0 / 2.0 + r * (1.0 / 3.0);
    let high = (-1.0 / 4.0 + r * (1.0 / 5.0)) + r2 * (-1.0 / 6.0 + r * (1.0 / 7.0));
    (e * LN_2_HIGH + minus_ln) + (r + (r2 * (low + r2 * high) + e * LN_2_LOW))
}

/// Returns the natural logarithm of a normal positive number, within 5e-14 of the exact one, relative or absolute:
/// [`ln`] without the range check, one term and the low part of ln 2. The result is meaningless for any other number.
///
/// ```
/// use rooflut_roofline::math::ln_of_normal;
/// assert_eq!(ln_of_normal(1.0), 0.0);
/// assert!((ln_of_normal(10.0) - core::f64::consts::LN_10).abs() < 5e-14);
/// ```
#[inline]
pub fn ln_of_normal(x: f64) -> f64 {
    let bits = x.to_bits();
    // Twelve bits fit into an i32.
    let exponent = (bits >> FRACTION_BITS) as i32 - (ONE >> FRACTION_BITS) as i32;
    let part = (bits >> (FRACTION_BITS - STEP_BITS)) as usize % STEPS;
    let m = f64::from_bits(bits & ((1 << FRACTION_BITS) - 1) | ONE);
    let (reciprocal, minus_ln) = RECIPROCALS.get(part).copied().unwrap_or((1.0, 0.0));
    let r = m * reciprocal - 1.0;
    let r2 = r * r;
    let low = -1.0 / 2.0 + r * (1.0 / 3.0);
    let high = (-1.0 / 4.0 + r * (1.0 / 5.0)) - r2 * (1.0 / 6.0);
    (f64::from(exponent) * core::f64::consts::LN_2 + minus_ln) + (r + r2 * (low + r2 * high))
}

/// Returns the exponential, within 1e-15 of the exact one, relative.
///
/// With x = n (ln 2)/64 + r, |r| <= (ln 2)/128: e^x = 2^(n/64) e^r, where 2 to the power of
/// (n modulo 64)/64 is tabled, and the Taylor series of e^r ends after r^5/5!; the rest is below
/// 0.00542^6 / 6! < 1e-16.
///
/// ```
/// use rooflut_roofline::math::exp;
/// assert_eq!(exp(0.0), 1.0);
/// assert!((exp(1.0) / core::f64::consts::E - 1.0).abs() < 1e-15);
/// assert_eq!(exp(-1e9), 0.0);
/// ```
#[inline]
pub fn exp(x: f64) -> f64 {
    if !(-700.0..=700.0).contains(&x) {
        return libm::exp(x);
    }
    let shifted = x * (core::f64::consts::LOG2_E * PER_STEP) + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * (LN_2_HIGH / PER_STEP)) - n * (LN_2_LOW / PER_STEP);
    let r2 = r * r;
    let series = r + r2 * ((1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0)));
    scaled(shifted, series)
}

/// Returns 2^(n/64) (1 + `series`), where n is in the low bits of `shifted`.
#[inline]
fn scaled(shifted: f64, series: f64) -> f64 {
    let whole = shifted.to_bits();
    let tabled = POWERS.get(whole as usize % STEPS).copied().unwrap_or(1.0);
    let power = f64::from_bits(((whole >> STEP_BITS) << FRACTION_BITS).wrapping_add(ONE));
    (tabled + tabled * series) * power
}

/// Returns the exponential of a number from -700 to 700, within 1e-13 of the exact one, relative: [`exp`] without the
/// range check, one term and the low part of ln 2. The result is meaningless for any other number.
///
/// ```
/// use rooflut_roofline::math::exp_short;
/// assert_eq!(exp_short(0.0), 1.0);
/// assert!((exp_short(1.0) / core::f64::consts::E - 1.0).abs() < 1e-13);
/// ```
#[inline]
pub fn exp_short(x: f64) -> f64 {
    let shifted = x * (core::f64::consts::LOG2_E * PER_STEP) + ROUND;
    let r = x - (shifted - ROUND) * (core::f64::consts::LN_2 / PER_STEP);
    let series = r + r * r * ((1.0 / 2.0 + r * (1.0 / 6.0)) + r * r * (1.0 / 24.0));
    scaled(shifted, series)
}

/// Returns the larger of two numbers in one instruction: [`f64::max`] without the handling of NaN.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Returns the square root, exact to the last bit.
#[inline]
pub fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

#[allow(clippy::indexing_slicing)] // Runs in the compiler only, where iterators cannot.
const fn reciprocals() -> [(f64, f64); STEPS] {
    let mut table = [(1.0, 0.0); STEPS];
    let mut part = 0;
    while part < STEPS {
        let middle = 1.0 + (part as f64 + 0.5) / STEPS as f64;
        // Short enough for exact products with most arguments, and exactly 1 at m = 1.
        let short = ((256.0 / middle + 0.5) as u32) as f64 / 256.0;
        let reciprocal = if part == 0 { 1.0 } else { short };
        table[part] = (reciprocal, -ln_series(reciprocal));
        part += 1;
    }
    table
}

/// Returns ln x for x from 1/2 to 1: 2 (s + s^3/3 + s^5/5 + ...), s = (x - 1) / (x + 1).
const fn ln_series(x: f64) -> f64 {
    let s = (x - 1.0) / (x + 1.0);
    let mut sum = 0.0;
    let mut odd = 41;
    while odd > 0 {
        sum = sum * (s * s) + 1.0 / odd as f64;
        odd -= 2;
    }
    2.0 * s * sum
}

#[allow(clippy::indexing_slicing)] // Runs in the compiler only, where iterators cannot.
const fn powers() -> [f64; STEPS] {
    let mut table = [1.0; STEPS];
    let mut step = 0;
    while step < STEPS {
        let x = step as f64 * core::f64::consts::LN_2 / STEPS as f64;
        // Taylor series, innermost term first: 1 + x (1 + x/2 (1 + x/3 (...))).
        let mut sum = 1.0;
        let mut term = 24;
        while term > 0 {
            sum = 1.0 + sum * x / term as f64;
            term -= 1;
        }
        table[step] = sum;
        step += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a million points, evenly spread over the range that lookups use.
    fn points(from: f64, to: f64) -> impl Iterator<Item = f64> {
        const COUNT: u32 = 1_000_000;
        (0..=COUNT).map(move |i| from + (to - from) * f64::from(i) / f64::from(COUNT))
    }

    #[test]
    fn ln_is_within_the_documented_error() {
        for x in points(-40.0, 40.0).map(libm::exp).chain(points(0.5, 2.0)) {
            let exact = libm::log(x);
            let apart = |found: f64| (found - exact).abs() / exact.abs().max(1.0);
            assert!(apart(ln(x)) <= 1e-15, "{x}");
            assert!(apart(ln_of_normal(x)) <= 5e-14, "{x}");
        }
    }

    #[test]
    fn exp_is_within_the_documented_error() {
        for x in points(-50.0, 50.0).chain(points(-1.0, 1.0)) {
            let exact = libm::exp(x);
            assert!((exp(x) - exact).abs() <= 1e-15 * exact, "{x}");
            assert!((exp_short(x) - exact).abs() <= 1e-13 * exact, "{x}");
        }
    }

    #[test]
    fn fast_range_agrees_with_libm_at_its_ends() {
        for x in [-700.0, 700.0, 699.999] {
            assert!((exp(x) / libm::exp(x) - 1.0).abs() < 1e-15);
        }
        for x in [f64::MIN_POSITIVE, f64::MAX] {
            assert!((ln(x) / libm::log(x) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn special_arguments() {
        assert!(ln(f64::NAN).is_nan() && ln(-1.0).is_nan() && exp(f64::NAN).is_nan());
        assert_eq!((ln(0.0), ln(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((exp(f64::INFINITY), exp(f64::NEG_INFINITY)), (f64::INFINITY, 0.0));
        assert!((ln(5e-324) - libm::log(5e-324)).abs() < 1e-12);
    }
}
