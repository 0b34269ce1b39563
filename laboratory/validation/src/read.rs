//! Reads a file of measurements, whose kind follows from its columns.

use std::collections::BTreeMap;

use rooflut::sim::PrefixCaching;
use rooflut_error::Error;

use crate::cells::{Cells, Sheet};
use crate::closed_loop;
use crate::dataset::Dataset;
use crate::engine_step;
use crate::kind::{self, Kind};
use crate::rows::{
    DecodeStep, Label, Latencies, Limits, LoadStage, Measurement, MemoryParts, ReplayedRequest, Row, Server,
    SoloRequest, Stage,
};
use crate::tally::shortened;

/// Reads the contents of `file`, text or bytes: comma-separated values with a header.
///
/// The kind of the file follows from its columns, in any order. Other columns are ignored, and optional
/// ones may be missing or have empty cells.
///
/// # Errors
/// The contents are not a table of a known kind, or a cell that must be a number is not. Names in a row
/// (model, GPU, ...) are not checked.
pub fn read(file: &str, contents: impl AsRef<[u8]>) -> Result<Dataset, Error> {
    let sheet = Sheet::read(file, contents.as_ref())?;
    let kind = kind_of(&sheet)?;
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut rows = Vec::new();
    for cells in sheet.rows()? {
        let mut server = server(&cells)?;
        let mut limits = limits(&cells)?;
        if kind == Kind::ClosedLoops {
            server = closed_loop::server(&cells, server)?;
            limits = closed_loop::limits(&cells, limits)?;
        }
        if kind == Kind::Memory {
            limits = serve_defaults(limits);
            // A byte for a weight and a scale for each channel, as `fp8` has.
            if server.dtype == "int8" {
                server.dtype = "fp8".to_owned();
            }
        }
        if kind == Kind::EngineSteps {
            server = engine_step::server(&cells, server)?;
        }
        let id = match kind {
            Kind::LoadStages => cells.text("id").to_owned(),
            Kind::KvBlocks => format!("{} tp{} {}", server.model, server.tp, server.engine),
            Kind::Memory => match cells.text("checkpoint") {
                "" => server.model.clone(),
                checkpoint => checkpoint.to_owned(),
            },
            Kind::ClosedLoops => closed_loop::id(&cells)?,
            Kind::EngineSteps => engine_step::id(&cells, &server)?,
            _ => cells.text("experiment").to_owned(),
        };
        let place = seen.entry(id.clone()).or_default();
        let stage = stage(cells.text("stage"), *place);
        *place += 1;
        let line = cells.line();
        rows.push(Row { label: Label { id, stage, line }, server, limits, measurement: measurement(kind, &cells)? });
    }
    Ok(Dataset { file: file.to_owned(), kind, rows })
}

fn kind_of(sheet: &Sheet<'_>) -> Result<Kind, Error> {
    let header = sheet.header();
    let complete = Kind::ALL.map(|kind| kind.missing(&header).is_empty().then_some(kind));
    let mut kinds = complete.into_iter().flatten();
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => Ok(kind),
        (Some(first), Some(second)) => Err(sheet.header_error(format!(
            "expected the columns of one kind of file, found those of {} and of {}; remove the columns of one",
            first.file(),
            second.file()
        ))),
        (None, _) => Err(sheet.header_error(unknown(&header))),
    }
}

/// Most columns that a message lists.
const MAX_COLUMNS: usize = 8;

fn unknown(header: &[&str]) -> String {
    let lacks = |kind: &Kind| kind.missing(header).len();
    let nearest = Kind::ALL.into_iter().min_by_key(lacks).unwrap_or(Kind::LoadStages);
    let found = header.iter().take(MAX_COLUMNS);
    let found: Vec<String> = found.map(|column| shortened(column)).collect();
    let more = if header.len() > MAX_COLUMNS { ", ..." } else { "" };
    format!(
        "expected the columns of {}, found {}{more}; nearest is {}: add {}",
        kind::files(),
        found.join(", "),
        nearest.file(),
        nearest.missing(header).join(", ")
    )
}

fn stage(text: &str, place: u64) -> Stage {
    match (text, text.parse()) {
        ("", _) => Stage::Number(place),
        (_, Ok(number)) => Stage::Number(number),
        (name, Err(_)) => Stage::Name(name.to_owned()),
    }
}

fn server(cells: &Cells<'_>) -> Result<Server, Error> {
    Ok(Server {
        gpu: cells.text("gpu").to_owned(),
        model: cells.text("model").to_owned(),
        dtype: cells.text("dtype").to_owned(),
        kv_dtype: match cells.text("kv_dtype") {
            "" => cells.text("kv_cache_dtype").to_owned(),
            kv_dtype => kv_dtype.to_owned(),
        },
        sampler: cells.text("sampler").to_owned(),
        tp: cells.whole("tp")?,
        pp: cells.optional_whole("pp")?.unwrap_or(1),
        dp: 1,
        expert_parallel: false,
        engine: cells.text("engine").to_owned(),
        tables: None,
    })
}

fn limits(cells: &Cells<'_>) -> Result<Limits, Error> {
    Ok(Limits {
        max_model_len: cells.optional_whole("max_model_len")?,
        max_num_seqs: cells.optional_whole("max_num_seqs")?,
        max_num_batched_tokens: cells.optional_whole("max_num_batched_tokens")?,
        gpu_memory_utilization: cells.optional_number("gpu_memory_utilization")?,
        kv_blocks: cells.optional_whole("kv_blocks")?,
        prefix_caching: if cells.flag("prefix_caching")?.unwrap_or(true) {
            PrefixCaching::Enabled
        } else {
            PrefixCaching::Disabled
        },
    })
}

/// Returns the limits with those that vLLM's server takes on GPUs with 70 GiB and more where the row has none.
fn serve_defaults(limits: Limits) -> Limits {
    Limits {
        max_num_seqs: limits.max_num_seqs.or(Some(1_024)),
        max_num_batched_tokens: limits.max_num_batched_tokens.or(Some(8_192)),
        ..limits
    }
}

fn measurement(kind: Kind, cells: &Cells<'_>) -> Result<Measurement, Error> {
    let cached = || cells.optional_whole("cached_prompt_tokens");
    Ok(match kind {
        Kind::LoadStages => Measurement::LoadStage(LoadStage {
            arrival: cells.text("arrival").to_owned(),
            rate_rps: cells.number("rate_rps")?,
            duration_s: cells.number("duration_s")?,
            prompt_tokens: cells.whole("prompt_tokens")?,
            cached_prompt_tokens: cached()?.unwrap_or(0),
            distinct_prompts: cells.optional_whole("distinct_prompts")?,
            output_tokens: cells.whole("output_tokens")?,
            measured: latencies(cells, ["ttft_mean_ms", "tpot_mean_ms", "e2e_mean_ms"])?,
            ttft_p50_ms: cells.optional_finite("ttft_p50_ms")?,
            ttft_p90_ms: cells.optional_finite("ttft_p90_ms")?,
        }),
        Kind::Requests => Measurement::Request(ReplayedRequest {
            shared_prefix_tokens: cells.optional_whole("shared_prefix_tokens")?.unwrap_or(0),
            arrival_ms: cells.number("arrival_ms")?,
            prompt_tokens: cells.whole("prompt_tokens")?,
            output_tokens: cells.whole("output_tokens")?,
            measured: latencies(cells, ["ttft_ms", "tpot_ms", "e2e_ms"])?,
        }),
        Kind::SoloRequests => Measurement::SoloRequest(SoloRequest {
            prompt_tokens: cells.whole("prompt_tokens")?,
            cached_prompt_tokens: cached()?.unwrap_or(0),
            mean_context_tokens: cells.optional_finite("mean_context_tokens")?,
            prefill_ms: cells.optional_finite("prefill_ms")?,
            tpot_ms: cells.optional_finite("tpot_ms")?,
        }),
        Kind::DecodeSteps => Measurement::DecodeStep(DecodeStep {
            decode_requests: cells.whole("decode_requests")?,
            mean_context_tokens: cells.finite("mean_context_tokens")?,
            step_ms: cells.optional_finite("step_ms")?,
        }),
        Kind::ClosedLoops => Measurement::ClosedLoop(closed_loop::run(cells)?),
        Kind::EngineSteps => Measurement::EngineStep(engine_step::step(cells)?),
        Kind::KvBlocks => Measurement::KvBlocks(cells.optional_finite("kv_blocks_16_tokens")?),
        Kind::Memory => Measurement::Memory(MemoryParts {
            weights_gib: cells.optional_finite("weights_memory_gib")?,
            activations_gib: cells.optional_finite("activation_memory_gib")?,
            non_torch_gib: cells.optional_finite("non_torch_forward_gib")?,
            kv_blocks: cells.optional_finite("kv_cache_blocks")?,
        }),
    })
}

/// Reads the columns of TTFT, TPOT and E2E.
fn latencies(cells: &Cells<'_>, columns: [&'static str; 3]) -> Result<Latencies, Error> {
    let [ttft, tpot, e2e] = columns;
    Ok(Latencies {
        ttft_ms: cells.optional_finite(ttft)?,
        tpot_ms: cells.optional_finite(tpot)?,
        e2e_ms: cells.optional_finite(e2e)?,
    })
}
