//! The measurements that come with the project.

use crate::closed_loop;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::kind::Kind;
use crate::read::read;

/// Returns the measurements that come with the project, one dataset of each kind. The crate's README
/// names their sources.
///
/// # Errors
/// Never, as a test asserts.
pub fn embedded() -> Result<Vec<Dataset>, Error> {
    let files = Kind::ALL.map(|kind| read(kind.file(), text(kind)));
    files.into_iter().collect()
}

const fn text(kind: Kind) -> &'static str {
    match kind {
        Kind::LoadStages => include_str!("../experiments.csv"),
        Kind::Requests => include_str!("../requests.csv"),
        Kind::SoloRequests => include_str!("../solo_requests.csv"),
        Kind::DecodeSteps => include_str!("../decode_steps.csv"),
        Kind::KvBlocks => include_str!("../kv_blocks.csv"),
        Kind::ClosedLoops => closed_loop::SHIPPED,
        Kind::EngineSteps => include_str!("../steps_b300_vllm_0.20.1.csv"),
    }
}
