//! Numbers and times, as cells of CSV and values of JSON have them.

use rooflut::sim::SimConfig;
use rooflut::units::Seconds;

use crate::error::{Key, Problem};

/// The latest arrival that the simulator serves.
pub(crate) const LATEST_NS: u64 = SimConfig::LAST_ARRIVAL_NS;

/// Parses a number of tokens.
pub(crate) fn tokens(key: impl Into<Key>, text: &str) -> Result<u32, Problem> {
    let parsed = text.parse::<u32>();
    parsed.map_err(|_| Problem::value(key, "a whole number of tokens", text))
}

/// Parses a whole number.
pub(crate) fn whole(key: impl Into<Key>, text: &str) -> Result<u32, Problem> {
    let parsed = text.parse::<u32>();
    parsed.map_err(|_| Problem::value(key, "a whole number, 0 or more", text))
}

/// The unit of a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    Seconds,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "milliseconds",
            Unit::Seconds => "seconds",
        }
    }

    fn to_nanos(self, value: f64) -> u64 {
        let seconds = match self {
            Unit::Milliseconds => Seconds::from_us(value * 1e3),
            Unit::Seconds => Seconds(value),
        };
        seconds.to_nanos()
    }

    /// The latest time on the simulator's clock, rounded down.
    fn latest(self) -> u64 {
        match self {
            Unit::Milliseconds => LATEST_NS / 1_000_000,
            Unit::Seconds => LATEST_NS / 1_000_000_000,
        }
    }
}

/// Parses a time, 0 or later, in nanoseconds, within the range of the simulator's clock.
///
/// A double holds seconds since 1970 to 0.2 us, and those since a machine's start to 1 ns.
pub(crate) fn time_ns(key: impl Into<Key>, text: &str, unit: Unit) -> Result<u64, Problem> {
    let key = key.into();
    let value = text.parse::<f64>().ok();
    let value = value.filter(|value| *value >= 0.0 && value.is_finite());
    let Some(value) = value else {
        let expected = format!("{}, 0 or more", unit.name());
        return Err(Problem::value(key, expected, text));
    };
    match unit.to_nanos(value) {
        late if late > LATEST_NS => {
            let expected = format!("at most {} {}", unit.latest(), unit.name());
            Err(Problem::value(key, expected, text))
        }
        in_time => Ok(in_time),
    }
}
