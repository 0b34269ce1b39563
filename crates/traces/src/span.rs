//! The order of the arrivals of a trace.

use crate::rows::Row;

/// The order of the arrivals of a trace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    /// The arrival on the clock of the file that is 0 in the simulation.
    pub(crate) start_ns: u64,
    /// The latest arrival on the clock of the file.
    pub(crate) end_ns: u64,
    /// The longest time by which a request arrives before one that precedes it in the file.
    pub(crate) lateness_ns: u64,
    /// Whether some requests arrive after the end of others.
    pub(crate) feeds_back: bool,
}

impl Span {
    /// Counts a request; `clock` has the earliest and the latest arrival so far.
    pub(crate) fn add(&mut self, row: &Row, clock: &mut Option<(u64, u64)>) {
        if row.delay_ns().is_some() {
            // Its place in the file says nothing about its time.
            (self.feeds_back, self.lateness_ns) = (true, u64::MAX);
            return;
        }
        let arrival_ns = row.request.arrival_ns;
        let (earliest_ns, latest_ns) = clock.unwrap_or((arrival_ns, arrival_ns));
        let late_ns = latest_ns.saturating_sub(arrival_ns);
        self.lateness_ns = self.lateness_ns.max(late_ns);
        self.start_ns = earliest_ns.min(arrival_ns);
        self.end_ns = latest_ns.max(arrival_ns);
        *clock = Some((self.start_ns, self.end_ns));
    }
}
