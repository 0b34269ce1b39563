//! Serialization of dimensions: layers are a list of groups, or their number beside the fields of a single group.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{Attention, Eagle3, Ffn, Gqa, LayerGroup, Layers, ModelSpec, Sampler, Span};
use crate::hardware::Dtype;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "ModelSpec")]
struct Written {
    hidden: u32,
    layers: GivenLayers,
    #[serde(default)]
    mtp_layers: u32,
    #[serde(default)]
    streams: u32,
    eagle3: Option<Eagle3>,
    q_heads: Option<u32>,
    kv_heads: Option<u32>,
    head_dim: Option<u32>,
    ffn: Option<GivenFfn>,
    weight_dtype: Option<Dtype>,
    vocab: u32,
    tied_embeddings: bool,
    #[serde(default)]
    positions: u32,
    max_model_len: u32,
    #[serde(default)]
    sampler: Sampler,
}

#[allow(clippy::large_enum_variant)] // One while a model is read.
enum GivenLayers {
    Number(u32),
    Groups(Layers),
}

/// The FFN of a single group, whose experts have a format of their own.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename = "Ffn")]
enum GivenFfn {
    Dense { intermediate: u32, gated: Option<bool> },
    Moe { experts: u32, top_k: u32, intermediate: u32, shared_intermediate: u32, expert_dtype: Dtype },
}

impl Serialize for Layers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for ModelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModelSpec, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let spec = ModelSpec {
            hidden: written.hidden,
            layers: written.layers()?,
            mtp_layers: written.mtp_layers,
            streams: written.streams,
            eagle3: written.eagle3,
            vocab: written.vocab,
            tied_embeddings: written.tied_embeddings,
            positions: written.positions,
            max_model_len: written.max_model_len,
            sampler: written.sampler,
        };
        spec.check().map_err(D::Error::custom)?;
        Ok(spec)
    }
}

impl Written {
    fn layers<E: Error>(&self) -> Result<Layers, E> {
        let Written { q_heads, kv_heads, head_dim, ref ffn, weight_dtype, .. } = *self;
        let layers = match self.layers {
            GivenLayers::Number(layers) => layers,
            GivenLayers::Groups(layers) => {
                let heads = [q_heads, kv_heads, head_dim];
                let is_given = heads.iter().any(Option::is_some) || weight_dtype.is_some();
                return if is_given || ffn.is_some() {
                    Err(E::custom("layers: expected all dimensions of layers in their groups, found some beside them"))
                } else {
                    Ok(layers)
                };
            }
        };
        let attention_dtype = weight_dtype.ok_or_else(|| E::missing_field("weight_dtype"))?;
        let (ffn, ffn_dtype) = match *ffn {
            Some(GivenFfn::Dense { intermediate, gated }) => {
                let gated = gated.unwrap_or(true);
                let ffn = Ffn::Dense { intermediate, gated };
                (ffn, attention_dtype)
            }
            Some(GivenFfn::Moe { experts, top_k, intermediate, shared_intermediate, expert_dtype }) => {
                let ffn = Ffn::Moe { experts, top_k, intermediate, shared_intermediate };
                (ffn, expert_dtype)
            }
            None => return Err(E::missing_field("ffn")),
        };
        Ok(Layers::alike(LayerGroup {
            layers,
            attention: Attention::Gqa(Gqa {
                q_heads: q_heads.ok_or_else(|| E::missing_field("q_heads"))?,
                kv_heads: kv_heads.ok_or_else(|| E::missing_field("kv_heads"))?,
                head_dim: head_dim.ok_or_else(|| E::missing_field("head_dim"))?,
                output_gate: false,
                joint_qk_norm: false,
                span: Span::Full,
            }),
            attention_dtype,
            ffn,
            ffn_dtype,
            shared_dtype: ffn_dtype,
        }))
    }
}

impl<'de> Deserialize<'de> for GivenLayers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<GivenLayers, D::Error> {
        struct NumberOrGroups;

        impl<'de> Visitor<'de> for NumberOrGroups {
            type Value = GivenLayers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of layers or a list of their groups")
            }

            fn visit_u64<E: Error>(self, layers: u64) -> Result<GivenLayers, E> {
                // A number beyond 2^32 is as wrong as that one.
                Ok(GivenLayers::Number(u32::try_from(layers).unwrap_or(u32::MAX)))
            }

            fn visit_i64<E: Error>(self, layers: i64) -> Result<GivenLayers, E> {
                self.visit_u64(u64::try_from(layers).unwrap_or(0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut groups: A) -> Result<GivenLayers, A::Error> {
                let first = groups.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let mut layers = Layers::alike(first);
                while let Some(group) = groups.next_element()? {
                    layers = layers.try_and(group).map_err(A::Error::custom)?;
                }
                Ok(GivenLayers::Groups(layers))
            }
        }

        deserializer.deserialize_any(NumberOrGroups)
    }
}
