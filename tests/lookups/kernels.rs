//! Kernels of all operations, as programs look them up that learn at run time which one.

use crate::support::{DEEPSEEK_V3, apart, gemm, tolerances};
use rooflut::hardware::{Dtype, MeasuredKernel, OperationKind};
use rooflut::op::{Gemm, Kernel};
use rooflut::table::{Class, TableSet, sets};
use rooflut_roofline::operation::Codes;

/// Checks the answers to the rows of an operation, and returns how many there are.
fn answered_rows(set: &TableSet, operation: OperationKind) -> usize {
    let rows = set.table(operation).into_iter().flat_map(|it| it.rows());
    let check = |(row, us): (MeasuredKernel, f32)| {
        let shape: Codes = row.shape();
        let kernel = Kernel::resolve(set, operation, shape).unwrap();
        assert_eq!(kernel.operation(), operation);
        let names = kernel.arguments().iter().map(|it| it.of_one_length().name());
        let axes = operation.declared().axes.iter();
        // Axes of collectives say which message it is.
        assert_eq!(names.len(), axes.len(), "{operation}");
        assert!(axes.zip(names).all(|(axis, name)| axis.ends_with(name)));
        let answer = kernel.at_point(row.point().map(u64::from));
        let close = apart(answer.time.us(), us.into()) < tolerances::STORED_F32;
        assert!(close, "{row:?}: {answer:?} for {us} us");
        assert_eq!(answer.provenance, Class::Measured.inside(), "{row:?}");
        assert_eq!(kernel.class(), Class::Measured);
        let matched: Vec<_> = kernel.matched().map(|it| (it.shape, it.share)).collect();
        assert_eq!(matched, [(shape, 1.0)], "{row:?}");
    };
    rows.map(check).count()
}

#[test]
fn every_row_of_every_operation_is_answered_as_measured() {
    for operation in OperationKind::ALL {
        let rows: usize = sets::ALL.into_iter().map(|set| answered_rows(set, operation)).sum();
        assert!(rows > 0, "{operation}: no row");
    }
}

#[test]
fn values_outside_of_the_range_of_an_argument_are_treated_as_its_ends() {
    let shape = gemm(Dtype::Bf16, 4096, 4096);
    let kernel = Kernel::resolve(&sets::H100, OperationKind::Gemm, shape).unwrap();
    let gemm = Gemm::resolve(&sets::H100, shape).unwrap();
    for (given, read) in [(0, 1), (100, 100), (u64::MAX, u32::MAX)] {
        assert_eq!(kernel.at(given, 0), gemm.at(read));
    }
}

#[test]
fn sparse_attention_without_an_indexer_is_refused() {
    let dense = Kernel::resolve(&sets::H100, OperationKind::MlaDecode, DEEPSEEK_V3);
    assert!(dense.is_ok());
    let sparse = Kernel::resolve(&sets::H100, OperationKind::DsaDecode, DEEPSEEK_V3);
    let message = sparse.unwrap_err().to_string();
    assert_eq!(message, "dsa_decode: expected positive dimensions, found 0");
}
