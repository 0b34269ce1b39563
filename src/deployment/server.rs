//! The server of a deployment.

use super::{Deployment, DeploymentBuilder, ServedModel, ServerOptions};
use crate::engine::{DraftScheduling, PrefixCaching, Scheduling};
use crate::error::{Error, ErrorKind, Invalid};
use crate::model::{KvGroups, Span, grown_block_size};
use crate::sim::cluster::Lockstep;
use crate::sim::{Server, SimConfig, Simulator};

impl Deployment {
    /// Returns the latency model of the server, draft model included, with the times of small steps tabulated.
    /// Building it computes one step for each token count up to `max_num_batched_tokens`, 8,192 at most: 0.2 us each.
    pub fn served_model(&self) -> ServedModel {
        ServedModel::new(self)
    }

    /// Returns a server that the caller steps.
    ///
    /// # Errors
    /// As [`server_config`](Self::server_config); several data-parallel ranks.
    ///
    /// ```
    /// use rooflut::sim::Request;
    /// use rooflut::table::sets;
    /// use rooflut::{Deployment, model};
    ///
    /// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
    /// let mut server = Deployment::builder(llama.spec, &sets::H100).build()?.server()?;
    /// server.push(Request::new(512, 128))?;
    /// let step = server.step()?.expect("a request waits");
    /// assert_eq!(step.record.prefill_tokens, 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn server(&self) -> Result<Server<ServedModel>, Error> {
        self.single_rank(Server::try_new)
    }

    /// Returns a simulator of the server: the simulation of `rooflut run` with the same settings.
    ///
    /// # Errors
    /// As [`server`](Self::server).
    ///
    /// ```
    /// use rooflut::sim::Request;
    /// use rooflut::table::sets;
    /// use rooflut::{Deployment, model};
    ///
    /// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
    /// let simulator = Deployment::builder(llama.spec, &sets::H100).build()?.simulator()?;
    /// let report = simulator.run(&[Request::new(512, 128)])?;
    /// assert_eq!(report.summary.completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn simulator(&self) -> Result<Simulator<ServedModel>, Error> {
        self.single_rank(Simulator::try_new)
    }

    /// Returns a simulator of all data-parallel ranks, which step together.
    ///
    /// # Errors
    /// As [`server_config`](Self::server_config).
    ///
    /// ```
    /// use rooflut::sim::Request;
    /// use rooflut::sim::load::RequestList;
    /// use rooflut::table::sets;
    /// use rooflut::{Deployment, model};
    ///
    /// let qwen = model::find("qwen3-30b-a3b").expect("in the catalogue");
    /// let builder = Deployment::builder(qwen.spec, &sets::H100).dp(4).expert_parallel(true);
    /// let ranks = builder.build()?.lockstep()?;
    /// let requests = [Request::new(512, 128); 8];
    /// let totals = ranks.serve(&mut RequestList::new(&requests), &mut ())?;
    /// assert_eq!((totals.replicas, totals.completed), (4, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lockstep(&self) -> Result<Lockstep<ServedModel>, Error> {
        let config = self.server_config()?;
        Ok(Lockstep::try_new(self.served_model(), config, self.parallelism().dp)?)
    }

    /// Returns what `create` makes of the model and the limits of the only rank.
    fn single_rank<S>(&self, create: fn(ServedModel, SimConfig) -> Result<S, Invalid>) -> Result<S, Error> {
        let dp = self.parallelism().dp;
        if dp > 1 {
            let text = "expected a single rank, found {}, which step together; use Deployment::lockstep";
            return Err(Invalid::new("dp", text, &[dp.into()]).into());
        }
        let config = self.server_config()?;
        Ok(create(self.served_model(), config)?)
    }

    /// Returns the limits of the server, KV blocks and API server included.
    ///
    /// A request must fit into the KV cache, without which vLLM does not start: where `max_model_len` is not set, it is
    /// at most the tokens of all KV blocks. `kv_blocks`, if set, replaces those that the memory holds, as vLLM's
    /// `num_gpu_blocks_override` (which vLLM checks so since 0.33 at the latest).
    ///
    /// # Errors
    /// - [`ErrorKind::DoesNotFit`]: no block fits into memory, and `kv_blocks` is not set
    /// - [`ErrorKind::ContextTooLong`]: the blocks hold less than the given `max_model_len`
    /// - [`ErrorKind::Invalid`]: the blocks hold no request
    pub fn server_config(&self) -> Result<SimConfig, Error> {
        let (given, longest) = (&self.given, self.max_model_len());
        let kv_blocks = match given.options.kv_blocks {
            Some(blocks) => blocks,
            None => self.memory_plan()?.kv_blocks,
        };
        let mut config = given.server_config(longest, kv_blocks);
        let in_flight = config.in_flight_tokens();
        let held = config.kv_groups.longest(kv_blocks, config.block_size, in_flight);
        if held == 0 {
            let needed = config.kv_groups.blocks(1, config.block_size, in_flight);
            let text =
                "expected at least {}, which a request of one token takes, found {}; raise it, or use a larger `tp`";
            return Err(Invalid::new("kv_blocks", text, &[needed.into(), kv_blocks.into()]).into());
        }
        match given.options.max_model_len.filter(|found| *found > held) {
            Some(found) => Err(ErrorKind::ContextTooLong { longest: held, found }.into()),
            None => {
                config.max_model_len = longest.min(held);
                Ok(config)
            }
        }
    }

    /// Returns the settings of the server with the limits of `config` ([`server_config`](Self::server_config)): those not
    /// given have their defaults. The number of KV blocks is left out.
    pub fn server_options(&self, config: &SimConfig) -> ServerOptions {
        ServerOptions {
            kv_blocks: None,
            block_size: Some(config.block_size),
            max_num_seqs: Some(config.max_num_seqs),
            max_num_batched_tokens: Some(config.max_num_batched_tokens),
            gpu_memory_utilization: Some(self.memory_limits().gpu_memory_utilization),
            cuda_graph_max_tokens: Some(self.cuda_graph_max_tokens()),
            long_prefill_token_threshold: config.long_prefill_token_threshold,
            max_model_len: Some(config.max_model_len),
            scheduling: Some(config.rules.scheduling),
            scheduler_reserve_full_isl: Some(config.rules.scheduler_reserve_full_isl),
            policy: Some(config.policy),
            max_waiting: config.max_waiting,
            prefix_caching: Some(config.prefix_caching),
            watermark: Some(config.watermark),
        }
    }

    /// Returns the number of KV blocks that a request of `tokens` needs at most, prompt plus output.
    pub fn kv_blocks_for(&self, tokens: u32) -> u32 {
        let config = self.given.server_config(tokens, 1);
        let in_flight = config.in_flight_tokens();
        config.kv_groups.blocks(tokens, config.block_size, in_flight)
    }

    /// Checks the limits of the server independently of the memory plan.
    pub(super) fn check_server(&self) -> Result<(), Invalid> {
        let DeploymentBuilder { draft, mtp, speculation, options, .. } = &self.given;
        if (draft.is_some() || *mtp) && speculation.is_none() {
            let text =
                "expected the number of drafted tokens and their acceptance rate, found neither; set the speculation";
            return Err(Invalid::new("draft model or MTP layer", text, &[]));
        }
        let config = self.given.server_config(self.max_model_len(), options.kv_blocks.unwrap_or(1));
        config.validate()
    }
}

impl DeploymentBuilder {
    pub(super) fn server_config(&self, max_model_len: u32, kv_blocks: u32) -> SimConfig {
        let ServerOptions { long_prefill_token_threshold, policy, max_waiting, prefix_caching, watermark, .. } =
            self.options;
        let mut config = SimConfig::new(max_model_len, kv_blocks).with_engine(&self.engine);
        config.max_num_seqs = self.memory.max_num_seqs;
        config.long_prefill_token_threshold = long_prefill_token_threshold;
        config.policy = policy.unwrap_or_default();
        config.max_waiting = max_waiting;
        config.prefix_caching = prefix_caching.unwrap_or(if self.spec.keeps_states() {
            PrefixCaching::Disabled
        } else {
            PrefixCaching::Enabled
        });
        config.watermark = watermark.unwrap_or(0.0);
        let mut held = self.kv_spec();
        if self.mtp {
            held = held.with_mtp_counted();
        }
        config.kv_groups = KvGroups::of(&held, self.parallelism.tp);
        // Chunks count even where the engine has no groups for them.
        match self.spec.limited_span() {
            Span::Full => {}
            span => config.kv_groups.span = span,
        }
        let grown = grown_block_size(&self.spec, self.parallelism.tp, &self.memory);
        let factor = config.kv_groups.block_factor;
        config.block_size = grown.saturating_mul(factor);
        config.max_num_batched_tokens = self.memory.max_num_batched_tokens;
        if let Some(speculation) = self.speculation {
            config.speculation = Some(match &self.draft {
                _ if self.has_head() => speculation.with_mtp(),
                Some(_) => speculation.with_draft_model(),
                None => speculation,
            });
            // Each drafted token has a state of its own.
            let copies = config.draft_tokens().saturating_add(1);
            config.kv_groups.states = config.kv_groups.states.saturating_mul(copies);
            let ahead = match config.rules.draft_scheduling {
                DraftScheduling::Synchronous => false,
                DraftScheduling::HeadsAhead => self.has_head(),
                DraftScheduling::Ahead => true,
            };
            if !ahead {
                config.rules.scheduling = Scheduling::Synchronous;
            }
        }
        config = config.with_pipeline_parallel_size(self.parallelism.pp);
        if let Some(scheduling) = self.options.scheduling {
            config.rules.scheduling = scheduling;
        }
        if let Some(reserve) = self.options.scheduler_reserve_full_isl {
            config.rules.scheduler_reserve_full_isl = reserve;
        }
        config
    }
}
