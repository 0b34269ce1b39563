//! Remarks on answers.

use rooflut_scenario::Load;

/// A remark on runs of a given number of requests that end before they are steady.
pub(crate) const NOT_STEADY: &str = "the runs end before the servers reach a steady state; leave out the number of \
                                     requests, or use more requests";
/// A remark on runs of any length that end before it is clear whether the limits hold.
const UNCLEAR: &str = "the limits are so close to the figures that even the longest runs do not settle whether the \
                       limits hold; deployments whose figures are 0.1 % better than the limits count as meeting them";
/// A remark on users who fall in step.
const IN_STEP: &str = "users who pause equally long fall in step over about a hundred rounds and then wait for each \
                       other; users whose pauses differ (a think time of exponential:MEAN) need fewer servers";

/// Returns what qualifies an answer of runs under `load`.
pub(crate) fn of_runs(load: &Load, is_clear: bool) -> impl Iterator<Item = String> + use<> {
    let length = match load.requests() {
        Some(_) => NOT_STEADY,
        None => UNCLEAR,
    };
    let in_step = match load {
        Load::Generated(load) => load.users_in_step() > 0,
        Load::Trace { .. } => false,
    };
    let notes = [(!is_clear, length), (in_step, IN_STEP)].into_iter().filter(|(applies, _)| *applies);
    notes.map(|(_, note)| note.to_owned())
}
