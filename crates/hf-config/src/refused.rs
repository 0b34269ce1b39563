//! Model types whose layers the step model does not have.

/// Features and the model types that have them.
const REFUSED: &[(&str, &[&str])] = &[
    ("latent attention under other keys", &["minicpm3", "pangu_ultra_moe"]),
    ("layers with two attentions", &["longcat_flash"]),
    ("Kimi delta attention", &["glm5_next_text", "kimi_linear"]),
    ("linear attention", &["bailing_moe_v2_5", "minimax", "minimax_m1", "minimax_text_01"]),
    (
        "state-space, recurrent or convolutional layers",
        &[
            "bamba",
            "falcon_h1",
            "falcon_mamba",
            "granitemoehybrid",
            "jamba",
            "lfm2",
            "lfm2_moe",
            "mamba",
            "mamba2",
            "nemotron_h",
            "plamo2",
            "recurrent_gemma",
            "rwkv",
            "rwkv5",
            "rwkv6",
            "rwkv7",
            "xlstm",
            "zamba",
            "zamba2",
        ],
    ),
    ("layers that differ in their attention heads", &["mimo_v2", "mimo_v2_flash"]),
    ("a mixture of dense and expert layers", &["step3p5", "step3p7"]),
    ("layers that differ in size", &["deci", "gemma3n_text", "nemotron-nas", "openelm"]),
    ("cross-attention layers", &["mllama_text_model"]),
    (
        "an encoder",
        &["bart", "bert", "m2m_100", "mbart", "mt5", "pegasus", "roberta", "t5", "t5gemma", "umt5", "whisper"],
    ),
];

/// Returns the feature of `model_type` that the step model does not have.
pub(crate) fn feature(model_type: &str) -> Option<&'static str> {
    let has = |(_, types): &&(&str, &[&str])| types.contains(&model_type);
    REFUSED.iter().find(has).map(|(feature, _)| *feature)
}
