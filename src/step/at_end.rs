//! Steps at an end of their interval.

use super::{LatencyModel, StepBatch, StepModel, StepTime};
use crate::interval::{Coverage, Interval};
use crate::units::Seconds;

/// An end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The shortest time.
    Low,
    /// The longest time.
    High,
}

/// A latency model in which each step takes the time at one end of its [interval](crate::step::StepTime::interval).
///
/// The errors of a step model are alike in all steps of a server, so simulating a server at both ends gives the
/// interval of its figures, including the growth of queues near saturation.
///
/// ```
/// use rooflut::interval::Coverage;
/// use rooflut::sim::{Request, Simulator};
/// use rooflut::step::{AtEnd, End};
/// use rooflut::table::sets;
/// use rooflut::{Deployment, model};
///
/// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
/// let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
/// let coverage = Coverage::try_new(0.8)?;
/// let config = deployment.server_config()?;
/// let at = |end| Simulator::try_new(AtEnd::new(deployment.step_model(), coverage, end), config);
/// let [shortest, longest] = [at(End::Low)?, at(End::High)?]
///     .map(|server| server.run(&[Request::new(512, 128)]));
/// assert!(shortest?.summary.makespan < longest?.summary.makespan);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct AtEnd<M> {
    model: M,
    coverage: Coverage,
    end: End,
}

impl<M: StepModel> AtEnd<M> {
    /// Creates a model of the steps of `model` at an end of their intervals.
    pub fn new(model: M, coverage: Coverage, end: End) -> AtEnd<M> {
        AtEnd { model, coverage, end }
    }
}

impl<M> AtEnd<M> {
    /// Returns the time at the end of the interval.
    fn of(&self, step: &StepTime) -> Seconds {
        let Interval { low, high } = step.interval(self.coverage);
        match self.end {
            End::Low => low,
            End::High => high,
        }
    }
}

impl<M: StepModel> LatencyModel for AtEnd<M> {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        self.of(&self.model.step_time(batch))
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        let mut longest = StepTime::ZERO;
        let time = self.model.lockstep_time(&mut ranks.inspect(|batch| {
            let step = self.model.step_time(batch);
            if step.total() > longest.total() {
                longest = step;
            }
        }));
        // As far off as the longest step of a rank would be, relative to its time.
        match longest.total() {
            Seconds::ZERO => time,
            total => time * (self.of(&longest).0 / total.0),
        }
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        let step = self.model.step_time(batch);
        // Each stage is as far off as the step.
        let times = match step.total() {
            Seconds::ZERO => 1.0,
            total => self.of(&step).0 / total.0,
        };
        self.model.pipeline_times(batch, &mut |stage| run(stage * times));
    }
}
