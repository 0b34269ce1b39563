//! What is written in a layout and imported is what it was.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code outside of test functions"
)]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_import::{Answers, Layout};
use rooflut_roofline::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use support::{
    FASTEST, H100, Rows, answers, bench_data, imported, in_ms, perf, rows_of, set, written,
};

#[test]
fn the_projects_sets_survive_aiconfigurators_layout() {
    for name in ["a100", "b200", "h100", "h200", "l40s"] {
        let rows = set(name);
        assert!(rows.len() > 1000);
        let import = imported(Layout::AiConfigurator, &perf(&rows), &answers(FASTEST)).unwrap();
        assert_eq!(written(&import), rows, "{name}");
        let defects: Vec<&str> = import
            .report
            .findings
            .iter()
            .map(|found| found.defect)
            .collect();
        assert!(import.report.left_out.is_empty());
        assert!(
            defects.iter().all(|defect| *defect == "ragged grid"),
            "{defects:?}"
        );
    }
}

#[test]
fn infersims_figures_survive_the_layout_that_they_came_in() {
    let rows = set("h100-infersim");
    let answers = Answers {
        gemm_dtype: Some(Dtype::Fp8Block),
        ..answers(H100)
    };
    let import = imported(Layout::Blis, &bench_data(&rows), &answers).unwrap();
    assert_eq!(written(&import), rows);
    let floor = import
        .report
        .findings
        .iter()
        .find(|found| found.defect == "eager floor");
    let floor = floor.expect("its decode attention was timed eagerly");
    assert_eq!(floor.operation, "decode");
    assert!(import.report.left_out.is_empty());

    let whole: Rows = rows
        .into_iter()
        .filter(
            |(kernel, _)| !matches!(kernel, MeasuredKernel::Decode { shape, .. } if shape.tp > 1),
        )
        .collect();
    let import = imported(Layout::InferSim, &bench_data(&whole), &answers).unwrap();
    assert_eq!(written(&import), whole);
}

/// Latencies of up to 12 digits that grow with the points, so that no first row looks like a warm-up, and
/// are long enough for any kernel here.
fn latencies(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1_000_000_000_u64..999_999_999_999, count).prop_map(|mut digits| {
        digits.sort_unstable();
        digits.iter().map(|digits| *digits as f64 / 1e3).collect()
    })
}

fn points(most: u32) -> impl Strategy<Value = Vec<u32>> {
    prop::collection::btree_set(1..most, 1..8).prop_map(|points| points.into_iter().collect())
}

fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(Dtype::ALL.to_vec())
}

fn heads(tp: Vec<u32>) -> impl Strategy<Value = AttentionShape> {
    let kv_dtype = prop::sample::select(vec![Dtype::Bf16, Dtype::Fp8]);
    let tp = prop::sample::select(tp);
    (dtype(), kv_dtype, 1_u32..5, 1_u32..9, tp, 1_u32..300).prop_map(
        |(dtype, kv_dtype, kv, group, tp, head_dim)| AttentionShape {
            dtype,
            kv_dtype,
            q_heads: kv * tp * group,
            kv_heads: kv * tp,
            head_dim,
            tp,
        },
    )
}

/// The kernels of one shape.
fn shape(tp: Vec<u32>) -> impl Strategy<Value = Vec<MeasuredKernel>> {
    let weights = (dtype(), 1_u32..50_000, 1_u32..50_000, points(100_000));
    let gemm = weights.prop_map(|(dtype, k, n, points)| {
        let shape = GemmShape { dtype, k, n };
        let kernel = |m| MeasuredKernel::Gemm { shape, m };
        points.into_iter().map(kernel).collect::<Vec<_>>()
    });
    let prefill = (heads(vec![1]), points(64), points(5000));
    let prefill = prefill.prop_map(|(shape, batches, lengths)| {
        grid(&batches, &lengths, |batch, seq_len| {
            MeasuredKernel::Prefill {
                shape,
                batch,
                seq_len,
            }
        })
    });
    let decode = (heads(tp), points(500), points(100_000));
    let decode = decode.prop_map(|(shape, batches, lengths)| {
        grid(&batches, &lengths, |batch, kv_len| MeasuredKernel::Decode {
            shape,
            batch,
            kv_len,
        })
    });
    prop_oneof![gemm, prefill, decode]
}

fn grid(
    batches: &[u32],
    lengths: &[u32],
    kernel: impl Fn(u32, u32) -> MeasuredKernel,
) -> Vec<MeasuredKernel> {
    let cells = batches
        .iter()
        .flat_map(|batch| lengths.iter().map(|length| (*batch, *length)));
    cells.map(|(batch, length)| kernel(batch, length)).collect()
}

fn other_shape() -> impl Strategy<Value = Vec<MeasuredKernel>> {
    let all_reduce = (2_u32..9, points(1_000_000)).prop_map(|(ranks, points)| {
        let shape = AllReduceShape { ranks };
        let kernel = |elements| MeasuredKernel::AllReduce {
            shape,
            bytes: 2 * elements,
        };
        points.into_iter().map(kernel).collect::<Vec<_>>()
    });
    let experts = (1_u32..9, 0_u32..100);
    let widths = (1_u32..9000, 1_u32..4000, 1_u32..9);
    let moe = (dtype(), experts, widths, points(20_000)).prop_map(
        |(dtype, (top_k, more), (hidden, width, tp), points)| {
            let (experts, intermediate) = (top_k + more, width * tp);
            let shape = MoeShape {
                dtype,
                experts,
                top_k,
                hidden,
                intermediate,
                tp,
            };
            points
                .into_iter()
                .map(|tokens| MeasuredKernel::Moe { shape, tokens })
                .collect::<Vec<_>>()
        },
    );
    prop_oneof![all_reduce, moe]
}

fn rows(shapes: impl Strategy<Value = Vec<MeasuredKernel>>) -> impl Strategy<Value = Rows> {
    prop::collection::vec(shapes, 1..6).prop_flat_map(|shapes| {
        let kernels: BTreeSet<MeasuredKernel> = shapes.into_iter().flatten().collect();
        let latencies = latencies(kernels.len());
        latencies.prop_map(move |latencies| kernels.iter().copied().zip(latencies).collect())
    })
}

/// Dimensions of a layer of Vidur: ranks, KV heads of each, query heads of each of these, width of the MLP
/// on a rank, whether it is gated.
type Dimensions = (u32, u32, u32, u32, bool);

/// A row of `mlp.csv`, and its four GEMMs as the model's dimensions make them.
fn vidur_row(dimensions: Dimensions, tokens: u32, us: &[f64]) -> (String, [MeasuredKernel; 4]) {
    let (tp, kv, group, width, gated) = dimensions;
    let (heads, kv_heads, expanded) = (tp * kv * group, tp * kv, tp * width);
    let embd = heads * 8;
    let up = if gated { 2 * width } else { width };
    let weights = [
        (embd, (kv * group + 2 * kv) * 8),
        (kv * group * 8, embd),
        (embd, up),
        (width, embd),
    ];
    let gemm = |(k, n)| MeasuredKernel::Gemm {
        shape: GemmShape {
            dtype: Dtype::Bf16,
            k,
            n,
        },
        m: tokens,
    };
    let gated = if gated { "True" } else { "False" };
    let ms: Vec<String> = us.iter().map(|us| in_ms(*us)).collect();
    let row = format!(
        "0,{heads},{kv_heads},{embd},{expanded},32000,{gated},{tokens},{tp},0.001,{},9.9,{},{},{}\n",
        ms[0], ms[1], ms[2], ms[3]
    );
    (row, weights.map(gemm))
}

const MLP: &str = ",n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,\
    num_tensor_parallel_workers,time_stats.emb.median,time_stats.attn_pre_proj.median,\
    time_stats.attn_pre_proj.mean,time_stats.attn_post_proj.median,time_stats.mlp_up_proj.median,\
    time_stats.mlp_down_proj.median\n";

const ALL_REDUCE: &str =
    "time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node\n";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_rows_survive_aiconfigurators_layout(
        rows in rows(prop_oneof![shape(vec![1]), other_shape()]),
    ) {
        let import = imported(Layout::AiConfigurator, &perf(&rows), &answers(FASTEST)).unwrap();
        prop_assert_eq!(written(&import), rows);
    }

    #[test]
    fn any_rows_survive_the_trees_of_infersim_and_blis(
        rows in rows(shape(vec![1, 2, 4])),
        gemm_dtype in dtype(),
    ) {
        // GEMMs are of one format, which the files do not say.
        let one_format = |(mut kernel, us): (MeasuredKernel, f64)| {
            if let MeasuredKernel::Gemm { shape, .. } = &mut kernel {
                shape.dtype = gemm_dtype;
            }
            (kernel, us)
        };
        let rows: Rows = rows.into_iter().map(one_format).collect();
        let answers = Answers { gemm_dtype: Some(gemm_dtype), ..answers(FASTEST) };
        let import = imported(Layout::Blis, &bench_data(&rows), &answers).unwrap();
        prop_assert_eq!(written(&import), rows);
    }

    #[test]
    fn any_layers_survive_vidurs_layout(
        layers in prop::collection::btree_map(
            (1_u32..5, 1_u32..5, 1_u32..5, 1_u32..200, any::<bool>()),
            (1_u32..1000, latencies(4)),
            1..20,
        ),
        sizes in points(1_000_000),
        reduce in latencies(8),
    ) {
        let mut expected = Rows::new();
        let mut mlp = MLP.to_owned();
        for (dimensions, (tokens, us)) in &layers {
            let (row, kernels) = vidur_row(*dimensions, *tokens, us);
            let distinct = BTreeSet::from(kernels);
            // Two GEMMs of one shape would be repeats.
            if distinct.len() == 4 && distinct.iter().all(|kernel| !expected.contains_key(kernel)) {
                mlp.push_str(&row);
                expected.extend(kernels.into_iter().zip(us.iter().copied()));
            }
        }
        prop_assume!(!expected.is_empty());
        let mut network = ALL_REDUCE.to_owned();
        for (bytes, us) in sizes.iter().zip(&reduce) {
            network.push_str(&format!("{},0,4,{bytes},all_reduce,4\n", in_ms(*us)));
            let shape = AllReduceShape { ranks: 4 };
            expected.insert(MeasuredKernel::AllReduce { shape, bytes: *bytes }, *us);
        }
        let files = [
            ("compute/h100/org/model/mlp.csv".to_owned(), mlp),
            ("network/h100_dgx/all_reduce.csv".to_owned(), network),
        ];
        let import = imported(Layout::Vidur, &files, &answers(FASTEST)).unwrap();
        // A first layer of random times may look like a warm-up; then it is told, not lost.
        let told = &import.report.left_out;
        prop_assert!(told.iter().all(|rows| rows.reason.contains("warm-up")), "{:?}", told);
        let found = written(&import);
        prop_assert!(found.iter().all(|(kernel, us)| expected.get(kernel) == Some(us)));
        prop_assert_eq!(found.len() + told.len(), expected.len());
    }

    #[test]
    fn whatever_is_in_the_cells_every_row_is_written_or_told(
        cells in prop::collection::vec(prop::collection::vec("[0-9]{0,4}|bf16|-1|nan|8\\.0|m", 3..7), 1..40),
    ) {
        let mut text = String::from("m,k,n,latency_us,mfu\n64,64,64,1000000,0.5\n");
        for row in &cells {
            text.push_str(&row.join(","));
            text.push('\n');
        }
        let files = [("gemm/h100/data.csv".to_owned(), text)];
        // `imported` adds up what was read, written and left out.
        let import = imported(Layout::InferSim, &files, &answers(FASTEST)).unwrap();
        let lines = files[0].1.lines().filter(|line| !line.is_empty()).count() - 1;
        prop_assert_eq!(import.report.read(), lines);
    }
}

#[test]
fn the_rows_of_one_operation_are_those_of_its_file() {
    // The helper above reads what the sets have: all of it.
    let counted = std::fs::read_to_string(support::data("h100/gemm.csv"))
        .unwrap()
        .lines()
        .count()
        - 1;
    assert_eq!(rows_of("h100", OperationKind::Gemm).len(), counted);
}
