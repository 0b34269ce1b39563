//! Several servers: equal or unlike ones behind a router, and separate prefill and decode servers.

mod disaggregated;
mod earliest;
mod kv_link;
mod lockstep;
mod losses;
mod member;
mod outage;
mod pool;
mod prefilled;
mod rank_group;
mod replicas;
mod router;
mod server_pool;
mod two_stages;

pub use disaggregated::Disaggregated;
pub use kv_link::{KvLink, LinkQueue, Transfer};
pub use lockstep::Lockstep;
pub use outage::Outage;
pub use replicas::Cluster;
pub use router::Router;
pub use server_pool::ServerPool;
