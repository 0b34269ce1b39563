//! The predecessors' lookups choose the rows that the original code chooses.
//!
//! The rules of the originals are documented with each function.

use rooflut::hardware::{AttentionShape, Dtype, GemmShape};
use rooflut::table::sets::H100;
use rooflut::table::{Class, OwnedPoints};
use rooflut::units::Mfu;
use rooflut_error::Kind;
use rooflut_predecessors::H100_INFERSIM;
use rooflut_predecessors::lookup::{Matched, MfuCell, MfuGrid, Row, TableKey, blis, infersim};

fn heads(q_heads: u32, kv_heads: u32, head_dim: u32, tp: u32) -> AttentionShape {
    AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads, kv_heads, head_dim, tp }
}

/// Decode attention of 32 query and 8 KV heads over two batches and two lengths.
fn decode_grid(axes: [[u32; 2]; 2], latency_us: [f32; 4]) -> MfuGrid {
    let points = OwnedPoints {
        shape: heads(32, 8, 128, 1).into(),
        axes: axes.map(Vec::from),
        latency_us: latency_us.to_vec(),
        ln_slowdown: vec![0.0; 4],
    };
    let set = H100.decode().unwrap().with_points([points]);
    let table = set.decode().unwrap();
    let entry = table.entries().next().unwrap();
    MfuGrid::decode(&entry, set.gpu()).unwrap()
}

#[test]
fn infersim_uses_its_defaults_without_a_measurement() {
    let set = H100_INFERSIM;
    let default = Mfu(0.35);
    // No pair covers (8193, 1); no row at or below m 7.
    assert!(infersim::gemm_curve(set, 8193, 1).unwrap().is_none());
    let curve = infersim::gemm_curve(set, 4096, 4096).unwrap().unwrap();
    let short = infersim::floor_mfu(&curve, 7.0, default).unwrap();
    assert_eq!((short.mfu, short.matched), (default, Matched::Default));
    assert_eq!(short.provenance, Class::Bound.outside());
    // 100 rows are read at 64, in the table of the next pair.
    let found = infersim::floor_mfu(&curve, 100.0, default).unwrap();
    let shape = GemmShape { dtype: Dtype::Fp8Block, k: 4096, n: 6144 };
    let row = Row { table: TableKey::Gemm(shape), batch: 1, at: 64 };
    assert_eq!(found.matched, Matched::Row(row));
    assert_eq!(found.provenance, Class::Transferred.inside());
    // 16-2-128 has no tables, 32-8-128 has none below 1024.
    let absent = heads(16, 2, 128, 1);
    assert!(infersim::prefill_curve(set, &absent).unwrap().is_none());
    assert!(infersim::decode_grid(set, &absent).unwrap().is_none());
    let per_rank = heads(64, 16, 128, 2);
    let curve = infersim::prefill_curve(set, &per_rank).unwrap().unwrap();
    assert_eq!(curve.table(), TableKey::Prefill(heads(32, 8, 128, 1)));
    let short = infersim::floor_mfu(&curve, 1023.0, default).unwrap();
    assert_eq!(short.matched, Matched::Default);
}

#[test]
fn infersim_breaks_ties_by_the_smaller_batch_then_the_smaller_length() {
    let axes = [[1, 3], [2, 4]];
    let latencies = [1e-3, 2e-3, 3e-3, 4e-3];
    let grid = decode_grid(axes, latencies);
    let reading = infersim::nearest_mfu(&grid, 2.0, 3.0).unwrap();
    let Matched::Row(row) = reading.matched else {
        panic!("expected a row, found {:?}", reading.matched);
    };
    assert_eq!((row.batch, row.at), (1, 2));
}

#[test]
fn blis_chooses_the_nearest_shape_and_the_rows_of_its_tp() {
    let set = H100_INFERSIM;
    for (asked, chosen) in [
        ((32, 4, 64), (28, 4, 128)),
        ((32, 8, 160), (32, 8, 128)),
        ((40, 8, 128), (32, 8, 128)),
        ((48, 8, 128), (56, 8, 128)),
    ] {
        let curve = blis::prefill_curve(set, &heads(asked.0, asked.1, asked.2, 1)).unwrap();
        let shape = heads(chosen.0, chosen.1, chosen.2, 1);
        assert_eq!(curve.table(), TableKey::Prefill(shape));
    }
    let tp = |tp| blis::decode_grid(set, &heads(64, 8, 128, tp)).unwrap().shape().tp;
    assert_eq!([tp(1), tp(2), tp(4), tp(8)], [1, 2, 4, 1]);
    // No pair covers: the last of the table.
    let last = GemmShape { dtype: Dtype::Fp8Block, k: 8192, n: 11_008 };
    let curve = blis::gemm_curve(set, 20_480, 7168).unwrap();
    assert_eq!(curve.table(), TableKey::Gemm(last));
}

#[test]
fn blis_counts_the_dropped_warm_up_cell_of_three_shapes() {
    let set = H100_INFERSIM;
    let warm_up = |shape| blis::decode_grid(set, &shape).unwrap().cell(1, 1024);
    let expected = Some(MfuCell { batch: 1, kv_len: 1024, mfu: 0.001 });
    for shape in [(40, 40, 128), (56, 8, 128), (64, 8, 128)] {
        assert_eq!(warm_up(heads(shape.0, shape.1, shape.2, 1)), expected);
        assert_eq!(warm_up(heads(shape.0, shape.1, shape.2, 2)), None);
    }
}

#[test]
fn blis_takes_the_nearest_row_where_the_blend_is_zero() {
    let axes = [[1, 8], [16, 64]];
    let latencies = [f32::NAN, f32::NAN, f32::NAN, 1.0];
    let grid = decode_grid(axes, latencies);
    let reading = blis::bilinear_mfu(&grid, 1.0, 16.0).unwrap();
    assert!(matches!(reading.matched, Matched::Row(Row { batch: 8, at: 64, .. })));
    let holes = [f32::NAN; 4];
    let empty = decode_grid(axes, holes);
    let error = blis::bilinear_mfu(&empty, 1.0, 16.0).unwrap_err();
    let expected = format!("{}: expected a row with a positive MFU, found none: choose another set", empty.table());
    assert_eq!((error.kind(), error.to_string()), (Kind::Contents, expected));
}

#[test]
fn an_mfu_is_rounded_as_published_and_blended_or_held() {
    let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 };
    let points = OwnedPoints {
        shape: shape.into(),
        axes: [vec![8, 16, 64], Vec::new()],
        latency_us: vec![10.0, 20.0, 30.0],
        ln_slowdown: vec![0.0; 3],
    };
    let set = H100.gemm().unwrap().with_points([points]);
    let curve = blis::gemm_curve(&set, 4096, 4096).unwrap();
    let mfus: Vec<f64> = curve.points().map(|point| point.mfu).collect();
    // 2 m k n / (latency x 989.5e12): 0.0271, 0.0271, 0.0723.
    assert_eq!(mfus, [0.027, 0.027, 0.072]);
    let blend = blis::linear_mfu(&curve, 40.0).unwrap();
    assert!((blend.mfu.0 - 0.0495).abs() < 1e-12);
    assert_eq!(blend.provenance, Class::Interpolated.inside());
    let held = blis::linear_mfu(&curve, 1000.0).unwrap();
    assert_eq!((held.mfu, held.provenance), (Mfu(0.072), Class::Interpolated.outside()));
}

#[test]
fn a_set_without_tables_says_which() {
    let bare = H100.gemm().unwrap().with_points([]);
    let error = blis::gemm_curve(&bare, 4096, 4096).unwrap_err();
    assert_eq!(error.kind(), Kind::NotMeasured);
    assert_eq!(
        error.to_string(),
        "h100: expected a table for GEMM (bf16, fp8_block or fp8), found none: choose a set that \
         has one"
    );
    assert!(infersim::gemm_curve(&bare, 4096, 4096).is_err());
    assert!(infersim::prefill_curve(&bare, &heads(32, 8, 128, 1)).is_err());
    assert!(infersim::decode_grid(&bare, &heads(32, 8, 128, 1)).is_err());
    assert!(blis::decode_grid(&bare, &heads(32, 8, 128, 1)).is_err());
}

#[test]
fn bf16_gemms_come_before_fp8() {
    // The last pair of a table is the largest.
    let last = GemmShape { dtype: Dtype::Bf16, k: 16_384, n: 65_536 };
    let curve = blis::gemm_curve(&H100, 20_480, 7168).unwrap();
    assert_eq!(curve.table(), TableKey::Gemm(last));
    let narrow = blis::gemm_curve(&H100, 2048, 512).unwrap();
    let error = blis::linear_mfu(&narrow, 1.0).unwrap_err();
    assert_eq!(error.kind(), Kind::Contents, "{error}");
    assert!(error.to_string().contains(": expected a positive MFU, found 0.000"), "{error}");
}
