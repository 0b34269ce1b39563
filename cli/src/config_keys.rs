//! What the dimensions of a model are called in its `config.json`.

use rooflut::model::SpecError;

/// The keys of a `config.json` that differ from file to file; the others have one name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    /// Where the number of KV heads stands.
    pub(crate) kv_heads: &'static str,
    /// Where the dimension of a head stands.
    pub(crate) head_dim: &'static str,
    /// Where the intermediate size of the FFN, or of an expert, stands.
    pub(crate) intermediate: &'static str,
    /// Where the number of experts stands.
    pub(crate) experts: &'static str,
    /// Where the width of the shared expert stands.
    pub(crate) shared_intermediate: &'static str,
    /// What limits a sequence.
    pub(crate) max_model_len: &'static str,
}

impl Keys {
    /// The error with the keys of the file in the place of field names.
    pub(crate) fn rename(&self, error: SpecError) -> SpecError {
        match error {
            SpecError::Zero { field } => SpecError::Zero {
                field: self.key(field),
            },
            SpecError::TooLarge {
                field,
                found,
                limit,
            } => SpecError::TooLarge {
                field: self.key(field),
                found,
                limit,
            },
            SpecError::NotDivisible {
                field,
                found,
                by,
                divisor,
            } => SpecError::NotDivisible {
                field: self.key(field),
                found,
                by: self.key(by),
                divisor,
            },
            other => other,
        }
    }

    fn key(&self, field: &'static str) -> &'static str {
        match field {
            "hidden" => "hidden_size",
            "layers" => "num_hidden_layers",
            "q_heads" => "num_attention_heads",
            "kv_heads" => self.kv_heads,
            "head_dim" => self.head_dim,
            "vocab" => "vocab_size",
            "max_model_len" => self.max_model_len,
            "intermediate" => self.intermediate,
            "experts" => self.experts,
            "top_k" => TOP_K,
            "shared_intermediate" => self.shared_intermediate,
            other => other,
        }
    }
}

/// Where the number of experts that a token visits stands.
pub(crate) const TOP_K: &str = "num_experts_per_tok";
