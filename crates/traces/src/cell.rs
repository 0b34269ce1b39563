//! Values, as cells of CSV and as JSON write them.

use rooflut::units::Seconds;

use crate::arrivals::LATEST_NS;
use crate::error::{Key, Problem};

/// A number of tokens.
pub(crate) fn tokens(key: impl Into<Key>, text: &str) -> Result<u32, Problem> {
    let parsed = text.parse::<u32>();
    parsed.map_err(|_| Problem::value(key, "a whole number of tokens", text))
}

/// A whole number from 0.
pub(crate) fn whole(key: impl Into<Key>, text: &str) -> Result<u32, Problem> {
    let parsed = text.parse::<u32>();
    parsed.map_err(|_| Problem::value(key, "a whole number, 0 or more", text))
}

/// What a time is counted in.
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

    /// The latest that the clock of the simulator can tell, rounded down.
    fn latest(self) -> u64 {
        match self {
            Unit::Milliseconds => LATEST_NS / 1_000_000,
            Unit::Seconds => LATEST_NS / 1_000_000_000,
        }
    }
}

/// A time from 0, in nanoseconds, within what the simulator's clock can tell.
///
/// A double tells seconds since 1970 to 0.2 us, and those since a machine's start to 1 ns.
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
