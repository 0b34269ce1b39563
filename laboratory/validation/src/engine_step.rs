//! Steps of engines: rows of `steps_b300_vllm_0.20.1.csv`.

use rooflut_error::Error;

use crate::cells::Cells;
use crate::fitted::is_fitted;
use crate::kind::Kind;
use crate::rows::{EngineStep, Server};

/// Names the engine and what is particular to the server; reports add model, GPU and tensor parallelism.
pub(crate) fn id(cells: &Cells<'_>, server: &Server) -> Result<String, Error> {
    let mut id = server.engine.clone();
    if let Some(dp) = cells.optional_whole("dp")?.filter(|dp| *dp != 1) {
        id += &format!(" dp {dp}");
    }
    if server.expert_parallel {
        id += " ep";
    }
    Ok(format!("{id} {}", cells.text("variant")).trim_end().to_owned())
}

/// Returns the server of a row; the published file leaves out GPU and engine, which are all of one kind.
pub(crate) fn server(cells: &Cells<'_>, server: Server) -> Result<Server, Error> {
    let or = |given: String, published: &str| if given.is_empty() { published.to_owned() } else { given };
    Ok(Server {
        gpu: or(server.gpu, "b300"),
        engine: or(server.engine, "vllm-0.20.1"),
        dp: cells.optional_whole("dp")?.unwrap_or(1),
        expert_parallel: cells.flag("expert_parallel")?.unwrap_or(false),
        ..server
    })
}

/// Reads the step of a row.
pub(crate) fn step(cells: &Cells<'_>) -> Result<EngineStep, Error> {
    let cached = cells.optional_whole("prefill_cached_tokens")?;
    Ok(EngineStep {
        decode_requests: cells.whole("decode_requests")?,
        decode_kv_tokens: cells.whole("decode_kv_tokens")?,
        prefill_requests: cells.whole("prefill_requests")?,
        prefill_tokens: cells.whole("prefill_tokens")?,
        prefill_cached_tokens: cached.unwrap_or(0),
        servers: match cells.optional_whole("dp")? {
            Some(2..) => "data-parallel ranks",
            _ => "one rank",
        },
        is_fitted: is_fitted(Kind::EngineSteps, cells),
        is_suspect: cells.flag("suspect")?.unwrap_or(false),
        latency_ms: cells.optional_finite("latency_ms")?,
    })
}
