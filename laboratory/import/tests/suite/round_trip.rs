//! Kernels written in a layout and imported come back unchanged.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code outside of test functions"
)]

use std::collections::BTreeSet;

use crate::support::generate::{ALL_REDUCE, MLP, dtype, latencies, other_shape, points, rows, shape, vidur_row};
use crate::support::{FASTEST, H100, Rows, answers, bench_data, imported, in_ms, perf, rows_of, set, written};
use proptest::prelude::*;
use rooflut_codegen::{MeasuredKernel, OperationKind};
use rooflut_import::{Answers, Layout};
use rooflut_roofline::{AllReduceShape, Dtype, GemmShape};

#[test]
fn the_projects_sets_survive_aiconfigurators_layout() {
    for name in ["a100", "b200", "h100", "h200", "l40s"] {
        let rows = set(name);
        assert!(rows.len() > 1000);
        let import = imported(Layout::AiConfigurator, &perf(&rows), &answers(&FASTEST)).unwrap();
        assert_eq!(written(&import), rows, "{name}");
        let defects: Vec<&str> = import.report.findings.iter().map(|found| found.defect).collect();
        assert!(import.report.left_out.is_empty());
        assert!(defects.iter().all(|defect| *defect == "ragged grid"), "{defects:?}");
    }
}

#[test]
fn infersims_figures_survive_the_layout_that_they_came_in() {
    let rows = set("../laboratory/predecessors/h100-infersim");
    let answers = Answers { gemm_dtype: Some(Dtype::Fp8Block), ..answers(&H100) };
    let import = imported(Layout::Blis, &bench_data(&rows), &answers).unwrap();
    assert_eq!(written(&import), rows);
    let floor = import
        .report
        .findings
        .iter()
        .find(|found| found.defect == "eager floor")
        .expect("its decode attention was timed eagerly");
    assert_eq!(floor.operation, "decode");
    assert!(import.report.left_out.is_empty());

    let whole: Rows = rows
        .into_iter()
        .filter(|(kernel, _)| kernel.operation() != OperationKind::Decode || kernel.code("tp") == Some(1))
        .collect();
    let import = imported(Layout::InferSim, &bench_data(&whole), &answers).unwrap();
    assert_eq!(written(&import), whole);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_rows_survive_aiconfigurators_layout(
        rows in rows(prop_oneof![shape(vec![1]), other_shape()]),
    ) {
        let import = imported(Layout::AiConfigurator, &perf(&rows), &answers(&FASTEST)).unwrap();
        prop_assert_eq!(written(&import), rows);
    }

    #[test]
    fn any_rows_survive_the_trees_of_infersim_and_blis(
        rows in rows(shape(vec![1, 2, 4])),
        gemm_dtype in dtype(),
    ) {
        // GEMMs are of one format, which the files do not say.
        let one_format = |(mut kernel, us): (MeasuredKernel, f64)| {
            if kernel.operation() == OperationKind::Gemm {
                let shape = GemmShape { dtype: gemm_dtype, ..kernel.shape() };
                kernel = MeasuredKernel::new(OperationKind::Gemm, shape, kernel.point());
            }
            (kernel, us)
        };
        let rows: Rows = rows.into_iter().map(one_format).collect();
        let answers = Answers { gemm_dtype: Some(gemm_dtype), ..answers(&FASTEST) };
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
            expected.insert(MeasuredKernel::new(OperationKind::AllReduce, shape, [*bytes, 1]), *us);
        }
        let files = [
            ("compute/h100/org/model/mlp.csv".to_owned(), mlp),
            ("network/h100_dgx/all_reduce.csv".to_owned(), network),
        ];
        let import = imported(Layout::Vidur, &files, &answers(&FASTEST)).unwrap();
        // A first layer of random times may look like a warm-up; then the report lists it.
        let left_out = &import.report.left_out;
        prop_assert!(left_out.iter().all(|rows| rows.reason.contains("warm-up")), "{:?}", left_out);
        let found = written(&import);
        prop_assert!(found.iter().all(|(kernel, us)| expected.get(kernel) == Some(us)));
        prop_assert_eq!(found.len() + left_out.len(), expected.len());
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
        let import = imported(Layout::InferSim, &files, &answers(&FASTEST)).unwrap();
        let lines = files[0].1.lines().filter(|line| !line.is_empty()).count() - 1;
        prop_assert_eq!(import.report.read(), lines);
    }
}

#[test]
fn the_rows_of_one_operation_are_those_of_its_file() {
    // The helper above reads what the sets have: all of it.
    let counted = std::fs::read_to_string(crate::support::data("h100/gemm.csv")).unwrap().lines().count() - 1;
    assert_eq!(rows_of("h100", OperationKind::Gemm).len(), counted);
}
