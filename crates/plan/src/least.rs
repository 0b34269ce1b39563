//! Bounds on a plan from step times, without a simulation.

use rooflut_scenario::Error;
use serde::Serialize;

use crate::bounds::SAMPLE;
use crate::excluded::Excluded;
use crate::limit::Limit;
use crate::question::Question;
use crate::space::Choice;
use crate::variant::Variant;

/// Bounds on the deployments that may meet the limits.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Least {
    /// Name of the model.
    pub model: String,
    /// The limits.
    pub limits: Vec<String>,
    /// The fewest GPUs that may keep up with the load; null where arrivals depend on answers or come from a trace.
    pub least_gpus: Option<u32>,
    /// Kinds of servers that may meet the limits, in the order of the choices.
    pub kinds: Vec<LeastServers>,
    /// The other kinds, and why.
    pub excluded: Vec<Excluded>,
}

/// A kind of server, and the fewest that may keep up with the load.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct LeastServers {
    /// The kind of server.
    #[serde(flatten)]
    pub choice: Choice,
    /// The fewest servers.
    pub least_servers: u32,
    /// Their GPUs.
    pub least_gpus: u32,
}

impl Question<'_> {
    /// Returns bounds on the answer from step times alone: the first part of [`plan`](Question::plan), which takes a
    /// fraction of its time.
    ///
    /// # Errors
    /// As [`plan`](Question::plan).
    pub fn least(&self) -> Result<Least, Error> {
        let candidates = self.candidates()?;
        let max_gpus = self.space.max_gpus;
        let unable = candidates.unable.into_iter().map(|(choice, error)| Excluded::unable(choice, error));
        let beyond = candidates.variants.iter().filter_map(|variant| Excluded::by_bounds(variant, max_gpus));
        let able = candidates.variants.iter().filter(|variant| Excluded::by_bounds(variant, max_gpus).is_none());
        Ok(Least {
            model: self.model.name.clone(),
            limits: self.limits.limits().iter().map(Limit::to_string).collect(),
            least_gpus: least_gpus(&candidates.variants),
            kinds: able.map(LeastServers::of).collect(),
            excluded: unable.chain(beyond).collect(),
        })
    }
}

impl LeastServers {
    fn of(variant: &Variant) -> LeastServers {
        let least_servers = variant.bounds.replicas;
        let least_gpus = least_servers.saturating_mul(variant.gpus());
        LeastServers { choice: variant.choice.clone(), least_servers, least_gpus }
    }
}

/// Returns the fewest GPUs that may keep up with the load; `None` where its rate is not known.
pub(crate) fn least_gpus(variants: &[Variant]) -> Option<u32> {
    let knows_rate = matches!(variants.first()?.run.requests(SAMPLE), Ok(Some(_)));
    let least = variants.iter().map(|variant| LeastServers::of(variant).least_gpus).min();
    least.filter(|_| knows_rate)
}

#[cfg(test)]
mod tests {
    use rooflut::model;
    use rooflut::table::sets;
    use rooflut_scenario::{Model, Scenario};

    use super::*;
    use crate::{Limits, Space};

    #[test]
    fn a_plan_has_no_fewer_gpus_than_its_bounds() {
        let found = model::find("llama-3.1-8b").unwrap();
        let model = Model::new(found.name, found.spec);
        let mut scenario = Scenario::default();
        scenario.workload.rate = Some(40.0);
        let limits = Limits::try_new(vec!["ttft:500".parse().unwrap(), "tpot:11".parse().unwrap()], None).unwrap();
        let space = Space::new(&model.spec, vec![sets::L40S.clone(), sets::H100.clone()]);
        let question = Question::new(scenario, model, &|_| Err(std::io::ErrorKind::NotFound.into()), space, limits);
        let (least, plan) = (question.least().unwrap(), question.plan().unwrap());
        assert_eq!(least.least_gpus, plan.least_gpus);
        let best = &plan.deployments[0];
        let is_best = |kind: &&LeastServers| (&kind.choice.gpu, kind.choice.tp) == (&best.gpu, best.tp);
        assert!(least.kinds.iter().find(is_best).unwrap().least_gpus <= best.gpus);
        // One L40S has no step below the limit.
        let is_one_l40s = |excluded: &Excluded| (excluded.choice.gpu.as_str(), excluded.choice.tp) == ("l40s", 1);
        assert!(least.excluded.iter().any(is_one_l40s));
    }
}
