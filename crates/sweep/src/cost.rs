//! Time and size of a sweep that is too large, by some of its points.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rooflut_error::key;
use rooflut_scenario::{Error, Kind, Stop, grouped, plural};

use crate::shard::Shard;
use crate::sweep::Sweep;

/// Maximum time of a measurement.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Places of a shard that are measured, and consecutive points at each, which share what those of a sweep share.
const PLACES: u64 = 16;
const CONSECUTIVE: u64 = 4;
/// Places from one to the next, so that the first few are spread as all are.
const STRIDE: u64 = 7;

impl Sweep<'_> {
    /// Checks that a shard has at most `max_points` points. The error of a larger one has its hours and gigabytes, for which
    /// some of its points are simulated on one thread, for five seconds at most.
    ///
    /// Assumes: `workers`, a number and the plural of a name, are each as fast as this thread.
    ///
    /// # Errors
    /// A larger shard, and a sweep that was [stopped](Sweep::stopped_by).
    pub fn check_size(&self, shard: Shard, max_points: u64, workers: (usize, &str)) -> Result<(), Error> {
        let points = shard.len(self.grid().len());
        if points <= max_points {
            return Ok(());
        }
        let measured = self.measure(shard, MAX_TIME);
        self.stop.check()?;
        let (max, found, sizes, setting) =
            (grouped(max_points), grouped(points), self.grid().sizes(), key("max_points"));
        let cost = measured.cost(points, workers);
        Err(Error::new(
            Kind::Value,
            format!(
                "expected at most {max} deployments ({setting}), found {found} ({sizes}), which would take {cost}; take \
                 fewer values, or raise {setting}"
            ),
        ))
    }

    /// Simulates some points of a shard until the time is over.
    fn measure(&self, shard: Shard, max_time: Duration) -> Measured {
        let points = shard.len(self.grid().len());
        let distance = (points / PLACES).max(CONSECUTIVE);
        let starts = (0..PLACES).map(|place| place * STRIDE % PLACES * distance);
        let mut places = starts.flat_map(|start| start..points.min(start + CONSECUTIVE));
        let (begun, stop) = (Instant::now(), Stop::default());
        let mut measured = Measured { points: 0, time: max_time, bytes: 0 };
        let (send, rows) = mpsc::channel();
        thread::scope(|scope| {
            let row = |place| self.row_until(shard.index(place), &stop);
            scope.spawn(move || places.try_for_each(|place| send.send(row(place).ok()?).ok()));
            while let Ok(row) = rows.recv_timeout(max_time.saturating_sub(begun.elapsed())) {
                measured.points += 1;
                measured.time = begun.elapsed();
                measured.bytes += row.csv().len() as u64;
            }
            stop.stop();
        });
        measured
    }
}

/// Points that were simulated, in this time and as so many bytes of CSV.
#[derive(Debug, Clone, Copy)]
struct Measured {
    points: u64,
    time: Duration,
    bytes: u64,
}

impl Measured {
    /// `about 69 hours on 2 threads and 628 GB of CSV, going by the first 64`.
    fn cost(self, points: u64, (count, name): (usize, &str)) -> String {
        let factor = points as f64 / self.points.max(1) as f64;
        let time = duration(factor * self.time.as_secs_f64() / count.max(1) as f64);
        let workers = plural(count as u64, name);
        match self.points {
            0 => format!("over {time} on {workers}: the first of them took over {} s", self.time.as_secs()),
            some => format!(
                "about {time} on {workers} and {} of CSV, going by the first {some}",
                size(factor * self.bytes as f64)
            ),
        }
    }
}

/// Writes a time in its largest unit of which it has two: `40 s`, `12 minutes` or `139 hours`.
pub fn duration(seconds: f64) -> String {
    let (unit, name) = match seconds {
        7_200.0.. => (3_600.0, "hours"),
        120.0.. => (60.0, "minutes"),
        _ => (1.0, "s"),
    };
    format!("{} {name}", grouped((seconds / unit).round() as u64))
}

/// `12 MB` or `628 GB`.
fn size(bytes: f64) -> String {
    let (unit, name) = if bytes >= 1e9 { (1e9, "GB") } else { (1e6, "MB") };
    format!("{} {name}", grouped((bytes / unit).ceil() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_size_are_those_of_the_points_that_were_simulated_times_all() {
        let measured = |points, millis, bytes| Measured { points, time: Duration::from_millis(millis), bytes };
        let cost = |measured: Measured, points| measured.cost(points, (2, "thread"));
        assert_eq!(
            cost(measured(64, 32, 64_000), 1_000_000_000),
            "about 69 hours on 2 threads and 1000 GB of CSV, going by the first 64"
        );
        assert_eq!(cost(measured(4, 4, 2_400), 10), "about 0 s on 2 threads and 1 MB of CSV, going by the first 4");
        assert_eq!(
            cost(measured(1, 4_000, 600), 1_000),
            "about 33 minutes on 2 threads and 1 MB of CSV, going by the first 1"
        );
        assert_eq!(cost(measured(0, 5_000, 0), 100_000), "over 69 hours on 2 threads: the first of them took over 5 s");
    }
}
