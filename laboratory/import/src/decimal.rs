//! Positive decimal numbers with all digits of the file.

use std::fmt;

/// The number `digits` x 10^`exponent`, with all digits of the file.
///
/// The shortest text of an f64 has up to 17 digits. A thousand times such a number need not be an f64 of 17
/// digits, but it is a decimal of as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u64,
    exponent: i32,
}

/// Zeros that are written out before or after the digits of a number of ordinary size.
const ZEROS: i32 = 60;

impl Decimal {
    /// Parses a number times 10^`power`; `None` for more than 19 digits, and for text that is not a positive
    /// decimal number.
    pub(crate) fn parse(text: &str, power: i32) -> Option<Decimal> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (text, 0_i32),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let mut digits = 0_u64;
        for digit in whole.chars().chain(fraction.chars()) {
            let digit = u64::from(digit.to_digit(10)?);
            digits = digits.checked_mul(10)?.checked_add(digit)?;
        }
        let places = i32::try_from(fraction.len()).ok()?;
        let exponent = exponent.checked_add(power)?.checked_sub(places)?;
        (digits > 0 && exponent.abs() <= ZEROS).then_some(Decimal { digits, exponent })
    }
}

/// In plain digits.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits.to_string();
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
        if self.exponent >= 0 {
            return write!(f, "{digits}{}", zeros(self.exponent));
        }
        let places = usize::try_from(-self.exponent).unwrap_or(0);
        // At least one digit before the point.
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at(padded.len() - places);
        match fraction.trim_end_matches('0') {
            "" => f.write_str(whole),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(text: &str, power: i32) -> Option<String> {
        Decimal::parse(text, power).map(|decimal| decimal.to_string())
    }

    #[test]
    fn only_the_point_moves() {
        let moved = [
            ("0.30000000000000004", 3, "300.00000000000004"),
            ("0.0033", 3, "3.3"),
            ("12", 3, "12000"),
            ("12.50", 0, "12.5"),
            ("100", 0, "100"),
            ("4.2e-3", 3, "4.2"),
            ("1E2", 0, "100"),
            ("0.5", -3, "0.0005"),
            (".5", 0, "0.5"),
            ("007", 0, "7"),
        ];
        for (text, power, expected) in moved {
            assert_eq!(shifted(text, power).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_positive_decimal_of_19_digits_is_rejected() {
        for wrong in ["", "0", "0.0", "-1", "+1", "nan", "inf", "1e", "1e999", "123456789012345678901"] {
            assert_eq!(shifted(wrong, 0), None, "{wrong}");
        }
    }
}
