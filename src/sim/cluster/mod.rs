//! Several servers: replicas behind a router, and prefill and decode on servers of their own.

mod disaggregated;
mod kv_link;
mod pool;
mod replicas;
mod router;
mod two_stages;

pub use disaggregated::{Disaggregated, ServerPool};
pub use kv_link::KvLink;
pub use replicas::Cluster;
pub use router::Router;
