//! The origin of the arrivals of a trace.

/// The origin of the arrivals of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ArrivalSource {
    /// The file has an arrival for each request.
    Recorded,
    /// The file has only the rate of a Poisson process. The arrivals are drawn with seed 0 and scaled: the last request
    /// arrives at requests / rate, as vLLM's benchmark does.
    Poisson {
        /// Requests per second.
        requests_per_s: f64,
    },
    /// All requests were sent at the start.
    AtOnce,
}
