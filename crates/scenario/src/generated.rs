//! Loads that are generated.

use std::iter::Take;
use std::path::PathBuf;

use rooflut::Invalid;
use rooflut::sim::load::{
    Arrivals, CachedShare, ClosedLoop, Lengths, LimitedLoop, RequestMix, Sessions, SyntheticLoad,
};
use rooflut::sim::{Request, SimConfig};
use rooflut_error::{Error, Kind, Whole, key};
use rooflut_report::load::{self, ClosedLoad, Distribution, Mix, OpenLoad, Range};

use crate::lengths::{Formula, LengthDistribution};
use crate::lengths_file::FileLengths;
use crate::library::refused_setting;
use crate::range::LengthRange;
use crate::read::{Read, read_file};
use crate::scenario::{Arrival, Workload};
use crate::value::ThinkTime;

/// Requests without which no figure is known.
const LEAST_REQUESTS: u32 = 100;

/// Years of 365 days from the start of a run in which requests can arrive.
pub const ARRIVAL_YEARS: u64 = SimConfig::LAST_ARRIVAL_NS / (365 * 24 * 3600 * 1_000_000_000);

/// A generated load, with the lengths of its files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GeneratedLoad {
    /// The keys that describe it.
    pub workload: Workload,
    /// Prompt tokens.
    pub prompt: Sizes,
    /// Output tokens.
    pub output: Sizes,
    /// Turns of a session.
    pub turns: Option<Sizes>,
}

/// The requests of a generated load.
pub(crate) enum Requests {
    /// Open loop: users do not wait for answers.
    Open(Box<Take<SyntheticLoad>>),
    /// Closed loop: users wait for answers.
    Closed(Box<LimitedLoop>),
}

impl GeneratedLoad {
    /// Reads the files of lengths and checks what depends on them.
    pub(crate) fn try_new(workload: &Workload, read: Read<'_>) -> Result<GeneratedLoad, Error> {
        let load = GeneratedLoad {
            prompt: Sizes::try_new("prompt", workload.prompt(), read)?,
            output: Sizes::try_new("output", workload.output(), read)?,
            turns: match &workload.turns {
                Some(turns) => Some(Sizes::try_new("turns", turns.clone(), read)?),
                None => None,
            },
            workload: workload.clone(),
        };
        let (cached, prompt) = (workload.cached_prompt(), load.prompt.shortest());
        if cached > prompt {
            let (cached_prompt, prompts) = (key("cached_prompt"), key("prompt"));
            let text = format!("{cached_prompt}: expected at most the shortest {prompts}, {prompt}, found {cached}");
            Err(Error::new(Kind::Value, text))
        } else {
            Ok(load)
        }
    }

    /// The first `count` requests for servers of this configuration.
    ///
    /// # Errors
    /// Arrivals that the clock cannot represent, of the requests that are given, or of so many that say nothing without
    /// the others.
    pub(crate) fn requests(&self, config: &SimConfig, count: u32) -> Result<Requests, Error> {
        let mix = self.mix(config).map_err(refused_setting)?;
        let Workload { users, requests: given, .. } = self.workload;
        let seed = self.workload.seed();
        if let Some(users) = users {
            let pause = self.workload.think_time().distribution().map_err(refused_setting)?;
            let users = ClosedLoop::try_new(users, pause, mix, seed).map_err(refused_setting)?;
            return Ok(Requests::Closed(Box::new(users.limited(count.into()))));
        }
        let arrivals = self.arrivals().map_err(refused_setting)?;
        let requests = SyntheticLoad::new(arrivals.clone(), mix, seed).take(count as usize);
        let is_late = |arrival_ns: u64| arrival_ns > SimConfig::LAST_ARRIVAL_NS;
        let checked = given.unwrap_or(LEAST_REQUESTS).min(count) as usize;
        // They ascend. Drawing them twice takes less than holding them; without turns, arrivals alone tell.
        let late = match self.turns {
            None => arrivals.take(checked).position(is_late),
            Some(_) => requests.clone().take(checked).position(|request| is_late(request.arrival_ns)),
        };
        match late {
            None => Ok(Requests::Open(Box::new(requests))),
            Some(in_time) => {
                let rate = key("rate");
                let text = format!(
                    "{rate}: expected arrivals within {ARRIVAL_YEARS} years, found {:?} requests per second, at which \
                     request {} comes later; use a higher {rate}",
                    self.workload.rate(),
                    in_time + 1
                );
                Err(Error::new(Kind::Value, text))
            }
        }
    }

    /// Requests that arrive per second in the long run; `None` where they wait for answers, or follow others of their
    /// session.
    pub(crate) fn request_rate(&self) -> Option<f64> {
        let Workload { users, .. } = self.workload;
        (users.is_none() && self.turns.is_none()).then(|| self.workload.rate())
    }

    /// Number of users whose rounds are equally long, except for the time that users wait for each other. In the long
    /// run, these users fall in step; 0 for none.
    pub fn users_in_step(&self) -> u32 {
        let pauses = matches!(self.workload.think_time(), ThinkTime::Fixed(pause) if pause > 0.0);
        match (self.workload.users, &self.turns) {
            (Some(users), None) if users > 1 && pauses && self.has_like_outputs() => users,
            _ => 0,
        }
    }

    /// Whether no output is much longer than the others.
    pub(crate) fn has_like_outputs(&self) -> bool {
        matches!(self.output, Sizes::Formula(Formula::Fixed(_) | Formula::Uniform(_), _))
    }

    /// The first `count` requests of the mix, at constant arrivals.
    pub(crate) fn lengths(&self, config: &SimConfig, count: u32) -> Result<Vec<Request>, Error> {
        let mix = self.mix(config).map_err(refused_setting)?;
        let load = SyntheticLoad::new(Arrivals::try_constant(1.0).map_err(refused_setting)?, mix, self.workload.seed());
        Ok(load.take(count as usize).collect())
    }

    fn arrivals(&self) -> Result<Arrivals, Invalid> {
        let (rate, seed) = (self.workload.rate(), self.workload.seed());
        match self.workload.arrival() {
            Arrival::Poisson => Arrivals::try_poisson(rate, seed),
            Arrival::Constant => Arrivals::try_constant(rate),
            Arrival::Gamma => {
                let shape = self.workload.burstiness.unwrap_or(1.0);
                Arrivals::try_gamma(rate, shape, seed)
            }
        }
    }

    fn mix(&self, config: &SimConfig) -> Result<RequestMix, Invalid> {
        let workload = &self.workload;
        let (prompt, output) = (self.prompt.lengths(), self.output.lengths());
        let mut mix = RequestMix::new(prompt, output).with_cached_prompt(workload.cached_prompt());
        if let Some(share) = workload.prefix_hit_rate {
            mix = mix.with_cached_share(CachedShare::try_new(share, config.block_size)?);
        }
        if let Some(prefixes) = workload.prefixes {
            mix = mix.with_prefixes(prefixes.shared()?);
        }
        if let Some(turns) = &self.turns {
            let pause = workload.think_time().distribution()?;
            let sessions = Sessions::new(turns.lengths(), pause);
            mix = mix.with_sessions(sessions.with_max_tokens(config.max_model_len));
        }
        if let Some(shares) = &workload.priorities {
            mix = mix.with_priorities(shares.priorities()?);
        }
        Ok(mix)
    }

    pub(crate) fn report(&self) -> load::Load {
        let workload = &self.workload;
        let think_time_s = match workload.think_time() {
            ThinkTime::Fixed(seconds) => load::ThinkTime::Fixed(seconds),
            ThinkTime::Exponential(mean) => load::ThinkTime::Drawn { distribution: "exponential", mean },
        };
        let prefixes =
            workload.prefixes.map(|prefixes| load::Prefixes { groups: prefixes.groups, tokens: prefixes.tokens });
        let sessions = self.turns.as_ref().map(|turns| load::Sessions { turns: turns.report(), think_time_s });
        let shares = workload.priorities.as_ref();
        let mix = Mix {
            prompt_tokens: self.prompt.report(),
            cached_prompt_tokens: workload.cached_prompt(),
            cached_prompt_share: workload.prefix_hit_rate,
            output_tokens: self.output.report(),
            prefixes,
            sessions,
            priority_shares: shares.map(|shares| shares.shares().to_vec()),
        };
        if let Some(users) = workload.users {
            return load::Load::ClosedLoop(ClosedLoad { users, think_time_s, mix });
        }
        let rate = Some(workload.rate());
        let open = OpenLoad {
            requests_per_s: rate.filter(|_| self.turns.is_none()),
            sessions_per_s: rate.filter(|_| self.turns.is_some()),
            burstiness: workload.burstiness,
            mix,
        };
        match workload.arrival() {
            Arrival::Poisson => load::Load::Poisson(open),
            Arrival::Constant => load::Load::Constant(open),
            Arrival::Gamma => load::Load::Gamma(open),
        }
    }
}

/// A distribution of lengths, ready to be drawn from.
#[derive(Debug, Clone)]
pub enum Sizes {
    /// One with parameters.
    Formula(Formula, Lengths),
    /// The distribution of a file.
    File(PathBuf, FileLengths),
}

impl Sizes {
    fn try_new(key: &'static str, given: LengthDistribution, read: Read<'_>) -> Result<Sizes, Error> {
        match given {
            LengthDistribution::Formula(formula) => Ok(Sizes::Formula(formula, formula.lengths()?)),
            LengthDistribution::File { path, within } => {
                let within = within.unwrap_or(LengthRange::ANY);
                let file = FileLengths::read(&read_file(key, Whole::Lengths, &path, read)?, within);
                let file = file.map_err(|error| error.in_file(&path).about([key]))?;
                Ok(Sizes::File(path, file))
            }
        }
    }

    fn lengths(&self) -> Lengths {
        match self {
            Sizes::Formula(_, lengths) => lengths.clone(),
            Sizes::File(_, file) => file.lengths.clone(),
        }
    }

    /// The shortest length that may be drawn.
    fn shortest(&self) -> u32 {
        match self {
            Sizes::Formula(formula, _) => formula.shortest(),
            Sizes::File(_, file) => file.shortest,
        }
    }

    fn report(&self) -> load::Lengths {
        load::Lengths::Drawn(match self {
            Sizes::Formula(Formula::Fixed(length), _) => return load::Lengths::Fixed(*length),
            Sizes::Formula(Formula::Uniform(range), _) => Distribution::Uniform { range: reported(Some(*range)) },
            &Sizes::Formula(Formula::Normal { mean, sd, within }, _) => {
                Distribution::Normal { mean, sd, within: reported(within) }
            }
            &Sizes::Formula(Formula::Lognormal { median, sigma, within }, _) => {
                Distribution::Lognormal { median, sigma, within: reported(within) }
            }
            Sizes::File(path, file) => Distribution::File {
                path: path.display().to_string(),
                values: file.values,
                mean: file.mean,
                range: Range { min: Some(file.shortest), max: Some(file.longest) },
            },
        })
    }
}

fn reported(range: Option<LengthRange>) -> Range {
    Range { min: range.map(|range| range.min), max: range.map(|range| range.max) }
}
