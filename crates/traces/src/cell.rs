//! Numbers and times, as cells of CSV and values of JSON have them.

use std::fmt::Display;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use rooflut_error::Error;

use crate::error::value;
use crate::unit::{LATEST_NS, Unit};

static PARSER: DateTimeParser = DateTimeParser::new();
/// Characters of a date, whose `-` is no sign of an offset.
const DATE: usize = "2023-11-16".len();

/// Parses a number of tokens.
pub(crate) fn tokens(key: impl Display, text: &str) -> Result<u32, Error> {
    let parsed = text.parse::<u32>();
    parsed.map_err(|_| value(key, "a whole number of tokens", text))
}

/// Parses a whole number.
pub(crate) fn whole(key: impl Display, text: &str) -> Result<u32, Error> {
    let parsed = text.parse::<u32>();
    parsed.map_err(|_| value(key, "a whole number, 0 or more", text))
}

/// How times are written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    Numbers(Unit),
    Dates,
}

impl Clock {
    /// Returns how a time in the column `name` is written: a number in the unit of the name, or else in seconds, or a
    /// date; `None` for other text.
    pub(crate) fn of(name: &str, text: &str) -> Option<Clock> {
        if text.parse::<f64>().is_ok() {
            return Some(Clock::Numbers(Unit::of_name(name).unwrap_or(Unit::Seconds)));
        }
        timestamp(text).map(|_| Clock::Dates)
    }
}

/// Parses a time, 0 or later, in nanoseconds, within the range of the simulator's clock.
///
/// A double holds seconds since 1970 to 0.2 us, and those since a machine's start to 1 ns.
pub(crate) fn time_ns(key: impl Display, text: &str, unit: Unit) -> Result<u64, Error> {
    let time = text.parse::<f64>().ok().filter(|value| *value >= 0.0 && value.is_finite());
    let Some(time) = time else {
        let expected = format!("{}, 0 or more", unit.name());
        return Err(value(key, expected, text));
    };
    match unit.to_nanos(time) {
        late if late > LATEST_NS => {
            let expected = format!("at most {} {}", unit.latest(), unit.name());
            Err(value(key, expected, text))
        }
        in_time => Ok(in_time),
    }
}

/// Parses a time as nanoseconds since 1970, UTC, within the range of the simulator's clock.
pub(crate) fn unix_ns(key: impl Display, text: &str) -> Result<u64, Error> {
    let Some(timestamp) = timestamp(text) else {
        let expected = "a date and time such as 2023-11-16 18:15:46.6805900";
        return Err(value(key, expected, text));
    };
    let ns = u64::try_from(timestamp.as_nanosecond()).ok().filter(|ns| *ns <= LATEST_NS);
    ns.ok_or_else(|| value(key, "a time between the years 1970 and 2262", text))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    let time = text.as_bytes().get(DATE..)?;
    let has_offset = time.iter().any(|byte| matches!(byte, b'+' | b'-' | b'Z' | b'z'));
    if has_offset {
        PARSER.parse_timestamp(text).ok()
    } else {
        let civil = PARSER.parse_datetime(text).ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()
    }
}
