//! Arguments of `rooflut plan`.

use std::ffi::OsString;

use clap::{ArgAction, ArgMatches, Args};
use rooflut::hardware::Dtype;
use rooflut_plan::Space;
use rooflut_scenario::{Scenario, Server, Target, Workload, whole};
use rooflut_sweep::Axis;

use crate::args::{LimitArgs, PriceArgs};
use crate::deferred::described;
use crate::error::Error;
use crate::html::HtmlArgs;
use crate::vllm::VllmArgs;

const EXAMPLES: &str = "\
Examples:
  rooflut plan --rate 60 --prompt 512 --output 256 --goodput ttft:200 tpot:15
  rooflut plan --model llama-3.3-70b --tp 2,4,8 --rate 5 --goodput tpot:50@p95";
const AFTER: &str = "\
The plan chooses the number of servers. For each of --gpu, --tp, --dp, --pp, --dtype, --kv-dtype, --max-num-seqs and \
--max-num-batched-tokens, the plan also chooses one of the comma-separated values. Several rates, or speeds of a trace \
(--trace-speed), with commas between them or as a range FROM..TO:STEP, get an answer each. With --link-bandwidth and \
--link-latency, the plan also divides the servers into prefill and decode servers, each of the GPU and the parallelism \
that suits it. A deployment meets the limits if \
its steady state meets them with each of three seeds (--seeds), with no request rejected and no run overloaded. A run \
lasts until the result is clear, or for --requests. Of equal servers behind a round-robin router, the search simulates \
one. The figures of the answers are those of all servers, in runs that the printed command repeats.";

/// Flags that take several values.
const LISTS: [(&str, &str); 10] = [
    ("gpu", "Table sets to choose from [default: h100]"),
    ("tp", "Degrees of tensor parallelism to choose from [default: 1,2,4,8]"),
    ("dp", "Degrees of data parallelism to choose from, for models with experts [default: 1,2,4,8]"),
    ("pp", "Numbers of pipeline stages to choose from [default: 1]"),
    ("dtype", "Formats of the weights to choose from, such as bf16,fp8 [default: the model's own]"),
    ("kv_dtype", "Formats of the KV cache to choose from: bf16, fp8 [default: the model's own]"),
    ("max_num_seqs", "Maximum numbers of running requests to choose from [default: the engine's on each GPU]"),
    ("rate", "Requests per second, or sessions per second with --turns; several get an answer each [default: 18]"),
    ("trace_speed", "Speed of the replay, 2 for half the time; several get an answer each [default: 1]"),
    ("max_num_batched_tokens", "Maximum numbers of tokens per step to choose from [default: the engine's on each GPU]"),
];

/// Arguments of `rooflut plan`.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{AFTER}\n\n{EXAMPLES}"))]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) vllm: VllmArgs,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Maximum number of GPUs per deployment.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u32>, default_value_t = Space::MAX_GPUS,
          help_heading = "Plan")]
    pub(crate) max_gpus: u32,
    /// Number of deployments to list, each with a different kind of server.
    #[arg(long, value_name = "COUNT", value_parser = crate::value::positive::<u32>, default_value_t = 3,
          help_heading = "Plan")]
    pub(crate) count: u32,
    #[command(flatten, next_help_heading = "Plan")]
    pub(crate) prices: PriceArgs,
    /// Write JSON.
    #[arg(long, help_heading = "Plan")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
    /// The values of flags that take several.
    #[arg(skip)]
    pub(crate) choices: Choices,
}

/// The values of flags that take several; empty where a flag is not given.
#[derive(Default, Clone)]
pub(crate) struct Choices {
    pub(crate) gpu: Vec<String>,
    pub(crate) tp: Vec<u32>,
    pub(crate) dp: Vec<u32>,
    pub(crate) pp: Vec<u32>,
    pub(crate) dtype: Vec<Dtype>,
    pub(crate) kv_dtype: Vec<Dtype>,
    pub(crate) max_num_seqs: Vec<u32>,
    pub(crate) max_num_batched_tokens: Vec<u32>,
    pub(crate) rate: Vec<f64>,
    pub(crate) trace_speed: Vec<f64>,
}

impl Choices {
    /// Returns the values, with those of a vLLM command where a flag is not given.
    pub(crate) fn or(&self, Scenario { target, server, .. }: &Scenario) -> Choices {
        Choices {
            gpu: self.gpu.clone(),
            tp: or(&self.tp, target.tp),
            dp: or(&self.dp, target.dp),
            pp: or(&self.pp, target.pp),
            rate: self.rate.clone(),
            trace_speed: self.trace_speed.clone(),
            dtype: or(&self.dtype, target.dtype),
            kv_dtype: or(&self.kv_dtype, target.kv_dtype),
            max_num_seqs: or(&self.max_num_seqs, server.max_num_seqs),
            max_num_batched_tokens: or(&self.max_num_batched_tokens, server.max_num_batched_tokens),
        }
    }
}

fn or<T: Clone>(given: &[T], other: Option<T>) -> Vec<T> {
    if given.is_empty() { other.into_iter().collect() } else { given.to_vec() }
}

impl PlanArgs {
    /// Describes these arguments: some flags take several values, limits must be given, and the plan chooses the number
    /// of servers.
    pub(super) fn described(command: clap::Command) -> clap::Command {
        let command = described::<PlanArgs>(command).mut_arg("goodput", |arg| arg.required(true));
        let chosen = ["replicas", "prefill_replicas", "decode_replicas", "prefill", "decode", "fleet", "lose"];
        let command = chosen.into_iter().fold(command, |command, flag| command.mut_arg(flag, |arg| arg.hide(true)));
        LISTS.into_iter().fold(command, |command, (flag, help)| {
            command.mut_arg(flag, |arg| arg.action(ArgAction::Append).value_delimiter(',').help(help))
        })
    }

    /// Reads the flags that take several values. `matches` are these arguments.
    pub(super) fn with_choices(self, matches: &ArgMatches) -> PlanArgs {
        PlanArgs {
            choices: Choices {
                gpu: all(matches, "gpu"),
                tp: all(matches, "tp"),
                dp: all(matches, "dp"),
                pp: all(matches, "pp"),
                dtype: all(matches, "dtype"),
                kv_dtype: all(matches, "kv_dtype"),
                max_num_seqs: all(matches, "max_num_seqs"),
                max_num_batched_tokens: all(matches, "max_num_batched_tokens"),
                rate: all(matches, "rate"),
                trace_speed: all(matches, "trace_speed"),
            },
            ..self
        }
    }
}

/// Writes the ranges of a flag, as in `--rate 10..50:10`, as the values that they have.
pub(super) fn with_values(arguments: Vec<OsString>, flag: &str, key: &str) -> Result<Vec<OsString>, Error> {
    let mut written: Vec<OsString> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let is_value = written.last().is_some_and(|last| last == flag);
        let joined = argument.to_str().and_then(|text| text.strip_prefix(flag)?.strip_prefix('='));
        let ranges = joined.or(argument.to_str().filter(|_| is_value)).filter(|text| text.contains(".."));
        let values = ranges.map(|ranges| Axis::read(key, [ranges])).transpose()?;
        written.push(match values {
            None => argument,
            Some(values) => {
                let flag = if is_value { String::new() } else { format!("{flag}=") };
                let values: Vec<String> = values.values().iter().map(ToString::to_string).collect();
                (flag + &values.join(",")).into()
            }
        });
    }
    Ok(written)
}

fn all<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, flag: &str) -> Vec<T> {
    let values = matches.get_many::<T>(flag);
    values.map_or(Vec::new(), |values| values.cloned().collect())
}
