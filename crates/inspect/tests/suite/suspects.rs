//! Families made up of rows that agree with their neighbours and contradict others.

use rooflut::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MeasuredKernel, OperationKind};
use rooflut_inspect::{Cause, Family, Row, Shape, Suspect, dips, outliers, suspects};
use rooflut_roofline::Work;

fn row(kernel: MeasuredKernel, latency_us: f64, reference_us: f64) -> Row {
    Row {
        kernel,
        location: None,
        latency_us,
        shape: Shape::of(&kernel),
        point: kernel.point(),
        reference_us,
        work: Work::default(),
    }
}

fn family(operation: OperationKind, name: &str, rows: Vec<Row>) -> Family {
    Family { operation, name: name.to_owned(), rows }
}

/// Decode attention of 4,096 to 65,536 tokens that takes 10 us and 1 us for each 1,024 tokens of a KV head; with as many
/// query as KV heads, the time of one request is that of one block.
fn decodes(shapes: &[(u32, u32)], is_unsplit: bool) -> Family {
    let mut rows = Vec::new();
    for &(q_heads, kv_heads) in shapes {
        for batch in [1, 4, 16] {
            for length in [4096, 16_384, 65_536] {
                let shape = AttentionShape {
                    dtype: Dtype::Bf16,
                    kv_dtype: Dtype::Bf16,
                    q_heads,
                    kv_heads,
                    head_dim: 128,
                    tp: 1,
                };
                let kernel = MeasuredKernel::new(OperationKind::Decode, shape, [batch, length]);
                let tokens = f64::from(length) / 1024.0;
                let reference_us = 10.0 + tokens * f64::from(batch * kv_heads);
                let one_block = if is_unsplit && q_heads == kv_heads { 20.0 * tokens } else { 0.0 };
                rows.push(row(kernel, reference_us.max(one_block), reference_us));
            }
        }
    }
    family(OperationKind::Decode, "decode bf16", rows)
}

fn found(families: &[Family]) -> Vec<Suspect> {
    let first = families.first();
    first.map_or(Vec::new(), |first| suspects(families, first))
}

#[test]
fn decode_that_is_slower_than_that_of_more_heads_is_not_split() {
    let shapes = [(1, 1), (4, 1), (2, 2), (8, 2)];
    assert_eq!(found(&[decodes(&shapes, false)]), []);
    let families = [decodes(&shapes, true)];
    let [suspect] = &found(&families)[..] else {
        panic!("not one cause");
    };
    assert_eq!(suspect.cause, Cause::Unsplit);
    let rows = suspect.rows.iter().map(|(row, us)| (&families[0].rows[*row], *us));
    let is_ungrouped = |row: &Row| {
        let shape: AttentionShape = row.kernel.shape();
        shape.q_heads == shape.kv_heads
    };
    assert!(rows.clone().all(|(row, us)| is_ungrouped(row) && row.latency_us >= 2.0 * us));
    // The farthest first: one request of most tokens, whose bytes four heads read in 74 us.
    let (farthest, us) = rows.clone().next().unwrap();
    assert_eq!((farthest.point, farthest.latency_us, us), ([1, 65_536], 1280.0, 74.0));
    // With 16 requests, blocks enough for all SMs.
    assert!(rows.clone().all(|(row, _)| row.point[0] < 16));
    // Each row agrees with its neighbours.
    assert!(outliers(&families[0]).is_empty());
}

#[test]
fn fewer_heads_may_take_as_long() {
    // No row of more heads: nothing contradicts.
    assert_eq!(found(&[decodes(&[(1, 1), (2, 2)], true)]), []);
}

/// GEMMs of a format whose smallest call takes `floor_us`.
fn gemms(dtype: Dtype, floor_us: f64) -> Family {
    let rows = [1, 16, 256, 4096].map(|m| {
        let gemm = GemmShape { dtype, k: 4096, n: 4096 };
        let kernel = MeasuredKernel::new(OperationKind::Gemm, gemm, [m, 1]);
        let reference_us = 4.0 + f64::from(m) / 10.0;
        row(kernel, floor_us.max(reference_us), reference_us)
    });
    family(OperationKind::Gemm, &format!("gemm {dtype}"), rows.to_vec())
}

#[test]
fn smallest_calls_that_take_longer_than_those_of_another_format_are_eager() {
    let graph = gemms(Dtype::Bf16, 5.0);
    let families = [gemms(Dtype::Fp8Block, 60.0), graph];
    let [suspect] = &found(&families)[..] else {
        panic!("not one cause");
    };
    assert_eq!(suspect.cause, Cause::Eager);
    // The GEMM of 4,096 rows is long enough.
    let mut places: Vec<usize> = suspect.rows.iter().map(|(row, _)| *row).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2]);
    assert!(suspect.rows.iter().all(|(_, us)| (us - 5.0).abs() < 1e-9));
    assert_eq!(suspects(&families, &families[1]), []);
    // Alone, and beside one as slow, the format is not contradicted.
    assert_eq!(found(&[gemms(Dtype::Fp8Block, 60.0)]), []);
    assert_eq!(found(&[gemms(Dtype::Fp8Block, 60.0), gemms(Dtype::Bf16, 30.0)]), []);
}

/// All-reduces over a link that moves 1 MiB in 40 us, and `slower` times that over more than two ranks.
fn all_reduces(slower: f64) -> Family {
    let mut rows = Vec::new();
    for ranks in [2, 4] {
        for bytes in [1 << 10, 1 << 20, 1 << 26] {
            let kernel = MeasuredKernel::new(OperationKind::AllReduce, AllReduceShape { ranks }, [bytes, 1]);
            let link_us = f64::from(bytes) / f64::from(1 << 20) * 40.0;
            let factor = if ranks > 2 { slower } else { 1.5 };
            rows.push(row(kernel, 12.0 + factor * link_us, 3.0 + link_us));
        }
    }
    family(OperationKind::AllReduce, "allreduce", rows)
}

#[test]
fn messages_that_move_at_a_fraction_of_the_link_are_of_the_host() {
    assert_eq!(found(&[all_reduces(2.0)]), []);
    let [suspect] = &found(&[all_reduces(12.0)])[..] else {
        panic!("not one cause");
    };
    assert_eq!(suspect.cause, Cause::Host);
    // The launch of the smallest message is not the link's.
    let mut places: Vec<usize> = suspect.rows.iter().map(|(row, _)| *row).collect();
    places.sort_unstable();
    assert_eq!(places, [4, 5]);
}

#[test]
fn slower_with_less_work_in_most_shapes_is_a_common_dip() {
    let rows = (1..=6).flat_map(|shape: u32| {
        [(1, 22.0), (4, 6.0), (16, 6.5)].map(|(m, us)| {
            let gemm = GemmShape { dtype: Dtype::Fp8, k: 512 * shape, n: 1024 };
            let kernel = MeasuredKernel::new(OperationKind::Gemm, gemm, [m, 1]);
            row(kernel, us + f64::from(shape), 5.0)
        })
    });
    let family = family(OperationKind::Gemm, "gemm fp8", rows.collect());
    let [dips] = &dips(&family, &outliers(&family), 0.10)[..] else {
        panic!("not one");
    };
    assert_eq!((dips.from, dips.to, dips.dips.len()), (1, 4, 6));
    assert!(dips.is_common());
}
