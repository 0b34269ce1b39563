//! The size of a KV cache.

use rooflut::engine::stacks;

use super::{Reason, ResolvedServer};
use crate::rows::{KvBlockCount, Limits};

/// The KV blocks of 16 tokens that the memory of the row's GPU leaves.
///
/// # Errors
/// Names that are not known, a model that does not fit or cannot be divided so.
pub fn kv_blocks(row: &KvBlockCount) -> Result<u32, Reason> {
    let deployment = ResolvedServer::find(&row.server)?;
    // Sequences take no memory of their own, and the rows do not say how many there were.
    let limits = Limits {
        max_num_seqs: Some(1),
        ..row.limits
    };
    let server = deployment.serve(&limits, &stacks::VLLM_0_15_1)?;
    Ok(server.memory_plan()?.kv_blocks)
}
