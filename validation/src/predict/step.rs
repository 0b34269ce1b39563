//! Single steps: nothing but the step model.

use rooflut::model::MemoryLimits;
use rooflut::sim::SimError;
use rooflut::step::{Chunk, DecodeGroup, LatencyModel, RooflineModel, StepBatch};

use super::{Deployment, Reason};
use crate::rows::{DecodeStep, Limits, SoloRequest};
use rooflut::engine::EngineStack;

/// Predictions for a request that runs alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solo {
    /// Sum of the steps of its prompt.
    pub prefill_ms: f64,
    /// One decode step at its mean KV length; `None` where the row does not give that.
    pub tpot_ms: Option<f64>,
}

/// Predicts the steps of a request that runs alone.
///
/// # Errors
/// Names that are not known, tables that lack a kernel, a prompt without tokens to compute or longer
/// than a request may be.
pub fn solo_request(row: &SoloRequest, engine: &EngineStack) -> Result<Solo, Reason> {
    let deployment = Deployment::find(&row.server)?;
    let budget = budget(&row.limits)?;
    deployment.check_length(row.prompt_tokens, &row.limits)?;
    let model = deployment.step_model(engine)?;
    let tpot = row
        .mean_context_tokens
        .map(|context| decode_ms(&model, 1, context));
    Ok(Solo {
        prefill_ms: prefill_ms(&model, row, budget)?,
        tpot_ms: tpot.transpose()?,
    })
}

/// Predicts a step in which every request decodes, in milliseconds.
///
/// # Errors
/// Names that are not known, tables that lack a kernel, no request.
pub fn decode_step(row: &DecodeStep, engine: &EngineStack) -> Result<f64, Reason> {
    let model = Deployment::find(&row.server)?.step_model(engine)?;
    decode_ms(&model, row.decode_requests, row.mean_context_tokens)
}

/// Tokens of a step.
fn budget(limits: &Limits) -> Result<u32, Reason> {
    let default = MemoryLimits::default().max_num_batched_tokens;
    match limits.max_num_batched_tokens.unwrap_or(default) {
        0 => Err(Reason::Sim(SimError::ZeroLimit {
            limit: "max_num_batched_tokens",
        })),
        budget => Ok(budget),
    }
}

/// Time of a prompt in chunks of at most `budget` tokens, of which the last samples a token.
fn prefill_ms(model: &RooflineModel, row: &SoloRequest, budget: u32) -> Result<f64, Reason> {
    if row.prompt_tokens == 0 {
        return Err(Reason::NoTokens);
    }
    let mut context = row.cached_prompt_tokens;
    let mut total_ms = 0.0;
    if context >= row.prompt_tokens {
        return Err(Reason::WholePromptCached);
    }
    while context < row.prompt_tokens {
        let left = row.prompt_tokens - context;
        let chunk = Chunk {
            new: left.min(budget),
            context,
            samples: u32::from(left <= budget),
        };
        let batch = StepBatch {
            prefill: &[chunk],
            decode: &[],
        };
        total_ms += model.step_time(&batch).total().ms();
        context += chunk.new;
    }
    Ok(total_ms)
}

/// Time of a step in which `requests` decode at a mean KV length of `mean_context`.
fn decode_ms(model: &RooflineModel, requests: u32, mean_context: f64) -> Result<f64, Reason> {
    if requests == 0 {
        return Err(Reason::NoTokens);
    }
    let group = DecodeGroup {
        requests,
        kv_tokens: (f64::from(requests) * mean_context).round() as u64,
    };
    let batch = StepBatch {
        prefill: &[],
        decode: &[group],
    };
    Ok(model.step_time(&batch).total().ms())
}
