//! The KV cache of a server: block pool, blocks of requests, ids of their contents.

pub(super) mod block_pool;
pub(super) mod blocks;
pub(super) mod content;
