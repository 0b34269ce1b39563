//! Loads that are generated: from arguments to requests, and what is said of them.

mod json;
mod lengths;
mod lengths_file;
mod range;
mod sizes;
mod text;
mod values;

use rooflut::sim::load::{
    Arrivals, ClosedLoop, LimitedLoop, RequestMix, Sessions, SyntheticLoad, ThinkTime,
};
use rooflut::sim::{Request, SimError};

pub(crate) use json::{ClosedJson, OpenJson};
pub(crate) use lengths::{LengthsArg, lengths};
pub(crate) use values::{
    PrefixesArg, SharesArg, ThinkTimeArg, burstiness, prefixes, shares, think_time,
};

use crate::args::{Arrival, WorkloadArgs};
use crate::clock::{LATEST_ARRIVAL_NS, NANOS_PER_YEAR};
use crate::error::Error;
use crate::output::scientific;
use sizes::Sizes;

/// A load, with what its files say.
pub(crate) struct Workload<'a> {
    args: &'a WorkloadArgs,
    prompt: Sizes<'a>,
    output: Sizes<'a>,
    turns: Option<Sizes<'a>>,
}

/// Where requests come from.
pub(crate) enum Requests {
    /// Users who do not wait.
    Open(std::iter::Take<SyntheticLoad>),
    /// Users who wait.
    Closed(LimitedLoop),
}

impl<'a> Workload<'a> {
    /// Reads the files and checks what depends on them.
    pub(crate) fn try_new(args: &'a WorkloadArgs) -> Result<Workload<'a>, Error> {
        let prompt = Sizes::read(&args.prompt)?;
        if args.cached_prompt > prompt.shortest() {
            let message = format!(
                "--cached-prompt: expected at most the shortest --prompt, {}, found {}",
                prompt.shortest(),
                args.cached_prompt
            );
            return Err(Error::about(&["cached-prompt", "prompt"], message));
        }
        Ok(Workload {
            args,
            prompt,
            output: Sizes::read(&args.output)?,
            turns: args.turns.as_ref().map(Sizes::read).transpose()?,
        })
    }

    /// The requests, for a server that takes up to `max_model_len` tokens of each.
    pub(crate) fn requests(&self, max_model_len: u32) -> Result<Requests, Error> {
        let mix = self.mix(max_model_len)?;
        match self.args.users {
            Some(users) => Ok(self.closed(users, mix)?),
            None => self.open(mix),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.args.requests.into()
    }

    fn closed(&self, users: u32, mix: RequestMix) -> Result<Requests, SimError> {
        let users = ClosedLoop::try_new(users, self.think_time()?, mix, self.args.seed)?;
        Ok(Requests::Closed(users.limited(self.count())))
    }

    fn open(&self, mix: RequestMix) -> Result<Requests, Error> {
        let arrivals = self.arrivals()?;
        let load = SyntheticLoad::new(arrivals, mix, self.args.seed);
        let requests = load.take(self.args.requests as usize);
        // They ascend. Drawing them twice takes less than holding them.
        let late = |request: Request| request.arrival_ns > LATEST_ARRIVAL_NS;
        match requests.clone().position(late) {
            None => Ok(Requests::Open(requests)),
            Some(in_time) => {
                let message = format!(
                    "--rate: expected arrivals within {} years, found {} requests per second, at which \
                     request {} comes later; use a higher --rate or fewer --requests",
                    LATEST_ARRIVAL_NS / NANOS_PER_YEAR,
                    scientific(self.args.rate),
                    in_time + 1
                );
                Err(Error::about(&["rate"], message))
            }
        }
    }

    fn arrivals(&self) -> Result<Arrivals, SimError> {
        let WorkloadArgs { rate, seed, .. } = *self.args;
        match self.args.arrival {
            Arrival::Poisson => Arrivals::try_poisson(rate, seed),
            Arrival::Constant => Arrivals::try_constant(rate),
            Arrival::Gamma => Arrivals::try_gamma(rate, self.args.burstiness.unwrap_or(1.0), seed),
        }
    }

    fn think_time(&self) -> Result<ThinkTime, SimError> {
        let pause = self.args.think_time.unwrap_or(ThinkTimeArg::NONE);
        pause.think_time()
    }

    fn mix(&self, max_model_len: u32) -> Result<RequestMix, SimError> {
        let mut mix = RequestMix::new(self.prompt.lengths().clone(), self.output.lengths().clone())
            .with_cached_prompt(self.args.cached_prompt);
        if let Some(prefixes) = self.args.prefixes {
            mix = mix.with_prefixes(prefixes.prefixes()?);
        }
        if let Some(turns) = &self.turns {
            let sessions = Sessions::new(turns.lengths().clone(), self.think_time()?);
            mix = mix.with_sessions(sessions.with_max_tokens(max_model_len));
        }
        if let Some(shares) = &self.args.priorities {
            mix = mix.with_priorities(shares.priorities()?);
        }
        Ok(mix)
    }
}
