//! Rejected requests by reason.

use rooflut::sim::{Observer, Outcome, Rejection, RequestRecord};
use serde::Serialize;

/// Counts the rejected requests of a run by reason, as an observer of its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Rejections {
    /// Requests with an empty prompt.
    pub empty_prompt: u64,
    /// Requests for no output token.
    pub empty_output: u64,
    /// Requests that arrive later than the clock of the simulation can represent.
    pub too_late: u64,
    /// Requests longer than `max_model_len`.
    pub too_long: u64,
    /// Requests that need more KV blocks than the server has.
    pub too_many_kv_blocks: u64,
    /// Requests that arrived at a full queue.
    pub queue_full: u64,
    /// Requests whose clients gave up before the first token.
    pub abandoned: u64,
    /// Requests rejected for a reason that has no name here.
    pub other: u64,
}

impl Observer for Rejections {
    fn finished(&mut self, _: usize, record: &RequestRecord) {
        let Outcome::Rejected(reason) = &record.outcome else {
            return;
        };
        *match reason {
            Rejection::EmptyPrompt => &mut self.empty_prompt,
            Rejection::EmptyOutput => &mut self.empty_output,
            Rejection::TooLate { .. } => &mut self.too_late,
            Rejection::TooLong { .. } => &mut self.too_long,
            Rejection::TooManyBlocks { .. } => &mut self.too_many_kv_blocks,
            Rejection::QueueFull { .. } => &mut self.queue_full,
            Rejection::Abandoned { .. } => &mut self.abandoned,
            _ => &mut self.other,
        } += 1;
    }
}

/// The name of a reason in CSVs, timelines and events: that of its field of [`Rejections`], if runs have it.
pub(crate) fn name(reason: &Rejection) -> &'static str {
    match reason {
        Rejection::EmptyPrompt => "empty_prompt",
        Rejection::EmptyOutput => "empty_output",
        Rejection::TooLate { .. } => "too_late",
        Rejection::TooLong { .. } => "too_long",
        Rejection::TooManyBlocks { .. } => "too_many_kv_blocks",
        Rejection::QueueFull { .. } => "queue_full",
        Rejection::Abandoned { .. } => "abandoned",
        Rejection::Cancelled => "cancelled",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use rooflut::sim::Request;

    use super::*;

    #[test]
    fn a_reason_has_the_name_of_the_field_that_counts_it() {
        let config = rooflut::sim::SimConfig::new(64, 2);
        let late = rooflut::sim::SimConfig::LAST_ARRIVAL_NS + 1;
        let requests = [
            Request::new(0, 1),
            Request::new(1, 0),
            Request::new(1, 1).at_ns(late),
            Request::new(64, 1),
            Request::new(40, 1),
        ];
        let checked = requests.map(|request| config.check(&request).unwrap_err());
        let others = [Rejection::QueueFull { max_waiting: 1 }, Rejection::Abandoned { patience_ns: 1 }];
        for reason in checked.into_iter().chain(others) {
            let mut rejections = Rejections::default();
            let record = RequestRecord::new(Request::default(), Outcome::Rejected(reason));
            rejections.finished(0, &record);
            let counts = serde_json::to_value(rejections).unwrap();
            assert_eq!(counts[name(&reason)], 1, "{reason}");
        }
    }
}
