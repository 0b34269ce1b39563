//! Runs with another load, other servers or another engine, which share what has not changed.

use rooflut::engine::EngineStack;
use rooflut_error::{Error, value};

use crate::library;
use crate::load::Load;
use crate::pools::Pools;
use crate::run::Run;
use crate::scenario::{Scenario, Server};

impl Run {
    /// Returns the run with another seed, of the load and of the acceptance of drafts.
    ///
    /// # Errors
    /// None is known for a run that was built.
    pub fn with_seed(&self, seed: u64) -> Result<Run, Error> {
        let mut run = self.clone();
        run.scenario.workload.seed = Some(seed);
        if let Load::Generated(load) = &mut run.load {
            load.workload.seed = Some(seed);
        }
        if let Some(speculation) = &mut run.speculation {
            speculation.reseed(seed);
            let drafts = Some(speculation.drafts);
            let kinds = [&mut run.kind].into_iter().chain(&mut run.others);
            kinds.for_each(|kind| kind.config.speculation = drafts);
        }
        Ok(run)
    }

    /// Returns the run at this rate, in requests (or sessions) per second. It replaces the rate of a generated load, and
    /// the speed of a trace.
    ///
    /// # Errors
    /// A rate that is out of range, and a trace that has no rate.
    pub fn with_rate(&self, rate: f64) -> Result<Run, Error> {
        let mut run = self.clone();
        match &mut run.load {
            Load::Generated(load) => {
                run.scenario.workload.rate = Some(rate);
                run.scenario.check()?;
                load.workload.rate = Some(rate);
            }
            Load::Trace { path, trace } => {
                let speed = trace.rate().map(|known| trace.speed() * rate / known);
                let speed = speed.ok_or_else(|| {
                    let text = "expected arrivals over some time, none after the end of another request";
                    value("trace", text, path.display().to_string())
                })?;
                run.scenario.workload.trace_speed = Some(speed);
                **trace = trace.at_speed(speed).map_err(library::trace(path))?;
            }
        }
        Ok(run)
    }

    /// Returns the run with this number of users. They replace those of a generated load.
    ///
    /// # Errors
    /// A number that is out of range, and a load without users.
    pub fn with_users(&self, users: u32) -> Result<Run, Error> {
        let mut run = self.clone();
        run.scenario.workload.users = Some(users);
        run.scenario.check()?;
        if let Load::Generated(load) = &mut run.load {
            load.workload.users = Some(users);
        }
        Ok(run)
    }

    /// Returns the run with this number of requests of a generated load.
    ///
    /// # Errors
    /// A number that is out of range.
    pub fn with_requests(&self, requests: u32) -> Result<Run, Error> {
        let mut run = self.clone();
        run.scenario.workload.requests = Some(requests);
        run.scenario.check()?;
        if let Load::Generated(load) = &mut run.load {
            load.workload.requests = Some(requests);
        }
        Ok(run)
    }

    /// Returns the run on the servers that `counts` describes: its replicas, or its prefill and decode replicas and
    /// the links between them. Its other keys do not count.
    ///
    /// # Errors
    /// Counts that are out of range or contradict each other, and several servers if these are not modelled.
    pub fn with_servers(&self, counts: &Server) -> Result<Run, Error> {
        let mut run = self.clone();
        let server = &mut run.scenario.server;
        server.replicas = counts.replicas;
        server.prefill_replicas = counts.prefill_replicas;
        server.decode_replicas = counts.decode_replicas;
        server.link_bandwidth = counts.link_bandwidth;
        server.link_latency = counts.link_latency;
        run.pools = Pools::of(server, run.kind.deployment());
        // A router has no effect on one server, and on one of each pool.
        let counts = [server.replicas, server.prefill_replicas, server.decode_replicas];
        let is_routed = server.fleet.is_some() || counts.into_iter().flatten().any(|servers| servers > 1);
        let router = server.router.take();
        run.scenario.check()?;
        run.scenario.server.router = router.filter(|_| is_routed);
        Ok(run)
    }

    /// Returns the run on servers with these limits of a step; its other settings stay.
    ///
    /// # Errors
    /// Limits that are out of range, and limits that leave servers too little memory.
    pub fn with_step_limits(&self, max_num_seqs: u32, max_num_batched_tokens: u32) -> Result<Run, Error> {
        let mut run = self.clone();
        let server = &mut run.scenario.server;
        server.max_num_seqs = Some(max_num_seqs);
        server.max_num_batched_tokens = Some(max_num_batched_tokens);
        run.scenario.check()?;
        let speculation = self.speculation.as_ref();
        let mut settings = Scenario::clone(&run.kind.settings);
        settings.server.max_num_seqs = Some(max_num_seqs);
        settings.server.max_num_batched_tokens = Some(max_num_batched_tokens);
        run.kind = self.kind.with_settings(settings, speculation)?;
        Ok(run)
    }

    /// Returns the run with other constants of the engine; its rules and its memory stay.
    ///
    /// # Errors
    /// Constants that are out of range.
    pub fn with_engine(&self, stack: &EngineStack) -> Result<Run, Error> {
        let mut run = self.clone();
        run.kind = self.kind.with_engine(stack)?;
        run.others = self.others.iter().map(|kind| kind.with_engine(stack)).collect::<Result<_, _>>()?;
        Ok(run)
    }
}
