//! Predicts single steps, with the step model alone.

use rooflut::model::MemoryLimits;
use rooflut::sim::SimError;
use rooflut::step::{Chunk, DecodeGroup, RooflineModel, StepBatch, StepModel};

use super::{Reason, ResolvedServer, cached};
use crate::rows::{DecodeStep, Limits, SoloRequest};
use rooflut::engine::EngineStack;

/// Predictions for a request that runs alone.
#[derive(Debug, Clone)]
pub struct Solo {
    /// Total time of the steps of its prompt.
    pub prefill_ms: f64,
    /// Time of a decode step at its mean KV length; `None` if the row does not give that length.
    ///
    /// # Errors
    /// The length is not that of a request.
    pub tpot_ms: Result<Option<f64>, Reason>,
}

/// Predicts the steps of a request that runs alone.
///
/// # Errors
/// An unknown name, tables that lack a kernel, or a prompt that is empty, longer than `max_model_len` or
/// shorter than its cached part.
pub fn solo_request(row: &SoloRequest, engine: &EngineStack) -> Result<Solo, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    let budget = budget(&row.limits)?;
    deployment.check_length(row.prompt_tokens, &row.limits)?;
    let deployed = deployment.deploy(engine)?;
    let model = deployed.step_model();
    let tpot_ms = |context| {
        deployment.check_context(context, &row.limits)?;
        decode_ms(model, 1, context)
    };
    Ok(Solo {
        prefill_ms: prefill_ms(model, row, budget)?,
        tpot_ms: row.mean_context_tokens.map(tpot_ms).transpose(),
    })
}

/// Predicts the time of a step in which every request decodes, in milliseconds.
///
/// # Errors
/// An unknown name, tables that lack a kernel, no request, or more or longer requests than a server
/// takes.
pub fn decode_step(row: &DecodeStep, engine: &EngineStack) -> Result<f64, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    if row.decode_requests == 0 {
        return Err(Reason::NoTokens);
    }
    let most = row.limits.max_num_seqs.unwrap_or(MAX_REQUESTS);
    if row.decode_requests > most {
        return Err(Reason::TooManyInStep { most });
    }
    deployment.check_context(row.mean_context_tokens, &row.limits)?;
    let deployed = deployment.deploy(engine)?;
    let (requests, context) = (row.decode_requests, row.mean_context_tokens);
    decode_ms(deployed.step_model(), requests, context)
}

/// Limit on the requests of a step: several times the `max_num_seqs` of any server.
const MAX_REQUESTS: u32 = 8192;

/// Token budget of a step.
fn budget(limits: &Limits) -> Result<u32, Reason> {
    let default = MemoryLimits::default().max_num_batched_tokens;
    match limits.max_num_batched_tokens.unwrap_or(default) {
        0 => Err(Reason::Sim(SimError::ZeroLimit {
            limit: "max_num_batched_tokens",
        })),
        budget => Ok(budget),
    }
}

/// Returns the time of a prompt in chunks of at most `budget` tokens; the last chunk samples a token.
fn prefill_ms(model: &RooflineModel, row: &SoloRequest, budget: u32) -> Result<f64, Reason> {
    if row.prompt_tokens == 0 {
        return Err(Reason::NoTokens);
    }
    let mut context = cached::reused(row.cached_prompt_tokens, row.prompt_tokens)?;
    let mut total_ms = 0.0;
    while context < row.prompt_tokens {
        let new = (row.prompt_tokens - context).min(budget);
        context += new;
        let chunk = if context == row.prompt_tokens {
            Chunk::last(new, context)
        } else {
            Chunk::partial(new, context)
        };
        let batch = StepBatch {
            prefill: &[chunk.map_err(|_| Reason::NoTokens)?],
            decode: &[],
        };
        total_ms += model.step_time(&batch).total().ms();
    }
    Ok(total_ms)
}

/// Returns the time of a step in which `requests` decode at a mean KV length of `mean_context`.
fn decode_ms(model: &RooflineModel, requests: u32, mean_context: f64) -> Result<f64, Reason> {
    let kv_tokens = (f64::from(requests) * mean_context).round() as u64;
    let group = DecodeGroup::from_sum(requests, kv_tokens);
    let batch = StepBatch {
        prefill: &[],
        decode: &[group.map_err(|_| Reason::ContextNotPositive)?],
    };
    Ok(model.step_time(&batch).total().ms())
}
