//! Units of times.

use rooflut::sim::SimConfig;
use rooflut::units::Seconds;

/// The latest arrival that the simulator serves.
pub(crate) const LATEST_NS: u64 = SimConfig::LAST_ARRIVAL_NS;

/// The unit of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    const ALL: [Unit; 4] = [Unit::Seconds, Unit::Milliseconds, Unit::Microseconds, Unit::Nanoseconds];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Microseconds => "microseconds",
            Unit::Nanoseconds => "nanoseconds",
        }
    }

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "us",
            Unit::Nanoseconds => "ns",
        }
    }

    pub(crate) fn from_symbol(symbol: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.symbol() == symbol)
    }

    /// Returns the unit in which the name of a column ends, as `sent_ms` and `arrival_seconds` do.
    pub(crate) fn of_name(name: &str) -> Option<Unit> {
        let name = name.to_ascii_lowercase();
        let (_, ending) = name.rsplit_once('_')?;
        match ending {
            "sec" => Some(Unit::Seconds),
            _ => Unit::ALL.into_iter().find(|unit| [unit.symbol(), unit.name()].contains(&ending)),
        }
    }

    pub(crate) fn to_nanos(self, value: f64) -> u64 {
        let seconds = match self {
            Unit::Seconds => Seconds(value),
            Unit::Milliseconds => Seconds::from_us(value * 1e3),
            Unit::Microseconds => Seconds::from_us(value),
            Unit::Nanoseconds => Seconds::from_us(value / 1e3),
        };
        seconds.to_nanos()
    }

    /// Returns whether a number of this unit is beyond the range of the simulator's clock.
    pub(crate) fn is_late(self, text: &str) -> bool {
        text.parse::<f64>().is_ok_and(|time| time.is_finite() && self.to_nanos(time) > LATEST_NS)
    }

    /// The latest time on the simulator's clock, rounded down.
    pub(crate) fn latest(self) -> u64 {
        match self {
            Unit::Seconds => LATEST_NS / 1_000_000_000,
            Unit::Milliseconds => LATEST_NS / 1_000_000,
            Unit::Microseconds => LATEST_NS / 1_000,
            Unit::Nanoseconds => LATEST_NS,
        }
    }
}
