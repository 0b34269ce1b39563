//! Lookups from C answer as those of the library.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // A test may fail.

use std::ptr::null_mut;

use rooflut::ResolveError;
use rooflut::hardware::{MeasuredKernel, OperationKind};
use rooflut::op::{
    AllReduce, Argument, DecodeAttention, DeltaDecode, DeltaPrefill, Estimate, Gather, Gemm, Kernel, MlaDecode,
    MlaPrefill, Moe, PrefillAttention, WindowDecode, WindowPrefill,
};
use rooflut::table::sets::H100;
use rooflut_c as c;
use rooflut_roofline::operation::Codes;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Asserts that a kernel takes the same time from C and from the library, which looks up its shape.
fn same<S: DeserializeOwned>(
    (operation, shape): (&str, &Value),
    (batch, size): (u32, u64),
    library: impl Fn(S) -> Result<Estimate, ResolveError>,
) {
    let expected = library(serde_json::from_value(shape.clone()).unwrap()).unwrap();
    let kernel = json!({operation: shape}).to_string();
    let (mut tables, mut lookup) = (0, 0);
    let mut found = c::Estimate { seconds: 0.0, mfu: 0.0, class_: 0, is_outside: 0 };
    // SAFETY: texts have these lengths, results are local variables.
    let codes = unsafe {
        let (text, error) = (kernel.as_ptr().cast(), null_mut());
        [
            c::rooflut_tables_find("h100".as_ptr().cast(), 4, &raw mut tables, error),
            c::rooflut_lookup_new(tables, text, kernel.len(), &raw mut lookup, error),
            c::rooflut_lookup_at(lookup, batch, size, &raw mut found, error),
        ]
    };
    assert_eq!(codes, [0; 3], "{kernel}");
    let bits = [found.seconds, found.mfu].map(f64::to_bits);
    let expected_bits = [expected.time.0, expected.mfu().0].map(f64::to_bits);
    assert_eq!(bits, expected_bits, "{kernel}");
    assert_eq!(found.class_, expected.provenance.class as u32, "{kernel}");
}

/// Returns the JSON of a shape.
fn shape_of(row: &MeasuredKernel) -> Value {
    let (mut shape, mut indexer) = (json!({}), json!({}));
    let codes: Codes = row.shape();
    for (column, code) in row.operation().declared().shape.iter().zip(codes) {
        let value = column.name_of(code).map_or(json!(code), |name| json!(name));
        match column.name {
            name if ["compressed", "msa"].iter().any(|flat| row.operation().name().starts_with(flat)) => {
                shape[name] = value
            }
            "index_heads" => indexer["heads"] = value,
            "index_dim" => indexer["head_dim"] = value,
            "index_top_k" => indexer["top_k"] = value,
            name => shape[name] = value,
        }
    }
    if indexer != json!({}) {
        shape["indexer"] = indexer;
    }
    shape
}

#[test]
fn every_operation_can_be_asked() {
    for operation in OperationKind::ALL {
        let (row, us) = H100.table(operation).unwrap().rows().next().unwrap();
        let [first, second] = row.point();
        let kernel = Kernel::resolve(&H100, operation, row.shape::<Codes>()).unwrap();
        let (batch, size) = match kernel.arguments() {
            [Argument::Batch] => (first, 0),
            [_] => (0, first.into()),
            [_, Argument::KvTokens] => (first, u64::from(first) * u64::from(second)),
            _ => (first, second.into()),
        };
        same((operation.name(), &shape_of(&row)), (batch, size), |_: Value| {
            let answer = kernel.at_point(row.point().map(u64::from));
            assert!((answer.time.us() / f64::from(us) - 1.0).abs() < 1e-6);
            Ok(answer)
        });
    }
}

#[test]
fn kernels_take_the_time_that_the_library_says() {
    let gemm = json!({"dtype": "bf16", "k": 4096, "n": 6144});
    same(("gemm", &gemm), (0, 100), |s| Ok(Gemm::resolve(&H100, s)?.at(100)));

    let heads = json!({"dtype": "bf16", "kv_dtype": "bf16", "q_heads": 32, "kv_heads": 8, "head_dim": 128, "tp": 2});
    same(("prefill", &heads), (3, 700), |s| Ok(PrefillAttention::resolve(&H100, s)?.at(3, 700)));
    same(("decode", &heads), (3, 7_000), |s| Ok(DecodeAttention::resolve(&H100, s)?.at(3, 7_000)));

    let window =
        json!({"dtype": "bf16", "kv_dtype": "bf16", "q_heads": 2, "kv_heads": 1, "head_dim": 256, "window": 1024});
    same(("prefill_window", &window), (3, 700), |s| Ok(WindowPrefill::resolve(&H100, s)?.at(3, 700)));
    same(("decode_window", &window), (3, 7_000), |s| Ok(WindowDecode::resolve(&H100, s)?.at(3, 7_000)));

    let experts = json!({"dtype": "bf16", "experts": 8, "top_k": 2, "hidden": 4096, "intermediate": 14336, "tp": 1, "ep": 1, "matrices": 3});
    same(("moe", &experts), (0, 100), |s| Ok(Moe::resolve(&H100, s)?.at(100)));

    let ranks = json!({"ranks": 4});
    same(("allreduce", &ranks), (0, 5_000), |s| Ok(AllReduce::resolve(&H100, s)?.at(5_000)));
    same(("allgather", &ranks), (0, 5_000), |s| Ok(Gather::all_gather(&H100, s)?.at(5_000)));
    same(("reducescatter", &ranks), (0, 5_000), |s| Ok(Gather::reduce_scatter(&H100, s)?.at(5_000)));

    let dense = json!({
        "dtype": "bf16", "attn_dtype": "bf16", "kv_dtype": "bf16", "q_heads": 16, "hidden": 7168, "q_rank": 1536,
        "kv_rank": 512, "nope_dim": 128, "rope_dim": 64, "v_dim": 128
    });
    let mut sparse = dense.clone();
    sparse["dtype"] = json!("fp8_block");
    sparse["indexer"] = json!({"heads": 64, "head_dim": 128, "top_k": 2048});
    for latent in [dense, sparse] {
        same(("mla_prefill", &latent), (3, 700), |s| Ok(MlaPrefill::resolve(&H100, s)?.at(3, 700)));
        same(("mla_decode", &latent), (3, 7_000), |s| Ok(MlaDecode::resolve(&H100, s)?.at(3, 7_000)));
    }

    let delta = json!({"kernel": "conv", "k_heads": 1, "v_heads": 4, "head_dim": 128});
    same(("delta_prefill", &delta), (3, 700), |s| Ok(DeltaPrefill::resolve(&H100, s)?.at(3, 700)));
    same(("delta_decode", &delta), (3, 0), |s| Ok(DeltaDecode::resolve(&H100, s)?.at(3)));
}
