//! Figures over time.

use rooflut::sim::figures::{Digest, Totals};
use rooflut::sim::{Observer, RequestRecord, StepRecord};
use rooflut_error::{Error, Kind, key};
use rooflut_report::{Window, WindowBounds};

use crate::number::grouped;

/// Maximum number of windows, a day of minutes: each with an event has a digest of up to 0.2 MB.
const MAX_WINDOWS: u64 = 1_500;

/// Largest number of windows of a run whose width is not given.
const MAX_AUTO_WINDOWS: u64 = 100;
/// Width of the smallest window.
const MIN_WIDTH_NS: u64 = 1_000_000;

/// An observer of the end of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunEnd {
    ns: u64,
}

impl RunEnd {
    /// Returns the smallest width, 1, 2 or 5 times a power of ten, with which the run has at most 100 windows. It then
    /// has at least 40, unless it is shorter than 40 ms.
    pub(crate) fn window_ns(self) -> u64 {
        let powers = (0..).map_while(|power| MIN_WIDTH_NS.checked_mul(10_u64.checked_pow(power)?));
        let mut widths = powers.flat_map(|power| [1, 2, 5].map(|times: u64| power.saturating_mul(times)));
        widths.find(|width_ns| self.ns.div_ceil(*width_ns) <= MAX_AUTO_WINDOWS).unwrap_or(u64::MAX)
    }

    /// Returns the time that counts for a request: when it ends, or when its client gives up; its arrival if it is
    /// rejected.
    fn of_request(record: &RequestRecord) -> u64 {
        let arrival_ns = record.request.arrival_ns;
        let end_ns = record.timing().map(|timing| timing.finish_ns).or(record.abandoned_ns());
        // A step ends where the next window may begin: its requests belong to the window before.
        end_ns.map_or(arrival_ns, |end_ns| end_ns.saturating_sub(1).max(arrival_ns))
    }
}

impl Observer for RunEnd {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.ns = self.ns.max(step.start_ns.saturating_add(step.duration_ns));
    }

    fn finished(&mut self, _: usize, record: &RequestRecord) {
        self.ns = self.ns.max(RunEnd::of_request(record));
    }
}

/// An observer that computes the figures of equal windows of time.
#[derive(Debug)]
pub(crate) struct Windows {
    width_ns: u64,
    /// An empty digest.
    empty: Digest,
    /// `None` for a window without events.
    windows: Vec<Option<Observed>>,
    /// The window of the last step.
    current: u64,
    end: RunEnd,
}

#[derive(Debug)]
struct Observed {
    digest: Digest,
    arrived: u64,
    waiting_ns: u128,
}

impl Observed {
    fn new(empty: &Digest) -> Observed {
        Observed { digest: empty.clone(), arrived: 0, waiting_ns: 0 }
    }
}

impl Windows {
    /// Creates an observer of windows of `width_ns`, which is not 0; `empty` is their digest.
    pub(crate) fn new(width_ns: u64, empty: Digest) -> Windows {
        Windows { width_ns: width_ns.max(1), empty, windows: Vec::new(), current: 0, end: RunEnd::default() }
    }

    /// Returns the figures of the run that ended with `totals`.
    ///
    /// # Errors
    /// More windows than the maximum.
    pub(crate) fn into_figures(self, totals: &Totals) -> Result<Vec<Window>, Error> {
        let Windows { width_ns, empty, windows, end: RunEnd { ns: end_ns }, .. } = self;
        let count = end_ns.div_ceil(width_ns);
        if count > MAX_WINDOWS {
            let seconds = |ns: u64| ns as f64 / 1e9;
            let least = end_ns.div_ceil(MAX_WINDOWS).div_ceil(1_000_000_000);
            let text = format!(
                "{}: expected at most {} windows, found {} of {} s each; use windows of {} s or longer",
                key("windows"),
                grouped(MAX_WINDOWS),
                grouped(count),
                seconds(width_ns),
                grouped(least),
            );
            return Err(Error::new(Kind::Value, text).about(["windows"]));
        }
        let window = |(index, observed): (usize, Option<Observed>)| {
            let observed = observed.unwrap_or_else(|| Observed::new(&empty));
            let from_ns = index as u64 * width_ns;
            let whole_ns = from_ns + width_ns;
            let to_ns = whole_ns.min(end_ns);
            let bounds = WindowBounds {
                span_s: [from_ns, to_ns].map(|ns| ns as f64 / 1e9),
                is_partial: to_ns < whole_ns,
                arrived: observed.arrived,
                waiting_s: observed.waiting_ns as f64 / 1e9,
            };
            Window::of(&observed.digest.into_window(totals, from_ns, to_ns), bounds)
        };
        Ok(windows.into_iter().enumerate().map(window).collect())
    }

    /// Returns the window at a time; `None` if there are too many.
    fn at(&mut self, ns: u64) -> Option<&mut Observed> {
        let index = ns / self.width_ns;
        if index >= MAX_WINDOWS {
            return None;
        }
        if self.windows.len() as u64 <= index {
            self.windows.resize_with(index as usize + 1, || None);
        }
        let window = self.windows.get_mut(index as usize)?;
        Some(window.get_or_insert_with(|| Observed::new(&self.empty)))
    }
}

impl Observer for Windows {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.current = step.start_ns / self.width_ns;
        self.end.step(step);
        if let Some(window) = self.at(step.start_ns) {
            window.digest.step(step);
            window.waiting_ns += u128::from(step.duration_ns) * u128::from(step.waiting);
        }
    }

    fn resumed(&mut self, index: usize, gap_ns: u64) {
        if let Some(window) = self.at(self.current.saturating_mul(self.width_ns)) {
            window.digest.resumed(index, gap_ns);
        }
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.end.finished(index, record);
        if let Some(window) = self.at(record.request.arrival_ns) {
            window.arrived += 1;
        }
        if let Some(window) = self.at(RunEnd::of_request(record)) {
            window.digest.finished(index, record);
        }
    }
}

#[cfg(test)]
mod tests {
    use rooflut::sim::load::RequestList;
    use rooflut::sim::{Request, SimConfig, Simulator};
    use rooflut::step::{LatencyModel, StepBatch};
    use rooflut::units::Seconds;

    use super::*;

    /// 250 ms a step.
    struct Quarter;

    impl LatencyModel for Quarter {
        fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
            Seconds(0.25)
        }
    }

    fn windows(width_ns: u64) -> Result<Vec<Window>, Error> {
        // Three tokens from 0 to 0.75 s, two from 1 to 1.5 s.
        let requests = [Request::new(16, 3), Request::new(16, 2).at_ns(1_000_000_000)];
        let mut observer = Windows::new(width_ns, Digest::new());
        let server = Simulator::try_new(Quarter, SimConfig::new(64, 8)).unwrap();
        let totals = server.serve(&mut RequestList::new(&requests), &mut observer).unwrap();
        observer.into_figures(&totals)
    }

    #[test]
    fn each_window_has_the_requests_that_end_in_it_and_the_last_is_partial() {
        let found = windows(600_000_000).unwrap();
        let shapes: Vec<_> = found.iter().map(|it| (it.arrived, it.completed, it.is_partial)).collect();
        // 0 to 0.6 s, 0.6 to 1.2 s, 1.2 to 1.5 s.
        assert_eq!(shapes, [(1, 0, false), (1, 1, false), (0, 1, true)]);
        assert!((found[2].to_s - 1.5).abs() < 1e-9);
        // Two output tokens in the last 0.3 s; steps begin at 0, 0.25 and 0.5, at 1, and at 1.25 s.
        assert!((found[2].output_tokens_per_s - 2.0 / 0.3).abs() < 1e-9);
        let running: Vec<f64> = found.iter().map(|it| it.running_mean).collect();
        for (found, expected) in running.iter().zip([0.75 / 0.6, 0.25 / 0.6, 0.25 / 0.3]) {
            assert!((found - expected).abs() < 1e-9, "{running:?}");
        }
        assert_eq!(found[1].ttft_ms.mean, Some(250.0));
    }

    #[test]
    fn a_run_of_any_length_has_40_to_100_windows() {
        let mut end_ns = 40_000_000;
        while end_ns < 1 << 62 {
            let width_ns = RunEnd { ns: end_ns }.window_ns();
            let count = end_ns.div_ceil(width_ns);
            assert!((40..=100).contains(&count), "{end_ns} {width_ns}");
            let digits = width_ns.to_string();
            assert!(["1", "2", "5"].contains(&digits.trim_end_matches('0')), "{digits}");
            end_ns += end_ns / 7;
        }
        assert_eq!(RunEnd::default().window_ns(), MIN_WIDTH_NS);
    }

    #[test]
    fn too_many_windows_are_refused_with_the_width_that_fits() {
        let message = windows(100_000).unwrap_err().to_string();
        assert!(message.contains("found 15_000 of 0.0001 s each; use windows of 1 s"), "{message}");
    }
}
