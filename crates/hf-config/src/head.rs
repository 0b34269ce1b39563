//! EAGLE-3 heads.

use rooflut::model::ModelSpecBuilder;

use crate::error::ConfigError;
use crate::keys::{Dimension, Field};
use crate::object::{Object, shown};

/// Hidden states of the target where the file does not say how many.
const AUX_STATES: u32 = 3;
/// Keys of the experts of the target in files of heads, which are dense.
const EXPERTS: [&str; 6] = [
    "moe_intermediate_size",
    "moe_layer_freq",
    "n_routed_experts",
    "n_shared_experts",
    "num_experts_per_tok",
    "num_local_experts",
];

/// Returns the architecture of the head that a file describes; `None` for a file of another model. Refuses heads of other
/// kinds.
pub(crate) fn architecture<'j>(outer: &Object<'j>) -> Result<Option<&'j str>, ConfigError> {
    const KINDS: [&str; 2] = ["speculators_model_type", "architectures"];
    let [kind, architecture] = [outer.text(KINDS[0])?, outer.texts(KINDS[1])?.first().copied()];
    let is_head = |name: &str| name.starts_with("Eagle3") || name.ends_with("Eagle3");
    let other = match (kind, architecture) {
        (Some("eagle3"), name) => return Ok(Some(name.unwrap_or_default())),
        (Some(kind), _) => (KINDS[0], kind),
        (None, Some(name)) if is_head(name) => return Ok(Some(name)),
        (None, Some(name)) if name.to_ascii_lowercase().contains("eagle") => (KINDS[1], name),
        _ => return Ok(None),
    };
    let feature = format!("a head of type {}", shown(other.1));
    Err(ConfigError::Unsupported { key: outer.name(other.0), feature })
}

/// Reads what a head has beside its layer, given hidden size and vocabulary. Experts are asked for, because vLLM reads no
/// such keys of heads (`vllm/model_executor/models/deepseek_eagle3.py`).
pub(crate) fn fields(
    config: &Object<'_>,
    outer: &Object<'_>,
    [hidden, vocab]: [Dimension; 2],
) -> Result<[Field; 3], ConfigError> {
    const USES_STATES: &str = "eagle_config.use_aux_hidden_state";
    if outer.switch(USES_STATES)? == Some(false) {
        let feature = "a head that reads no hidden states of earlier layers".to_owned();
        return Err(ConfigError::Unsupported { key: outer.name(USES_STATES), feature });
    }
    EXPERTS.iter().for_each(|key| config.asked(key));
    let mut listed = 0;
    for key in ["eagle_aux_hidden_state_layer_ids", "eagle_config.eagle_aux_hidden_state_layer_ids"] {
        listed = listed.max(outer.numbers(key)?.len());
    }
    let listed = u32::try_from(listed).ok().filter(|count| *count > 0);
    let states = Dimension { key: "eagle_aux_hidden_state_layer_ids", value: listed.unwrap_or(AUX_STATES) };
    let states = outer.dimension(&["num_aux_hidden_states", "num_aux_layers"])?.unwrap_or(states);
    let target = outer.dimension(&["target_hidden_size"])?.unwrap_or(hidden);
    let drafted = outer.dimension(&["draft_vocab_size"])?.unwrap_or(vocab);
    Ok([
        Field::new("target_hidden", ModelSpecBuilder::target_hidden, target),
        Field::new("aux_states", ModelSpecBuilder::aux_states, states),
        Field::new("draft_vocab", ModelSpecBuilder::draft_vocab, drafted),
    ])
}
