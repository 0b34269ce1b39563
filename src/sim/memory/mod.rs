//! The KV blocks of a server: their pool, and the ids of their contents.

pub(super) mod block_pool;
pub(super) mod content;
