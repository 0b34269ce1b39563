//! Several servers: replicas behind a router, and separate prefill and decode servers.

mod disaggregated;
mod earliest;
mod kv_link;
mod lockstep;
mod pool;
mod replicas;
mod router;
mod two_stages;

pub use disaggregated::{Disaggregated, ServerPool};
pub use kv_link::KvLink;
pub use lockstep::Lockstep;
pub use replicas::Cluster;
pub use router::Router;
