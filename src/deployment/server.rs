//! The server of a deployment.

use super::{Deployment, DeploymentBuilder, DeploymentError};
use crate::model::MemoryError;
use crate::sim::{Scheduling, SimConfig};

impl Deployment {
    /// The limits of its server, KV blocks and API server included.
    ///
    /// # Errors
    /// [`MemoryError::DoesNotFit`]: `kv_blocks` were not given, and the memory leaves none.
    pub fn server_config(&self) -> Result<SimConfig, MemoryError> {
        let kv_blocks = match self.given.kv_blocks {
            Some(blocks) => blocks,
            None => self.memory_plan()?.kv_blocks,
        };
        Ok(self.given.server_config(self.max_model_len(), kv_blocks))
    }

    /// Checks the limits of the server, whatever the memory leaves.
    pub(super) fn check_server(&self) -> Result<(), DeploymentError> {
        let DeploymentBuilder {
            draft,
            config,
            kv_blocks,
            ..
        } = &self.given;
        if draft.is_some() && config.speculation.is_none() {
            return Err(DeploymentError::DraftWithoutSpeculation);
        }
        let config = self
            .given
            .server_config(self.max_model_len(), kv_blocks.unwrap_or(1));
        config.validate().map_err(DeploymentError::Limits)
    }
}

impl DeploymentBuilder {
    fn server_config(&self, max_model_len: u32, kv_blocks: u32) -> SimConfig {
        let mut config = self.config.with_engine(&self.engine);
        config.max_model_len = max_model_len;
        config.kv_blocks = kv_blocks;
        config.block_size = self.memory.block_size;
        config.max_num_batched_tokens = self.memory.max_num_batched_tokens;
        if config.speculation.is_some() {
            config.scheduling = Scheduling::Synchronous;
        }
        if let Some(scheduling) = self.scheduling {
            config.scheduling = scheduling;
        }
        config
    }
}
