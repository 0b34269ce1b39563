//! The kinds of servers of a run.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rooflut::Deployment;
use rooflut::deployment::ServedModel;
use rooflut::engine::EngineStack;
use rooflut::sim::SimConfig;
use rooflut::table::{Class, ErrorGroup, Extent, TableSet, sets};
use rooflut::units::Seconds;
use rooflut_error::Error;
use rooflut_report::{Price, Role};

use crate::engine::Engine;
use crate::library;
use crate::model::Model;
use crate::number::grouped;
use crate::part::{Part, Place, in_part};
use crate::placement::Placement;
use crate::scenario::{Scenario, Server, Workload};
use crate::speculation::Speculation;
use crate::vllm::VllmCommand;

/// A kind of server: a model on the GPUs of a table set, with the limits of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Kind {
    /// The scenario of one such server.
    pub(crate) settings: Arc<Scenario>,
    /// Number of servers, where servers are of several kinds that all do the same.
    pub(crate) replicas: u32,
    placement: Arc<Placement>,
    deployment: Arc<Deployment>,
    served: Arc<OnceLock<ServedModel>>,
    pub(crate) config: SimConfig,
    /// The price of its GPU, if it is known.
    price: Option<Price>,
}

/// Equal servers of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Group<'r> {
    /// Their role.
    pub role: Role,
    /// The kind of each.
    pub kind: &'r Kind,
    /// Their replicas, of which a server of data-parallel ranks has one for each.
    pub replicas: Range<u32>,
}

/// The scenario of a kind of server, before its model and tables are found.
pub(crate) struct Member {
    pub(crate) settings: Scenario,
    pub(crate) replicas: u32,
    /// The place that describes it; `None` for the servers of the scenario itself.
    pub(crate) place: Option<Place>,
}

impl Scenario {
    /// Whether some servers have settings of their own.
    pub(crate) fn has_parts(&self) -> bool {
        let server = &self.server;
        server.fleet.is_some() || server.prefill.is_some() || server.decode.is_some()
    }

    /// Number of servers; a server of data-parallel ranks is one.
    pub(crate) fn servers(&self) -> u32 {
        let server = &self.server;
        match (&server.fleet, server.prefill_replicas, server.decode_replicas) {
            (Some(fleet), ..) => fleet.servers(),
            (None, Some(prefill), decode) => prefill.saturating_add(decode.unwrap_or(0)),
            _ => server.replicas(),
        }
    }

    /// Returns the kinds of servers: prefill servers are of the first, decode servers of the last.
    pub(crate) fn members(&self) -> Result<Vec<Member>, Error> {
        let server = &self.server;
        if !self.has_parts() {
            return Ok(vec![Member { settings: self.clone(), replicas: server.replicas(), place: None }]);
        }
        if let Some(fleet) = &server.fleet {
            let entries = fleet.entries().iter().enumerate();
            let member = |(index, entry): (usize, &crate::fleet::Entry)| {
                let place = ("fleet", Some(index));
                Ok(Member { replicas: entry.replicas, ..self.member(Some(&entry.part), place)? })
            };
            return entries.map(member).collect();
        }
        let pool = |settings: &Option<_>, named| {
            let part = settings.clone().map(Part::try_new).transpose().map_err(in_part(Some((named, None))))?;
            self.member(part.as_ref(), (named, None))
        };
        Ok(vec![pool(&server.prefill, "prefill")?, pool(&server.decode, "decode")?])
    }

    /// Returns a kind of servers with the settings of `part` in place of those of the scenario.
    fn member(&self, part: Option<&Part>, place: Place) -> Result<Member, Error> {
        let place = part.map(|_| place);
        let mut settings = match part {
            Some(part) => part.over(self).map_err(in_part(place))?,
            None => self.clone(),
        };
        settings.make_one_server();
        Ok(Member { settings, replicas: 1, place })
    }

    /// Leaves one server, without the keys of the network if that sends nothing over it.
    fn make_one_server(&mut self) {
        self.server.make_one();
        if !self.target.spans_nodes() {
            self.target.network_bandwidth = None;
            self.target.network_latency = self.target.network_latency.filter(|_| self.target.pp() > 1);
        }
    }
}

impl Server {
    /// Leaves the settings of one server.
    pub(crate) fn make_one(&mut self) {
        (self.replicas, self.router, self.fleet, self.lose) = (None, None, None, None);
        (self.prefill_replicas, self.decode_replicas) = (None, None);
        (self.prefill, self.decode) = (None, None);
        (self.link_bandwidth, self.link_latency) = (None, None);
    }
}

impl Kind {
    /// Looks up every kernel of a kind of server.
    pub(crate) fn try_new(
        member: Member,
        model: Model,
        draft_model: Option<Model>,
        tables: TableSet,
        engine: &Engine,
    ) -> Result<(Kind, Option<Speculation>), Error> {
        let settings = &member.settings;
        let placement = Placement::try_new(&settings.target, model, tables, engine)?;
        let speculation = Speculation::try_of(settings, &placement.model, draft_model)?;
        let draft = speculation.as_ref().and_then(|s| s.draft.as_ref());
        draft.map_or(Ok(()), |draft| placement.check_draft(draft))?;
        let deployment = placement.serve(&settings.server, speculation.as_ref(), settings.output.strict())?;
        let kind = Kind {
            config: impatient(placement.config(&deployment, settings.server.kv_blocks, draft)?, &settings.workload),
            replicas: member.replicas,
            settings: member.settings.into(),
            placement: placement.into(),
            deployment: deployment.into(),
            served: Arc::default(),
            price: None,
        };
        Ok((kind, speculation))
    }

    /// Returns the kind with other limits of a step.
    pub(crate) fn with_settings(&self, settings: Scenario, speculation: Option<&Speculation>) -> Result<Kind, Error> {
        let draft = speculation.and_then(|speculation| speculation.draft.as_ref());
        let deployment = self.placement.serve(&settings.server, speculation, settings.output.strict())?;
        Ok(Kind {
            config: impatient(
                self.placement.config(&deployment, settings.server.kv_blocks, draft)?,
                &settings.workload,
            ),
            settings: settings.into(),
            deployment: deployment.into(),
            served: Arc::default(),
            ..self.clone()
        })
    }

    /// Returns the kind with other constants of the engine; its rules and its memory stay.
    pub(crate) fn with_engine(&self, stack: &EngineStack) -> Result<Kind, Error> {
        let deployment = self.deployment.to_builder().engine(stack).build().map_err(library::deployment)?;
        let mut config = self.config;
        config.api_server_ns = stack.api_server.to_nanos();
        config.api_token_ns = stack.api_token.to_nanos();
        config.api_output_ns = stack.api_output.to_nanos();
        Ok(Kind { config, deployment: deployment.into(), served: Arc::default(), ..self.clone() })
    }

    /// The scenario of one such server.
    pub fn settings(&self) -> &Scenario {
        &self.settings
    }

    /// The model and its GPUs.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The deployment of each server.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The limits of each server.
    pub fn config(&self) -> &SimConfig {
        &self.config
    }

    /// The longest request of the models, in tokens, if the KV cache holds less.
    pub fn lowered_from(&self) -> Option<u32> {
        let longest = self.deployment.max_model_len();
        (self.config.max_model_len < longest).then_some(longest)
    }

    /// The price of its GPU, if it is known.
    pub fn price(&self) -> Option<&Price> {
        self.price.as_ref()
    }

    pub(crate) fn set_price(&mut self, price: Option<Price>) {
        self.price = price;
    }

    /// The `vllm serve` command of a server.
    pub fn vllm_command(&self) -> VllmCommand {
        self.settings.vllm_command(self.placement.engine)
    }

    /// Returns the step times of the deployment, which the first call tabulates.
    pub(crate) fn served_model(&self) -> &ServedModel {
        self.served.get_or_init(|| self.deployment.served_model())
    }

    /// Data-parallel ranks of each server, which step together.
    pub(crate) fn dp(&self) -> u32 {
        self.placement.parallelism.dp
    }

    /// Remarks on settings with which a server does not exist as described.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let plan = self.deployment.memory_plan();
        let held = plan.map_or(0, |plan| plan.kv_blocks);
        let beyond = self.settings.server.kv_blocks.filter(|given| *given > held).map(|given| {
            let (given, held) = (grouped(given), grouped(held));
            format!("{given} KV blocks are given, and the memory holds {held}")
        });
        self.placement.notes.iter().cloned().chain(self.cut()).chain(beyond)
    }

    /// A remark on an interval whose errors are not known.
    pub(crate) fn unknown_errors(&self) -> Option<String> {
        let name = self.placement.tables.name();
        let is_built_in = sets::ALL.iter().any(|set| set.name() == name);
        let has_errors = is_built_in || self.placement.tables.class() != Class::Measured;
        (!has_errors).then(|| {
            let errors = ErrorGroup::UNKNOWN.set(Extent::Inside);
            format!("the errors of {name} are not known; the interval has the largest of {errors}")
        })
    }

    /// Limits that are smaller than the engine's on this GPU because of another limit.
    fn cut(&self) -> Option<String> {
        let (server, config) = (&self.settings.server, &self.config);
        let engine = self.deployment.engine();
        let usual = engine.defaults.on(self.placement.tables.gpu());
        let [seqs, tokens] = [config.max_num_seqs, config.max_num_batched_tokens];
        let [most_seqs, most_tokens] = [usual.max_num_seqs, usual.max_num_batched_tokens];
        let name = engine.name;
        if server.max_num_seqs.is_none() && seqs < most_seqs {
            let (seqs, tokens, most) = (grouped(seqs), grouped(tokens), grouped(most_seqs));
            return Some(format!(
                "at most {seqs} sequences run, to fit into a step of {tokens} tokens; {name} takes {most} in larger \
                 steps"
            ));
        }
        let is_cut = server.max_num_batched_tokens.is_none() && tokens < most_tokens;
        is_cut.then(|| {
            let (seqs, tokens, most) = (grouped(seqs), grouped(tokens), grouped(most_tokens));
            format!(
                "a step has at most {tokens} tokens, for {seqs} longest requests; {name} takes {most} if more \
                 requests run"
            )
        })
    }
}

impl Group<'_> {
    /// Servers of the group; a server of data-parallel ranks is one.
    pub fn servers(&self) -> u32 {
        (self.replicas.end - self.replicas.start) / self.kind.dp().max(1)
    }

    /// GPUs of the group.
    pub fn gpus(&self) -> u64 {
        u64::from(self.kind.placement.parallelism.gpus()) * u64::from(self.servers())
    }
}

/// The limits of a server whose clients wait as long as those of `workload`.
fn impatient(config: SimConfig, workload: &Workload) -> SimConfig {
    match workload.patience {
        Some(seconds) => config.with_patience_ns(Seconds(seconds).to_nanos()),
        None => config,
    }
}
