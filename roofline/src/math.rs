//! The only place of rooflut with transcendental functions.
//!
//! `core` has none, and those of `std` differ in the last bits from platform to platform. These use
//! nothing but IEEE additions, multiplications, divisions and bit operations in a fixed order, so the
//! same input gives the same bytes everywhere; and they are faster than libm's, because they leave out
//! what tables never ask for (the last bit, subnormal numbers). Arguments outside the fast range go
//! to libm.

/// ln 2 in two parts: the first has trailing zeros, so that its products with small integers are
/// exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Natural logarithm, within 1e-15 of the exact one, relative or absolute.
///
/// With x = 2^e m, m between 1/sqrt 2 and sqrt 2, and s = (m - 1) / (m + 1): ln x = e ln 2 + ln m and
/// ln m = 2 s (1 + z/3 + z^2/5 + ...), z = s^2 <= 0.02944. The series ends after z^8/17; the rest is
/// below z^9 / 19 / (1 - z) < 1e-15 of ln m.
///
/// ```
/// use rooflut_roofline::math::ln;
/// assert_eq!(ln(1.0), 0.0);
/// assert!((ln(10.0) - core::f64::consts::LN_10).abs() < 1e-15);
/// assert!(ln(-1.0).is_nan());
/// ```
pub fn ln(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..=f64::MAX).contains(&x) {
        return libm::log(x);
    }
    // Move the exponent so that it counts from 1/sqrt 2.
    const SQRT_HALF_BITS: u64 = 0x3FE6_A09E_667F_3BCD;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let exponent = (shifted as i64) >> 52;
    let e = exponent as f64;
    let m = f64::from_bits(x.to_bits().wrapping_sub((exponent as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let low = (1.0 / 3.0 + z * (1.0 / 5.0)) + z2 * (1.0 / 7.0 + z * (1.0 / 9.0));
    let high = (1.0 / 11.0 + z * (1.0 / 13.0)) + z2 * (1.0 / 15.0 + z * (1.0 / 17.0));
    let series = z * (low + z4 * high);
    e * LN_2_HIGH + (2.0 * s + (2.0 * s * series + e * LN_2_LOW))
}

/// Exponential, within 1e-15 of the exact one, relative.
///
/// With x = n ln 2 + r, |r| <= ln 2 / 2: e^x = 2^n e^r, and the Taylor series of e^r ends after
/// r^12/12!; the rest is below 0.3466^13 / 13! < 2e-16.
///
/// ```
/// use rooflut_roofline::math::exp;
/// assert_eq!(exp(0.0), 1.0);
/// assert!((exp(1.0) / core::f64::consts::E - 1.0).abs() < 1e-15);
/// assert_eq!(exp(-1e9), 0.0);
/// ```
pub fn exp(x: f64) -> f64 {
    if !(-700.0..=700.0).contains(&x) {
        return libm::exp(x);
    }
    // Adding 1.5 x 2^52 rounds to the nearest integer, which then stands in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = x * core::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let a = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    let b = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40_320.0 + r * (1.0 / 362_880.0));
    let c = (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0)) + r2 * (1.0 / 479_001_600.0);
    let fraction = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    fraction * power
}

/// Square root, exact to the last bit.
pub fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million points, evenly spread over the range in which tables ask.
    fn points(from: f64, to: f64) -> impl Iterator<Item = f64> {
        const COUNT: u32 = 1_000_000;
        (0..=COUNT).map(move |i| from + (to - from) * f64::from(i) / f64::from(COUNT))
    }

    #[test]
    fn ln_is_as_exact_as_stated() {
        for x in points(-40.0, 40.0).map(libm::exp).chain(points(0.5, 2.0)) {
            let exact = libm::log(x);
            assert!((ln(x) - exact).abs() <= 1e-15 * exact.abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn exp_is_as_exact_as_stated() {
        for x in points(-50.0, 50.0).chain(points(-1.0, 1.0)) {
            let exact = libm::exp(x);
            assert!((exp(x) - exact).abs() <= 1e-15 * exact, "{x}");
        }
    }

    #[test]
    fn the_ends_of_the_fast_range_fit_to_libm() {
        for x in [-700.0, 700.0, 699.999] {
            assert!((exp(x) / libm::exp(x) - 1.0).abs() < 1e-15);
        }
        for x in [f64::MIN_POSITIVE, f64::MAX] {
            assert!((ln(x) / libm::log(x) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn odd_arguments_behave() {
        assert!(ln(f64::NAN).is_nan() && ln(-1.0).is_nan() && exp(f64::NAN).is_nan());
        assert_eq!(
            (ln(0.0), ln(f64::INFINITY)),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
        assert_eq!(
            (exp(f64::INFINITY), exp(f64::NEG_INFINITY)),
            (f64::INFINITY, 0.0)
        );
        assert!((ln(5e-324) - libm::log(5e-324)).abs() < 1e-12);
    }
}
