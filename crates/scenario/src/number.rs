//! Numbers, times and number formats as people write them.

use std::fmt::Display;

use jiff::SignedDuration;
use rooflut::hardware::Dtype;
use rooflut_error::{Error, Kind};
use serde::{Deserializer, de};

use crate::as_text;

/// A text that is not the value of a key, with what was expected.
pub(crate) fn invalid(expected: impl Into<String>) -> Error {
    Error::new(Kind::Value, expected)
}

/// Forms of a number in messages.
const FORMS: &str = "as in 1000, 1_000 or 1e3 (not 1k, which may be 1024)";

/// Reads a whole number: `1000`, `1_000` or `1e3`. A comma separates values and is never part of a number.
///
/// ```
/// use rooflut_scenario::whole;
/// assert_eq!(whole::<u32>("1_000"), whole("1e3"));
/// // 1000 or 1024?
/// assert!(whole::<u32>("1k").is_err());
/// // 16128, or 16 and 128?
/// assert!(whole::<u32>("16,128").is_err());
/// ```
///
/// # Errors
///
/// Anything else, and a number that `T` does not hold.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, Error> {
    let digits = one_number(text)?;
    let exact = digits.parse().ok();
    let read = exact.or_else(|| whole_float(digits.parse().ok()?)).and_then(|number: u64| T::try_from(number).ok());
    read.ok_or_else(|| {
        let largest = u64::MAX >> (64 - 8 * size_of::<T>().clamp(1, 8));
        invalid(match digits.parse() {
            Ok(number) if f64::fract(number) <= 0.0 && number >= largest as f64 => {
                format!("expected a whole number of at most {}", grouped(largest))
            }
            Ok(number) if number < 0.0 => "expected a whole number that is not negative".to_owned(),
            _ => format!("expected a whole number, {FORMS}"),
        })
    })
}

/// Reads a number: `0.9`, `1e3` or `1_000.5`.
///
/// # Errors
///
/// Text that is no number.
pub fn real(text: &str) -> Result<f64, Error> {
    let number = one_number(text)?.parse();
    number.map_err(|_| match text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok()) {
        Some(percent) => invalid(format!("expected a number without a percent sign; write {}", percent / 100.0)),
        None => invalid(format!("expected a number, {FORMS}")),
    })
}

/// Reads a number format by the names that engines and checkpoints use, in any case: `bf16`, `bfloat16`, `float16`,
/// `FP8`, `fp8_e4m3`, `fp8-block`, `nvfp4`, `MXFP4`.
///
/// # Errors
///
/// Another name.
pub fn dtype(text: &str) -> Result<Dtype, Error> {
    let name = text.to_ascii_lowercase().replace('-', "_");
    let name = match name.as_str() {
        "bfloat16" | "float16" | "fp16" | "half" => "bf16",
        "fp8_e4m3" | "float8_e4m3fn" => "fp8",
        name => name,
    };
    name.parse().map_err(|error| {
        let advice = match name {
            "auto" => " (auto is the default: leave it out)",
            _ => "",
        };
        invalid(format!("{error}{advice}"))
    })
}

/// Reads microseconds, or a time with its unit.
pub(crate) fn microseconds(text: &str) -> Result<f64, Error> {
    let expected = "expected microseconds or a time with its unit, as in 10 or 0.1ms";
    plain_or_time(text, |time| time.as_nanos() as f64 / 1e3, expected)
}

/// Reads seconds, or a time with its unit.
pub(crate) fn seconds(text: &str) -> Result<f64, Error> {
    seconds_or(text, "expected seconds or a time with its unit, as in 30 or 2m")
}

/// As [`seconds`], where something else is `expected`, too.
pub(crate) fn seconds_or(text: &str, expected: &str) -> Result<f64, Error> {
    plain_or_time(text, |time| time.as_secs_f64(), expected)
}

/// Reads milliseconds, or a time with its unit.
pub(crate) fn milliseconds(text: &str) -> Result<f64, Error> {
    let expected = "expected milliseconds or a time with its unit, as in 200 or 30s";
    plain_or_time(text, |time| time.as_nanos() as f64 / 1e6, expected)
}

/// Reads a number, or a time with its unit as a number.
fn plain_or_time(text: &str, number: impl FnOnce(SignedDuration) -> f64, expected: &str) -> Result<f64, Error> {
    match (real(text), time(text)) {
        (Ok(plain), _) => Ok(plain),
        (_, Some(time)) => Ok(number(time)),
        (Err(error), None) if text.contains(',') || text.contains("..") => Err(error),
        _ => Err(invalid(expected)),
    }
}

/// Reads a time with its unit: `500ms`, `1.5s`, `2m`.
fn time(text: &str) -> Option<SignedDuration> {
    text.parse().ok()
}

/// Reads an optional whole number of a file, which may be a float without a fraction or text.
pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    optional(deserializer, whole)
}

/// Reads an optional number of a file.
pub(crate) fn real_or_none<'de, D>(deserializer: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    optional(deserializer, real)
}

/// Reads optional microseconds of a file.
pub(crate) fn microseconds_or_none<'de, D>(deserializer: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    optional(deserializer, microseconds)
}

/// Reads an optional time of a file, seconds.
pub(crate) fn seconds_or_none<'de, D>(deserializer: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    optional(deserializer, seconds)
}

/// Reads the name of a format that a KV cache may have: bf16 or fp8.
///
/// # Errors
///
/// Another name.
pub fn kv_dtype(text: &str) -> Result<Dtype, Error> {
    let found = dtype(text).ok().filter(|dtype| matches!(dtype, Dtype::Bf16 | Dtype::Fp8));
    found.ok_or(invalid("expected one of bf16, fp8"))
}

/// Reads an optional number format of a file.
pub(crate) fn dtype_or_none<'de, D>(deserializer: D) -> Result<Option<Dtype>, D::Error>
where
    D: Deserializer<'de>,
{
    optional(deserializer, dtype)
}

pub(crate) fn kv_dtype_or_none<'de, D>(deserializer: D) -> Result<Option<Dtype>, D::Error>
where
    D: Deserializer<'de>,
{
    optional(deserializer, kv_dtype)
}

/// Reads an optional value from its text.
pub(crate) fn optional<'de, T, E, D>(
    deserializer: D,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error>
where
    E: Display,
    D: Deserializer<'de>,
{
    let text = as_text::scalar(deserializer)?;
    text.map(|text| read(&text)).transpose().map_err(de::Error::custom)
}

/// Writes a whole number as it can be typed: from five digits on with `_` between thousands, as in `8192` and
/// `1_234_567`.
pub fn grouped(number: impl Into<u64>) -> String {
    match number.into() {
        few @ 0..10_000 => few.to_string(),
        many => format!("{}_{:03}", thousands(many / 1_000), many % 1_000),
    }
}

/// `1 request`, `12_000 requests`.
///
/// ```
/// assert_eq!(rooflut_scenario::plural(12_000, "request"), "12_000 requests");
/// ```
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

fn thousands(number: u64) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        more => format!("{}_{:03}", thousands(more), number % 1_000),
    }
}

/// Returns the text of one number without separators of thousands. Text in which they are elsewhere keeps them.
///
/// # Errors
/// Text with commas, which may be several values, and zeros before a number, as the second value of `1,024` has.
pub(crate) fn one_number(text: &str) -> Result<String, Error> {
    if text.contains("..") {
        let takers = "`rooflut sweep` takes ranges, and `rooflut plan` ranges of rates";
        return Err(invalid(format!("expected one number, found a range; {takers}")));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split([',', '_']);
    let first = groups.next().unwrap_or_default();
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let grouped =
        is_digits(first) && (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3 && is_digits(group));
    let is_grouped = grouped && is_digits(fraction);
    match text.contains(',') {
        true if is_grouped && text.contains(",0") => {
            Err(invalid(format!("a comma is no part of a number; write {}", text.replace(',', "_"))))
        }
        true if is_grouped => Err(invalid(format!(
            "a comma is no part of a number; write {} for one number, or give the values {} to `rooflut sweep`",
            text.replace(',', "_"),
            text.replace(',', " and ")
        ))),
        true => Err(invalid("expected one number, found a comma, which separates values; write 1.5 or 1_000")),
        false if whole.len() > 1 && whole.starts_with('0') && is_digits(&whole.replace('_', "")) => {
            Err(invalid("expected no zeros before a number (a comma separates values: 1_024 is one number)"))
        }
        false if is_grouped => Ok(text.replace('_', "")),
        false => Ok(text.to_owned()),
    }
}

/// Returns a float without a fraction that holds each whole number up to it.
fn whole_float(number: f64) -> Option<u64> {
    const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    let is_whole = (0.0..=EXACT).contains(&number) && number.fract() <= 0.0;
    is_whole.then_some(number as u64)
}

/// Returns bytes as GiB with one decimal.
pub(crate) fn gib(bytes: f64) -> String {
    let tenths = (bytes / f64::from(1 << 30) * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for text in ["1500", "1_500", "1.5e3", "15e2", "1.5E3", "1500.0"] {
            assert_eq!(whole(text), Ok(1_500_u32), "{text}");
            assert_eq!(real(text), Ok(1_500.0), "{text}");
        }
        assert_eq!(whole("1_234_567"), Ok(1_234_567_u64));
        assert_eq!(whole("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(real("1_234.5"), Ok(1_234.5));
        assert_eq!(real("-0.5"), Ok(-0.5));
    }

    #[test]
    fn a_comma_is_never_part_of_a_number() {
        let message = |text| whole::<u32>(text).expect_err(text).to_string();
        assert!(message("16,128").contains("write 16_128 for one number, or give the values 16 and 128"));
        for text in ["1,234,567", "1,234.5", "1,5", "1,", ",1", "024", "0_100", "00"] {
            let (whole, real) = (message(text), real(text).expect_err(text).to_string());
            assert!(whole.contains("comma"), "{text}: {whole}");
            assert_eq!(whole, real);
        }
        assert_eq!((whole("0"), real("0.5")), (Ok(0_u32), Ok(0.5)));
    }

    #[test]
    fn numbers_are_written_as_they_can_be_typed() {
        for (number, text) in
            [(0_u32, "0"), (999, "999"), (8_192, "8192"), (10_000, "10_000"), (1_020_003, "1_020_003")]
        {
            assert_eq!(grouped(number), text);
            assert_eq!(whole(text), Ok(number));
        }
    }

    #[test]
    fn times_have_units_or_the_one_of_their_key() {
        assert_eq!(seconds("2.5").ok(), Some(2.5));
        assert_eq!(seconds("500ms").ok(), Some(0.5));
        assert_eq!(seconds("2m").ok(), Some(120.0));
        assert_eq!(milliseconds("200"), Ok(200.0));
        assert_eq!(milliseconds("20.5ms"), Ok(20.5));
        assert_eq!(milliseconds("1.5s"), Ok(1_500.0));
        assert_eq!(milliseconds("10us"), Ok(0.01));
        for wrong in ["", "s", "2 parsecs", "ms5"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn formats_have_the_names_of_engines_and_checkpoints() {
        for text in ["bf16", "BF16", "bfloat16", "float16", "half"] {
            assert_eq!(dtype(text), Ok(Dtype::Bf16), "{text}");
        }
        assert_eq!(dtype("FP8"), Ok(Dtype::Fp8));
        assert_eq!(dtype("fp8_e4m3"), Ok(Dtype::Fp8));
        assert_eq!(dtype("fp8-block"), Ok(Dtype::Fp8Block));
        assert_eq!(dtype("NVFP4"), Ok(Dtype::Nvfp4));
        assert_eq!(dtype("MXFP4"), Ok(Dtype::Mxfp4));
        assert_eq!(kv_dtype("fp8"), Ok(Dtype::Fp8));
        for text in ["fp8_block", "nvfp4", "mxfp4", "int4"] {
            assert!(kv_dtype(text).is_err(), "{text}");
        }
    }
}
