//! Step times of a run.

use rooflut::deployment::{ServedModel, ServedTally};
use rooflut::step::{AtEnd, DecodeGroup, LatencyModel, StepBatch};
use rooflut::units::Seconds;

/// Step times of a run: predicted, or at an end of their interval.
///
/// One type, so that the simulators are compiled once.
#[derive(Clone)]
pub(crate) enum StepTimes<'m> {
    Predicted(&'m ServedTally<'m>),
    AtEnd(AtEnd<&'m ServedModel>),
}

impl LatencyModel for StepTimes<'_> {
    #[inline]
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        match self {
            StepTimes::Predicted(tally) => tally.total_time(batch),
            StepTimes::AtEnd(model) => model.total_time(batch),
        }
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        match self {
            StepTimes::Predicted(tally) => tally.lockstep_time(ranks),
            StepTimes::AtEnd(model) => model.lockstep_time(ranks),
        }
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        match self {
            StepTimes::Predicted(tally) => tally.pipeline_times(batch, run),
            StepTimes::AtEnd(model) => model.pipeline_times(batch, run),
        }
    }

    #[inline]
    fn decode_time(&self, decode: DecodeGroup) -> Seconds {
        match self {
            StepTimes::Predicted(tally) => tally.decode_time(decode),
            StepTimes::AtEnd(model) => model.decode_time(decode),
        }
    }
}
