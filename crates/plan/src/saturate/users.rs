//! The most users of a deployment.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rooflut_error::missing;
use rooflut_scenario::{Error, Run};
use serde::Serialize;

use crate::limit::Limit;
use crate::notes::NOT_STEADY;
use crate::question::seeds;
use crate::saturate::point::Point;
use crate::saturate::saturation::{RateQuestion, command};
use crate::saturate::scale::largest;
use crate::trial::{Trial, Verdict};

/// Users at which the search starts.
const START: i32 = 32;
/// Numbers of users beside the most, as shares of it.
const SHARES: [f64; 6] = [0.125, 0.25, 0.5, 0.75, 1.25, 1.5];

/// The largest number of users that a deployment serves within limits, and the latencies around it.
///
/// Its JSON has the fields in this order; times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MostUsers {
    /// Name of the model.
    pub model: String,
    /// Name of the table set.
    pub gpu: String,
    /// GPUs of all servers.
    pub gpus: u64,
    /// The most users within the limits; null if one user misses them.
    pub users: Option<u32>,
    /// The number of users up to which the search went.
    pub max_users: u32,
    /// The limits.
    pub limits: Vec<String>,
    /// Share of requests that must meet all limits together; null for limits on figures.
    pub attainment: Option<f64>,
    /// Share of measured servers that the intervals at whose far end the limits hold are meant to contain; null for
    /// predictions.
    pub confidence: Option<f64>,
    /// The first seed; the other seeds follow consecutively.
    pub first_seed: u64,
    /// Seeds with which the limits must hold.
    pub seeds: u64,
    /// Requests of each run, if given; null for as many as the figures need.
    pub requests: Option<u64>,
    /// Runs that were simulated.
    pub simulations: u64,
    /// The `rooflut run` command with the most users; null if one user misses the limits, and where flags cannot say it.
    pub command: Option<String>,
    /// Figures at ascending numbers of users, the most included.
    pub curve: Vec<UsersPoint>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Figures at one number of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsersPoint {
    /// Users.
    pub users: u32,
    /// The figures; the rate is that of the requests served.
    #[serde(flatten)]
    pub point: Point,
}

impl RateQuestion<'_> {
    /// Finds the most users, up to those of the scenario, that the servers serve within the limits.
    ///
    /// A number of users meets the limits as a rate does in [`saturate`](RateQuestion::saturate).
    ///
    /// Assumes: the limits hold for a number of users if they hold for a larger one.
    ///
    /// # Errors
    /// A scenario that cannot be run, no limits, and too few requests for the figures.
    pub fn most_users(self) -> Result<MostUsers, Error> {
        let Some(limits) = &self.limits else {
            return Err(missing("users", &[&["goodput"]]));
        };
        let (scenario, seeds) = (self.base()?, seeds(&self.scenario));
        let max_users = scenario.workload.users.unwrap_or(1);
        let run = Run::try_new(scenario, self.resources)?.stopped_by(self.stop);
        let mut simulations = 0;
        let last = i32::try_from(max_users).unwrap_or(i32::MAX);
        let found = largest(1..=last, START, |users| {
            let run = run.with_users(users.unsigned_abs())?;
            let trials = Trial::until_missed(&run, &seeds, limits, None)?;
            simulations += trials.len() as u64;
            Ok::<bool, Error>(Verdict::of(trials, seeds.len(), limits).meets)
        })?;
        let users = found.map(i32::unsigned_abs);
        let curve = around(users.unwrap_or(1), max_users).into_par_iter().map(|count| {
            let run = run.with_users(count)?;
            let point = match users == Some(count) {
                // The search ends when it is clear whether the limits hold.
                true => Point { meets: true, ..Point::of_all(&run, &seeds, limits)? },
                false => Point::of_run(&run, &seeds, limits)?,
            };
            Ok(UsersPoint { users: count, point })
        });
        let curve: Vec<UsersPoint> = curve.collect::<Result<_, Error>>()?;
        let best = curve.iter().find(|point| Some(point.users) == users);
        let command =
            users.map(|users| Ok::<_, Error>(command(&run.with_users(users)?, seeds.len()))).transpose()?.flatten();
        let requests = run.load().requests();
        let unclear = requests.is_some() && best.is_some_and(|best| !best.point.is_steady);
        Ok(MostUsers {
            model: run.placement().model.name.clone(),
            gpu: run.gpu(),
            gpus: run.gpus(),
            users,
            max_users,
            limits: limits.limits().iter().map(Limit::to_string).collect(),
            attainment: limits.attainment(),
            confidence: self.confidence.map(|confidence| confidence.share()),
            first_seed: self.scenario.workload.seed(),
            seeds: seeds.len() as u64,
            requests,
            simulations: simulations + (seeds.len() * curve.len()) as u64,
            command,
            curve,
            notes: Vec::from_iter(unclear.then(|| NOT_STEADY.to_owned())),
        })
    }
}

/// Returns numbers of users around the most, ascending, up to the maximum.
fn around(most: u32, max_users: u32) -> Vec<u32> {
    let others = SHARES.map(|share| (share * f64::from(most)).round() as u32);
    let mut all: Vec<u32> = others.into_iter().chain([most]).map(|users| users.clamp(1, max_users)).collect();
    all.sort_unstable();
    all.dedup();
    all
}
