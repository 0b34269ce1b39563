//! Servers under closed loops: rows of `servers_steady_state.csv`.

use rooflut::sim::PrefixCaching;
use rooflut_error::Error;

use crate::cells::Cells;
use crate::fitted::is_fitted;
use crate::kind::Kind;
use crate::rows::{ClosedLoopRun, Latencies, Limits, Server, Uniform};

/// Formats of the weights, those of KV entries and token budgets where the rows name none, and the group in reports, by
/// GPU, model, precision and engine as the rows name them, where an empty engine means all. The last column is free
/// text.
///
/// Assumes: the servers with Qwen3, whose rows name no budget, ran with 2,048 tokens a step, vLLM's default outside of its
/// API server. Their users have equal lengths and stay in lockstep, so that TTFT shows how many prompts share a step: with
/// 8,192 tokens its median error is 83 % for Qwen3-32B and 80 % for Qwen3-235B, with 2,048 25 and 10 %.
///
/// Assumes: Kimi-K2.5 in fp4 is NVIDIA's release, whose quantization config asks for FP8 KV entries, which vLLM 0.17 does
/// by default (`resolve_kv_cache_dtype_string`, `vllm/utils/torch_utils.py`). 64 users with prompts of
/// 8,192 tokens, whose TTFT is 1.3 s, take up to 21 GB of each GPU in that format and 41 GB in 16 bits; a B200 has room for
/// 22 GB beside the weights.
const SERVERS: &str = include_str!("../steady_servers.csv");

/// Budget of other servers whose row names none: vLLM's for its API server on GPUs of 70 GiB and more.
const MAX_NUM_BATCHED_TOKENS: u32 = 8192;

/// Names the engine and what is particular to the server; reports add model, GPU and tensor parallelism.
pub(crate) fn id(cells: &Cells<'_>) -> Result<String, Error> {
    let mut id = format!("{} {}", cells.text("engine"), cells.text("precision"));
    if let Some(dp) = cells.optional_whole("dp")?.filter(|dp| *dp != 1) {
        id += &format!(" dp {dp}");
    }
    if let Some(replicas) = cells.optional_whole("replicas")?.filter(|replicas| *replicas != 1) {
        id += &format!(" {replicas} servers");
    }
    if is_set(cells, "expert_parallel")? {
        id += " ep";
    }
    Ok(id.trim_end().to_owned())
}

/// Returns the formats that the publisher of the rows implies, and the server's engine by the date of a nightly build.
pub(crate) fn server(cells: &Cells<'_>, server: Server) -> Result<Server, Error> {
    let measured = cells.text("measured");
    let engine = if server.engine.contains("nightly") && !measured.is_empty() {
        format!("vllm-nightly-{measured}")
    } else {
        server.engine
    };
    let described = described(cells);
    let dtype = match (described, cells.text("precision")) {
        (Some([dtype, ..]), _) => dtype,
        // A model that is published in another format of 4 bits keeps it.
        (None, "fp4") => "nvfp4",
        (None, precision) => precision,
    };
    let kv_dtype = match (described, cells.text("kv_dtype")) {
        (Some([_, kv_dtype, ..]), "") if !kv_dtype.is_empty() => kv_dtype.to_owned(),
        _ => server.kv_dtype,
    };
    Ok(Server {
        dtype: dtype.to_owned(),
        kv_dtype,
        // The benchmark asks for temperature 0.
        sampler: "plain".to_owned(),
        engine,
        dp: cells.optional_whole("dp")?.unwrap_or(1),
        expert_parallel: is_set(cells, "expert_parallel")?,
        ..server
    })
}

/// Returns the limits of the server: the number of sequences never was one, and all prompts differ.
pub(crate) fn limits(cells: &Cells<'_>, limits: Limits) -> Result<Limits, Error> {
    let of_server = described(cells).and_then(|[.., budget, _]| budget.parse().ok());
    Ok(Limits {
        max_num_seqs: Some(cells.whole("concurrency")?.max(1)),
        prefix_caching: PrefixCaching::Disabled,
        max_num_batched_tokens: limits.max_num_batched_tokens.or(of_server).or(Some(MAX_NUM_BATCHED_TOKENS)),
        ..limits
    })
}

/// Reads a row.
pub(crate) fn run(cells: &Cells<'_>) -> Result<ClosedLoopRun, Error> {
    let left_out = [
        (is_set(cells, "suspect")?, "its source marks it as suspect"),
        (is_set(cells, "saturated")?, "its source marks it as saturated: a TTFT above 5 s"),
        (is_set(cells, "outlier")?, "its source marks it as an outlier: far from the same configuration on other days"),
    ];
    let (users, replicas) = (cells.whole("concurrency")?, cells.optional_whole("replicas")?.unwrap_or(1));
    let step_wait_us = cells.optional_number("step_wait_us")?.unwrap_or(0.0);
    Ok(ClosedLoopRun {
        users,
        replicas,
        step_wait_us,
        prompt: uniform(cells, "isl", "mean_prompt_tokens")?,
        output: uniform(cells, "osl", "mean_output_tokens")?,
        servers: match cells.optional_whole("dp")? {
            Some(2..) => "data-parallel servers",
            _ => described(cells).map_or("others", |[.., servers]| servers),
        },
        is_fitted: is_fitted(Kind::ClosedLoops, cells) || step_wait_us > 0.0 && (users, replicas) == (1, 1),
        left_out: left_out.into_iter().find_map(|(applies, reason)| applies.then_some(reason)),
        measured: Latencies {
            ttft_ms: cells.optional_finite("ttft_ms")?,
            tpot_ms: cells.optional_finite("tpot_ms")?,
            e2e_ms: None,
        },
    })
}

/// Reads the maximum and the mean of a length; without a mean, all are the maximum.
fn uniform(cells: &Cells<'_>, max: &'static str, mean: &'static str) -> Result<Uniform, Error> {
    let most = cells.whole(max)?;
    let Some(mean_tokens) = cells.optional_number(mean)? else {
        return Ok(Uniform { min: most, max: most });
    };
    let min = (2.0 * mean_tokens - f64::from(most)).round();
    if min >= 0.0 && min <= f64::from(most) {
        Ok(Uniform { min: min as u32, max: most })
    } else {
        Err(cells.refuse(mean, "a mean between half of the maximum and the maximum"))
    }
}

/// Returns formats of weights and KV entries (empty if 16 bits), token budget (empty if it is vLLM's) and group of the
/// row's server.
fn described(cells: &Cells<'_>) -> Option<[&'static str; 4]> {
    let key = ["gpu", "model", "precision"].map(|column| cells.text(column));
    SERVERS.lines().skip(1).find_map(|line| {
        let mut columns = line.splitn(8, ',');
        let is_of_model = key.iter().all(|cell| columns.next() == Some(cell));
        let engine = columns.next()?;
        let of_row = is_of_model && (engine.is_empty() || engine == cells.text("engine"));
        let mut described = [""; 4];
        for column in &mut described {
            *column = columns.next()?;
        }
        of_row.then_some(described)
    })
}

fn is_set(cells: &Cells<'_>, column: &'static str) -> Result<bool, Error> {
    Ok(cells.flag(column)?.unwrap_or(false))
}
