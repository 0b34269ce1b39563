//! Arrivals that count from the earliest request.

use rooflut::sim::{Request, SimConfig};

/// The latest arrival that the simulator serves.
pub(crate) const LATEST_NS: u64 = SimConfig::LAST_ARRIVAL_NS;

/// Moves all arrivals so that the earliest is 0.
pub(crate) fn count_from_earliest(requests: &mut [Request]) {
    let arrivals = requests.iter().map(|request| request.arrival_ns);
    let earliest = arrivals.min().unwrap_or_default();
    for request in requests {
        request.arrival_ns -= earliest;
    }
}
