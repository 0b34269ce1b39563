//! The size of a KV cache.

use super::{Deployment, Reason};
use crate::rows::KvBlockCount;

/// The KV blocks of 16 tokens that the memory of the row's GPU leaves.
///
/// # Errors
/// Names that are not known, a model that does not fit or cannot be divided so.
pub fn kv_blocks(row: &KvBlockCount) -> Result<u32, Reason> {
    Deployment::find(&row.server)?.planned_kv_blocks(&row.limits)
}
