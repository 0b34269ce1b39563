//! KV cache size of a server.

use rooflut::engine::stacks;

use super::ResolvedServer;
use crate::reason::Reason;
use crate::rows::{Limits, Row};

/// Returns the number of KV blocks of 16 tokens that fit the memory of the row's GPU.
///
/// # Errors
/// An unknown name; a model that does not fit, or that `tp` GPUs cannot share.
pub(super) fn kv_blocks(row: &Row) -> Result<u32, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    // The memory plan does not depend on the number of sequences, and not every row gives it.
    let limits = Limits {
        max_num_seqs: Some(1),
        ..row.limits
    };
    let server = deployment.serve(&limits, &stacks::VLLM_0_15_1)?;
    Ok(server.memory_plan()?.kv_blocks)
}
