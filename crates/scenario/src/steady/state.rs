//! The steady state of a run.

use rooflut_report::Steady as Report;

/// The steady state of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SteadyState {
    /// The part of the run that its figures are of; `None` where they are of the whole run.
    pub window: Option<Window>,
    /// Whether the load has no steady state: a trace, or one request per user.
    pub is_transient: bool,
    /// Whether it is transient and all its requests arrive within a few mean times in service.
    pub(crate) is_burst: bool,
    /// Whether requests arrive faster than they are served.
    pub is_overloaded: bool,
    /// Whether the bounds of a [`Goal`](crate::Goal) hold; `None` if the result is not clear, or without limits.
    pub holds: Option<bool>,
}

/// The part of a run between its warm-up and its drain.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Window {
    /// Begin, seconds from the start.
    pub from_s: f64,
    /// End: the last arrival.
    pub to_s: f64,
    /// Requests that were finished before it.
    pub warm_up_requests: u64,
    /// Requests that were finished after it.
    pub drain_requests: u64,
    /// Half the width of the 95 % interval of a mean over the mean, the largest of TTFT, TPOT and end-to-end latency;
    /// `None` for too few requests.
    pub mean_error: Option<f64>,
    /// Whether it lasts at least five mean times in service, and after requests that fall in step have done so.
    pub is_long: bool,
}

impl Window {
    /// Mean times in service that it lasts at least.
    pub(crate) const LEAST_TIMES: f64 = 5.0;
    /// Largest error of its means.
    const MOST_ERROR: f64 = 0.2;

    /// Whether its figures are those of a steady state.
    fn is_steady(&self) -> bool {
        let is_precise = self.mean_error.is_some_and(|error| error <= Window::MOST_ERROR);
        self.is_long && is_precise
    }
}

impl SteadyState {
    /// Whether the figures describe a steady state.
    pub fn is_steady(&self) -> bool {
        !self.is_overloaded && self.window.is_some_and(|window| window.is_steady())
    }

    pub(crate) fn report(&self) -> Report {
        Report {
            is_steady: self.is_steady(),
            is_transient: self.is_transient,
            from_s: self.window.map(|window| window.from_s),
            to_s: self.window.map(|window| window.to_s),
            warm_up_requests: self.window.map(|window| window.warm_up_requests),
            drain_requests: self.window.map(|window| window.drain_requests),
            mean_error: self.window.and_then(|window| window.mean_error),
        }
    }
}
