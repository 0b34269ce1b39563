//! Values that are out of range.

use std::fmt::Display;
use std::ops::RangeInclusive;

use rooflut::hardware::Dtype;
use rooflut::model::Parallelism;
use rooflut_error::{Error, conflict, no_effect, value};

use crate::number::grouped;
use crate::outage::Outage;
use crate::part::in_part;
use crate::rules::Given;
use crate::scenario::{Scenario, Target};
use crate::value::{LatencyLimit, WindowWidth};

const HOUR_US: f64 = 3.6e9;
/// Lowest bandwidth of links and networks, GB/s. The times of transfers stay far below the end of the clock.
const MIN_GB_PER_S: f64 = 1e-3;
const BANDWIDTH: &str = "a finite number of at least 0.001 GB/s";
/// Block sizes of vLLM whose kernels a GPU runs (`MultipleOf(16)` of its attention backends).
const BLOCK_SIZES: [u32; 5] = [16, 32, 64, 128, 256];

/// A value that is out of range, whatever the other keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfRange {
    /// The key.
    pub key: &'static str,
    /// The accepted values.
    pub expected: String,
    found: String,
}

impl From<OutOfRange> for Error {
    fn from(OutOfRange { key, expected, found }: OutOfRange) -> Error {
        value(key, expected, found)
    }
}

impl Scenario {
    /// Rejects values that are out of range, and keys that contradict or lack each other.
    ///
    /// # Errors
    /// The first such key.
    ///
    /// ```
    /// use rooflut_scenario::Scenario;
    /// let mut scenario = Scenario::default();
    /// scenario.workload.rate = Some(5.0);
    /// scenario.workload.users = Some(8);
    /// let message = scenario.check().expect_err("either").to_string();
    /// assert_eq!(message, "users cannot be used with rate; leave one of them out");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        self.check_values()?;
        self.server.check_draft_model()?;
        Given::of(self)?.check()?;
        let beside_stages = [
            ("dp", self.target.dp() > 1),
            ("draft_tokens", self.server.draft_tokens.is_some()),
            ("interval", self.output.interval.is_some()),
        ]
        .into_iter()
        .find(|(_, given)| *given);
        if let Some((with, _)) = beside_stages.filter(|_| self.target.pp() > 1) {
            let why = match with {
                "interval" => "no measurement shows the errors of pipelines",
                _ => "the two together are not modelled",
            };
            return Err(conflict("pp", with, Some(why)));
        }
        self.check_servers()?;
        if self.output.interval.is_some() && self.target.spans_nodes() {
            let with = if self.target.dp() > 1 { "dp" } else { "tp" };
            let why = "no measurement shows the errors of collectives between nodes";
            return Err(conflict("interval", with, Some(why)));
        }
        let is_random = self.workload.is_random() || self.server.is_random();
        if self.workload.seeds() > 1 && !is_random {
            Err(no_effect("seeds", "nothing is drawn at random, so that all runs would be equal"))
        } else {
            Ok(())
        }
    }

    /// Rejects servers with settings of their own that contradict each other, and servers that are lost but do not exist.
    fn check_servers(&self) -> Result<(), Error> {
        let servers = self.servers();
        if self.server.router.is_some() && self.server.fleet.is_some() && servers == 1 {
            return Err(no_effect("router", "there is one server to send requests to"));
        }
        let lost = self.server.lose.as_deref().unwrap_or_default();
        if let Some(outage) = lost.iter().find(|outage| outage.server >= servers) {
            let expected = match servers {
                1 => "server 0, as there is one".to_owned(),
                _ => format!("a server from 0 to {}, as there are {}", servers - 1, grouped(servers)),
            };
            return Err(value("lose", expected, outage));
        }
        if !self.has_parts() {
            return self.target.check_network();
        }
        let members = self.members()?;
        for member in &members {
            member.settings.check().map_err(in_part(member.place))?;
        }
        // A part leaves out what its servers do not use.
        let is_used =
            |of: fn(&Target) -> Option<f64>| members.iter().any(|member| of(&member.settings.target).is_some());
        for (key, of) in [
            ("network_bandwidth", (|target| target.network_bandwidth) as fn(&Target) -> Option<f64>),
            ("network_latency", |target| target.network_latency),
        ] {
            if of(&self.target).is_some() && !is_used(of) {
                return Err(no_effect(key, IN_NODE));
            }
        }
        Ok(())
    }

    /// Rejects values that are out of range, whatever the other keys are.
    ///
    /// # Errors
    /// The first such key.
    pub fn check_values(&self) -> Result<(), OutOfRange> {
        self.target.check_values()?;
        let (workload, server) = (&self.workload, &self.server);
        for (key, value, range) in [
            ("users", workload.users, 1..=1_000_000),
            ("requests", workload.requests, 1..=100_000_000),
            ("trace_requests", workload.trace_requests, ANY),
            ("seeds", workload.seeds, 1..=1_000),
            ("retries", workload.retries, 1..=100),
            ("max_num_seqs", server.max_num_seqs, ANY),
            ("max_num_batched_tokens", server.max_num_batched_tokens, ANY),
            ("long_prefill_token_threshold", server.long_prefill_token_threshold, ANY),
            ("max_model_len", server.max_model_len, ANY),
            ("kv_blocks", server.kv_blocks, ANY),
            ("max_waiting", server.max_waiting, ANY),
            ("replicas", server.replicas, 1..=4096),
            ("draft_tokens", server.draft_tokens, 1..=16),
            ("prefill_replicas", server.prefill_replicas, 1..=4096),
            ("decode_replicas", server.decode_replicas, 1..=4096),
        ] {
            check_count(key, value, range)?;
        }
        if let Some(found) = server.block_size.filter(|size| !BLOCK_SIZES.contains(size)) {
            let expected = "one of 16, 32, 64, 128, 256 tokens, the KV blocks of vLLM on GPUs";
            return Err(rejected("block_size", expected, found));
        }
        type Accepts = fn(f64) -> bool;
        let positive: Accepts = |value| value > 0.0 && value.is_finite();
        let share: Accepts = |value| (0.0..=1.0).contains(&value);
        for (key, value, accepts, expected) in [
            ("rate", workload.rate, positive, "a positive, finite number of requests per second"),
            ("warm_up", workload.warm_up, |value| (0.0..=1e9).contains(&value), "seconds, at least 0 and at most 1e9"),
            ("patience", workload.patience, |value| (1e-9..=1e9).contains(&value), "seconds, above 0 and at most 1e9"),
            (
                "trace_speed",
                workload.trace_speed,
                |value| (1e-3..=1e3).contains(&value),
                "a number from 0.001 to 1000: 2 is twice the speed of the trace",
            ),
            (
                "trace_duration",
                workload.trace_duration,
                |value| value > 0.0 && value <= 1e9,
                "seconds, above 0 and at most 1e9",
            ),
            (
                "windows",
                self.output.windows.and_then(WindowWidth::seconds),
                |value| (1e-3..=1e9).contains(&value),
                "seconds, at least 0.001 and at most 1e9",
            ),
            (
                "burstiness",
                workload.burstiness,
                positive,
                "a positive, finite number; below 1 is more bursty than Poisson",
            ),
            (
                "gpu_memory_utilization",
                server.gpu_memory_utilization,
                |value| value > 0.0 && value <= 1.0,
                "a number above 0 and at most 1",
            ),
            ("watermark", server.watermark, |value| (0.0..1.0).contains(&value), "a number from 0 to below 1"),
            (
                "attainment",
                self.output.attainment,
                |value| value > 0.0 && value < 1.0,
                "a share of requests between 0 and 1, such as 0.99",
            ),
            ("prefix_hit_rate", workload.prefix_hit_rate, share, "a number from 0 to 1"),
            ("acceptance", server.acceptance, share, "a number from 0 to 1"),
            ("link_bandwidth", server.link_bandwidth, is_bandwidth, BANDWIDTH),
            (
                "link_latency",
                server.link_latency,
                |value| (0.0..=HOUR_US).contains(&value),
                "microseconds, at least 0 and at most an hour",
            ),
        ] {
            if let Some(found) = value.filter(|value| !accepts(*value)) {
                return Err(rejected(key, expected, shown(found)));
            }
        }
        if let Some((first, second)) = server.lose.as_deref().and_then(Outage::overlapping) {
            return Err(rejected("lose", "outages of a server one after the other", format!("{first} and {second}")));
        }
        let limits = self.output.goodput.as_deref().unwrap_or_default();
        match LatencyLimit::repeated(limits) {
            Some(twice) => {
                let found = format!("two on {twice}");
                Err(rejected("goodput", "one limit on a latency", found))
            }
            None => Ok(()),
        }
    }
}

impl Target {
    /// Rejects values that are out of range, and a table set that is given twice.
    ///
    /// # Errors
    /// The first such key.
    pub fn check(&self) -> Result<(), Error> {
        let target = self.clone();
        Scenario { target, ..Scenario::default() }.check()
    }

    fn check_values(&self) -> Result<(), OutOfRange> {
        check_count("tp", self.tp, ANY)?;
        check_count("dp", self.dp, ANY)?;
        check_count("pp", self.pp, 1..=Parallelism::MAX_PP)?;
        check_count("gpus_per_node", self.gpus_per_node, ANY)?;
        let bandwidth = self.network_bandwidth;
        if let Some(found) = bandwidth.filter(|value| !is_bandwidth(*value)) {
            return Err(rejected("network_bandwidth", BANDWIDTH, shown(found)));
        }
        let is_latency = |value: &f64| *value > 0.0 && *value <= HOUR_US;
        if let Some(found) = self.network_latency.filter(|value| !is_latency(value)) {
            let expected = "microseconds, above 0 and at most an hour";
            return Err(rejected("network_latency", expected, shown(found)));
        }
        match self.kv_dtype {
            None | Some(Dtype::Bf16 | Dtype::Fp8) => Ok(()),
            Some(found) => Err(rejected("kv_dtype", "one of bf16, fp8", found)),
        }
    }
}

impl Target {
    /// Returns whether the GPUs of a server are on several nodes.
    pub(crate) fn spans_nodes(&self) -> bool {
        self.parallelism().gpus() > self.network().gpus_per_node
    }

    /// Rejects properties of the network if nothing is sent over it.
    fn check_network(&self) -> Result<(), Error> {
        let in_node = !self.spans_nodes();
        let key = match (self.network_bandwidth, self.network_latency) {
            (Some(_), _) => "network_bandwidth",
            (None, Some(_)) if self.pp() == 1 => "network_latency",
            _ => return Ok(()),
        };
        if in_node { Err(no_effect(key, IN_NODE)) } else { Ok(()) }
    }
}

/// Why properties of the network have no effect.
const IN_NODE: &str = "a node holds all GPUs of a server";

/// Any positive count.
const ANY: RangeInclusive<u32> = 1..=u32::MAX;

pub(crate) fn check_count(key: &'static str, value: Option<u32>, range: RangeInclusive<u32>) -> Result<(), OutOfRange> {
    let Some(found) = value.filter(|value| !range.contains(value)) else {
        return Ok(());
    };
    let expected = match *range.end() {
        u32::MAX => "a whole number of at least 1".to_owned(),
        max => format!("a whole number from 1 to {}", grouped(max)),
    };
    Err(rejected(key, &expected, found))
}

fn is_bandwidth(gb_per_s: f64) -> bool {
    gb_per_s >= MIN_GB_PER_S && gb_per_s.is_finite()
}

/// Formats a number, one of many digits in scientific notation.
fn shown(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && size.is_finite() && !(1e-9..1e15).contains(&size) => {
            format!("{value:e}")
        }
        _ => value.to_string(),
    }
}

fn rejected(key: &'static str, expected: &str, found: impl Display) -> OutOfRange {
    OutOfRange { key, expected: expected.to_owned(), found: found.to_string() }
}
