//! The KV blocks of a server and their contents.

pub(super) mod block_pool;
pub(super) mod blocks;
pub(super) mod content;
