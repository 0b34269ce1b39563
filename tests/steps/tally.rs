//! Tallies of steps.

use rooflut::step::{DecodeGroup, StepBatch, TabulatedModel, Tally};
use rooflut::units::Seconds;

use crate::support::models;

#[test]
fn an_empty_step_adds_no_time() {
    let model = TabulatedModel::new(models::llama(models::FITTED), 256);
    let tally = Tally::new(&model);
    tally.add(&StepBatch::default());
    assert_eq!((tally.steps(), tally.sources().total()), (1, Seconds::ZERO));
    let decode = [DecodeGroup::uniform(8, 1_000).unwrap()];
    let batch = StepBatch { prefill: &[], decode: &decode };
    tally.add(&batch);
    let before = tally.sources().total();
    tally.add(&StepBatch::default());
    assert_eq!((tally.steps(), tally.sources().total()), (3, before));
    assert!(before > Seconds::ZERO);
}
