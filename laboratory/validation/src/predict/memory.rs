//! Memory of a server.

use rooflut::engine::EngineStack;
use rooflut::model::MemoryPlan;

use super::ResolvedServer;
use super::run::Predicted;
use crate::compare::Metric;
use crate::pair::Pair;
use crate::reason::Reason;
use crate::rows::{MemoryParts, Row};

const GIB: f64 = 1_073_741_824.0;

/// Predicts the KV blocks of 16 tokens that fit the memory of the row's GPU.
///
/// # Errors
/// An unknown name; a model that does not fit, or that `tp` GPUs cannot share.
pub(super) fn kv_blocks(row: &Row, measured: Option<f64>, engine: &EngineStack) -> Result<Vec<Predicted>, Reason> {
    let plan = plan(row, engine)?;
    let blocks = Pair::new(Metric::KvBlocks, f64::from(plan.kv_blocks), measured);
    Ok(vec![Ok(vec![blocks])])
}

/// Predicts the parts of the memory of a GPU. With several pipeline stages only the KV memory is compared, which is that
/// of the stage with room for the fewest blocks: the other parts in a log may be those of another stage.
///
/// # Errors
/// As [`kv_blocks`].
pub(super) fn parts(row: &Row, measured: &MemoryParts, engine: &EngineStack) -> Result<Vec<Predicted>, Reason> {
    let plan = plan(row, engine)?;
    let block_gib = plan.bytes_per_block / GIB;
    let of_any_stage = [
        (Metric::Weights, plan.weight_bytes, measured.weights_gib),
        (Metric::Activations, plan.activation_bytes, measured.activations_gib),
        (Metric::NonTorch, plan.overhead_bytes, measured.non_torch_gib),
    ];
    let parts = of_any_stage
        .into_iter()
        .filter(|_| row.server.pp == 1)
        .map(|(metric, bytes, measured)| Pair::new(metric, bytes / GIB, measured));
    let held = measured.kv_blocks.map(|blocks| blocks * block_gib);
    let planned = f64::from(plan.kv_blocks) * block_gib;
    let kv_memory = Pair::new(Metric::KvMemory, planned, held);
    Ok(vec![Ok(parts.chain([kv_memory]).collect())])
}

/// Returns the memory of the row's GPU, whether or not the tables know the kernels of the model.
fn plan(row: &Row, engine: &EngineStack) -> Result<MemoryPlan, Reason> {
    let server = ResolvedServer::find(&row.server)?;
    Ok(*server.server(&row.limits, engine).capacity()?.memory())
}
