//! Steps of models with block-sparse attention, and with layers that reuse the keys of an indexer.

use rooflut::hardware::{Dtype, Indexer, MlaShape, MsaShape};
use rooflut::model::{self, KvGroups, Layers, ModelSpec, Parallelism};
use rooflut::op::{MlaDecode, MlaPrefill, MsaDecode, MsaPrefill};
use rooflut::step::{Chunk, Part, RooflineModel, StepModel, StepOptions, StepTime};
use rooflut::table::{TableSet, sets};

use crate::support::models::{self, FITTED, with};
use crate::support::steps::{Batch, Sharded};

fn spec(name: &str) -> ModelSpec {
    model::find(name).unwrap().spec
}

/// A step of [`mixed`] on eight GPUs.
fn step_of(set: &'static TableSet, spec: ModelSpec) -> StepTime {
    let sharded = Sharded { name: "made up", spec, tp: 8, kv_dtype: Dtype::Fp8 };
    models::on(set, &sharded, FITTED).step_time(&mixed().as_step())
}

/// A chunk of 2,048 tokens, one of 512 after 512, and 64 requests of 1,500 tokens.
fn mixed() -> Batch {
    let mut batch = Batch::decoding(64, 1_500);
    batch.prefill = vec![Chunk::prompt(2_048).unwrap(), Chunk::partial(512, 1_024).unwrap()];
    batch
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn block_sparse_layers_take_the_time_of_their_table_and_dense_ones_have_projections() {
    for set in [&sets::B300, &sets::H200] {
        let found = step_of(set, spec("minimax-m3"));
        let shape = MsaShape {
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Fp8,
            q_heads: 8,
            kv_heads: 1,
            head_dim: 128,
            hidden: 6144,
            index_dim: 128,
            block: 128,
            top_blocks: 16,
        };
        let prefill = MsaPrefill::resolve(set, shape).unwrap();
        let decode = MsaDecode::resolve(set, shape).unwrap();
        let mut chunks = prefill.chunks();
        chunks.add(2_048, 0);
        chunks.add(512, 512);
        let dense = step_of(set, with(spec("minimax-m3"), |spec| spec.layers = Layers::alike(spec.layers[0])));
        let [prefill, decode] = [prefill.at_chunks(&chunks).time.0, decode.at(64, 96_000).time.0];
        for (part, sparse) in [(Part::PrefillAttention, prefill), (Part::DecodeAttention, decode)] {
            close(found.part(part).0, dense.part(part).0 + 57.0 * sparse);
        }
        close(found.part(Part::Qkv).0, dense.part(Part::Qkv).0);
        let has = |part| found.parts().any(|found| found.part == part);
        assert!(has(Part::Qkv) && has(Part::OProj) && has(Part::Moe) && has(Part::GateUp));
    }
}

#[test]
fn layers_without_an_indexer_of_their_own_take_less_time() {
    for set in [&sets::B200, &sets::H100] {
        let [full, reusing] = ["glm-5-fp8", "glm-5.2-fp8"].map(|name| step_of(set, spec(name)));
        let shape = |indexer| MlaShape {
            dtype: Dtype::Fp8Block,
            attn_dtype: Dtype::Bf16,
            kv_dtype: Dtype::Fp8,
            q_heads: 8,
            hidden: 6144,
            q_rank: 2048,
            kv_rank: 512,
            nope_dim: 192,
            rope_dim: 64,
            v_dim: 256,
            indexer: Some(indexer),
        };
        let indexer = Indexer { heads: 32, head_dim: 128, top_k: 2048 };
        let layers = |times: [f64; 2]| 21.0 * times[0] + 57.0 * times[1];
        let each = [indexer, indexer.reused()].map(shape);
        let decode = each.map(|shape| MlaDecode::resolve(set, shape).unwrap().at(64, 96_000).time.0);
        close(reusing.part(Part::DecodeAttention).0, layers(decode));
        close(full.part(Part::DecodeAttention).0, 78.0 * decode[0]);
        let prefill = each.map(|shape| {
            let layer = MlaPrefill::resolve(set, shape).unwrap();
            let mut chunks = layer.chunks();
            chunks.add(2_048, 0);
            chunks.add(512, 512);
            layer.at_chunks(&chunks).time.0
        });
        close(reusing.part(Part::PrefillAttention).0, layers(prefill));
        assert!(decode[1] < decode[0] && prefill[1] < prefill[0], "{decode:?} {prefill:?}");
        // Everything else is the same.
        close(reusing.part(Part::Moe).0, full.part(Part::Moe).0);
    }
}

#[test]
fn caches_hold_the_keys_of_indexers_alone() {
    let bytes = |name: &str, tp| -> f64 {
        let layers = spec(name);
        let each = layers.layers.iter().map(|group| f64::from(group.layers) * group.attention.kv_bytes(tp, Dtype::Fp8));
        assert_eq!(KvGroups::of(&layers, tp).count(), 1);
        each.sum()
    };
    assert_eq!(bytes("glm-5-fp8", 8) - bytes("glm-5.2-fp8", 8), 57.0 * 132.0);
    // Key and value of a head on each of eight ranks, and 16-bit keys in 57 layers.
    assert_eq!(bytes("minimax-m3", 8), 60.0 * 256.0 + 57.0 * 256.0);
    assert_eq!(bytes("minimax-m3", 1), 60.0 * 1024.0 + 57.0 * 256.0);
}

#[test]
fn the_layer_that_drafts_has_an_indexer_wherever_the_layers_with_one_stand() {
    let model = spec("glm-5.2-fp8");
    let others_last = with(model, |spec| {
        let [dense, reusing, own] = spec.layers[..] else { panic!("three groups") };
        spec.layers = Layers::try_new(&[dense, own, reusing]).unwrap();
    });
    for model in [model, others_last] {
        let layer = model.mtp_layer().unwrap().layers[0];
        // The keys of the indexer are cached, too.
        assert_eq!((layer.layers, layer.attention.kv_bytes(8, Dtype::Fp8)), (1, 656.0 + 132.0));
    }
}

#[test]
fn sets_and_formats_without_rows_are_refused_by_name() {
    let spec = spec("minimax-m3");
    let refusal = |set: &TableSet, spec: &ModelSpec, kv_dtype| {
        let options = StepOptions::default().with_kv_dtype(kv_dtype);
        RooflineModel::try_new(spec, set, Parallelism::tensor(8), options).unwrap_err().to_string()
    };
    let message = refusal(&sets::L40S, &spec, Dtype::Bf16);
    assert!(message.contains("msa_prefill"), "{message}");
    let message = refusal(&sets::H100, &spec.with_weight_dtype(Dtype::Nvfp4), Dtype::Bf16);
    assert!(message.contains("nvfp4"), "{message}");
}
