//! Settings of a server, each declared once.

use super::DeploymentBuilder;
use crate::engine::{PrefixCaching, Scheduling, SchedulingPolicy};

/// Declares the settings: the fields of [`ServerOptions`], and the methods of [`DeploymentBuilder`] that set them.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $(#[cfg_attr($($attribute:tt)+)])* $name:ident: $type:ty,)+) => {
        /// Limits and policies of a server, named as in vLLM. `None` stands for the default; that of the engine on a GPU is
        /// in [`ServeDefaults`](crate::engine::ServeDefaults).
        ///
        /// A [`DeploymentBuilder`] takes them one by one or together ([`server`](DeploymentBuilder::server)), and
        /// [`Deployment::server_options`](super::Deployment::server_options) returns them with the defaults filled in. Only
        /// the server of feature `sim` reads the policies.
        ///
        /// ```
        /// use rooflut::deployment::ServerOptions;
        /// use rooflut::table::sets;
        /// use rooflut::{Deployment, model};
        ///
        /// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
        /// let on_h100 = Deployment::builder(llama.spec, &sets::H100);
        /// let limits = |deployment: rooflut::deployment::DeploymentBuilder| {
        ///     let limits = *deployment.build()?.memory_limits();
        ///     Ok::<_, rooflut::Error>((limits.max_num_seqs, limits.max_num_batched_tokens))
        /// };
        /// assert_eq!(limits(on_h100.clone())?, (1_024, 8_192));
        /// assert_eq!(limits(on_h100.clone().max_num_seqs(128))?, (128, 8_192));
        /// let mut small = ServerOptions::default();
        /// small.max_num_batched_tokens = Some(512);
        /// assert_eq!(limits(on_h100.server(small))?, (512, 512));
        /// # Ok::<(), rooflut::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(transform = filled_in))]
        pub struct ServerOptions {
            $($(#[doc = $doc])+ $(#[cfg_attr($($attribute)+)])* pub $name: Option<$type>,)+
        }

        impl ServerOptions {
            /// Names of the settings, in order.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];
        }

        impl DeploymentBuilder {
            /// Sets limits and policies of the server.
            pub fn server(mut self, options: ServerOptions) -> Self {
                self.options = options;
                self
            }

            $(
                #[doc = concat!("Sets [`", stringify!($name), "`](ServerOptions::", stringify!($name), ").")]
                pub fn $name(mut self, $name: impl Into<Option<$type>>) -> Self {
                    self.options.$name = $name.into();
                    self
                }
            )+
        }
    };
}

settings! {
    /// Number of KV blocks; default: as many as fit into memory. A given number is not checked against the memory.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(skip))]
    kv_blocks: u32,
    /// Tokens in a KV block; default: 16.
    block_size: u32,
    /// Maximum number of running requests; default: that of the engine on this GPU, or what the token budget holds, drafts
    /// included.
    max_num_seqs: u32,
    /// Maximum number of tokens in a step; default: that of the engine on this GPU.
    max_num_batched_tokens: u32,
    /// Share of each GPU's memory that the engine uses, above 0, at most 1; default: that of the engine.
    gpu_memory_utilization: f64,
    /// Largest CUDA graph, in tokens; default: what the engine captures with these limits, or 0 if it captures none.
    cuda_graph_max_tokens: u32,
    /// Maximum number of tokens of one prompt in a step; default: the budget of the step.
    long_prefill_token_threshold: u32,
    /// Maximum length of a request, prompt plus output; default: that of the model, or of the draft model if it is
    /// shorter, or what the KV cache holds. A value above the model's own is accepted, as with vLLM's
    /// `VLLM_ALLOW_LONG_MAX_MODEL_LEN`.
    max_model_len: u32,
    /// When the batch of a step is fixed; default: as in the engine, with speculative decoding as its `DraftScheduling`
    /// allows.
    #[cfg_attr(feature = "schema", schemars(with = "Option<&'static str>"))]
    scheduling: Scheduling,
    /// Whether a request is admitted only if the KV blocks of its whole prompt are free; default: as in the engine.
    scheduler_reserve_full_isl: bool,
    /// Order in which waiting requests are admitted; default: first come, first served.
    #[cfg_attr(feature = "schema", schemars(with = "Option<&'static str>"))]
    policy: SchedulingPolicy,
    /// Maximum queue length; default: no limit. Requests that arrive when the queue is full are rejected.
    max_waiting: u32,
    /// Whether freed KV blocks keep their contents until they are reused; default: they do, but for a model whose layers
    /// keep states (`is_prefix_caching_supported` in `vllm/config/model.py`).
    #[cfg_attr(feature = "schema", schemars(with = "Option<&'static str>"))]
    prefix_caching: PrefixCaching,
    /// Share of the KV blocks that admission leaves free while requests run; default: 0.
    watermark: f64,
}

/// Describes the settings as reports print them: filled in, but for two limits that a server may lack.
#[cfg(feature = "schema")]
fn filled_in(schema: &mut schemars::Schema) {
    let properties = schema.get_mut("properties").and_then(|properties| properties.as_object_mut());
    for (name, property) in properties.into_iter().flatten() {
        let Some(setting) = property.as_object_mut() else { continue };
        if let Some(value) = setting.get("type").and_then(|types| types.get(0)).cloned()
            && !["long_prefill_token_threshold", "max_waiting"].contains(&name.as_str())
        {
            setting.insert("type".into(), value);
            setting.remove("default");
        }
    }
}
