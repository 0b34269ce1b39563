//! How a `config.json` is read.

use rooflut::hardware::Dtype;

/// How a `config.json` is read: by default as the model type and with the formats that the file names.
///
/// ```
/// use rooflut_hf_config::{Options, read};
/// let text = r#"{"model_type": "new", "hidden_size": 4096, "num_hidden_layers": 32,
///     "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
///     "max_position_embeddings": 4096}"#;
/// assert!(read(text, Options::default()).is_err());
/// let model = read(text, Options::default().assuming_llama())?;
/// assert_eq!(model.spec.layers.total(), 32);
/// # Ok::<(), rooflut_hf_config::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'t> {
    pub(crate) hf_quant_config: Option<&'t [u8]>,
    pub(crate) generation_config: Option<&'t [u8]>,
    pub(crate) weight_dtype: Option<Dtype>,
    pub(crate) kv_dtype: Option<Dtype>,
    pub(crate) assume_llama: bool,
    pub(crate) memory_only: bool,
}

impl<'t> Options<'t> {
    /// Sets the text of the `hf_quant_config.json` beside the file. It has the formats where the file has none.
    #[must_use]
    pub fn with_hf_quant_config(self, text: Option<&'t [u8]>) -> Options<'t> {
        Options { hf_quant_config: text, ..self }
    }

    /// Sets the text of the `generation_config.json` beside the file, which has the sampling of the tokens. Without
    /// this text, sampling is plain.
    #[must_use]
    pub fn with_generation_config(self, text: Option<&'t [u8]>) -> Options<'t> {
        Options { generation_config: text, ..self }
    }

    /// Replaces the file's format of the weights, by the rules of
    /// [`ModelSpec::with_weight_dtype`](rooflut::model::ModelSpec::with_weight_dtype).
    #[must_use]
    pub fn with_weight_dtype(self, dtype: Option<Dtype>) -> Options<'t> {
        Options { weight_dtype: dtype, ..self }
    }

    /// Replaces the file's format of the KV entries.
    #[must_use]
    pub fn with_kv_dtype(self, dtype: Option<Dtype>) -> Options<'t> {
        Options { kv_dtype: dtype, ..self }
    }

    /// Reads a file of any type as a Llama's, or as a Mixtral's if the model has experts, and ignores the keys that
    /// such a model does not have.
    #[must_use]
    pub fn assuming_llama(self) -> Options<'t> {
        Options { assume_llama: true, ..self }
    }

    /// Reads weights in a format that no kernel table has as weights in a format with as many bits. The result is only
    /// good for the memory that the weights take ([`HfModel::stand_in`](crate::HfModel::stand_in)).
    #[must_use]
    pub fn for_memory_only(self) -> Options<'t> {
        Options { memory_only: true, ..self }
    }
}
