//! One CSV without a set: the recognised operation, and the refused rows.

use std::path::PathBuf;

use crate::support::{ALLREDUCE, DECODE, GEMM, MOE, PREFILL, TOY};
use rooflut_codegen::{Error, ErrorKind, MeasuredKernel, MeasuredRows, OperationKind, read_rows};
use rooflut_roofline::{AllReduceShape, Dtype, GemmShape};
use tempfile::TempDir;

fn file(contents: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.csv");
    std::fs::write(&path, contents).unwrap();
    (folder, path)
}

fn read(contents: &str, operation: Option<OperationKind>) -> Result<MeasuredRows, Error> {
    let (_folder, path) = file(contents);
    read_rows(&path, operation, &TOY)
}

#[test]
fn every_operation_is_recognised_by_its_columns() {
    for (header, row, operation) in [
        (GEMM, "bf16,64,64,8,10", OperationKind::Gemm),
        (PREFILL, "bf16,bf16,8,2,64,1,16,10", OperationKind::Prefill),
        (DECODE, "bf16,bf16,8,2,64,1,1,16,10", OperationKind::Decode),
        (ALLREDUCE, "2,256,10", OperationKind::AllReduce),
        (MOE, "bf16,8,2,64,64,1,4,10", OperationKind::Moe),
    ] {
        let contents = format!("{header}{row}\n");
        for asked in [None, Some(operation)] {
            let rows = read(&contents, asked).unwrap();
            assert_eq!((rows.operation, rows.rows.len()), (operation, 1));
        }
        assert_eq!(OperationKind::from_name(operation.name()), Some(operation));
        let columns: Vec<_> = operation.declared().columns().collect();
        assert_eq!(header.trim_end(), columns.join(","));
    }
}

#[test]
fn rows_keep_their_lines_and_may_repeat_a_kernel() {
    let contents = "latency_us,bytes,ranks\n\n10,256,2\r\n10.5,256,2\n";
    let rows = read(contents, None).unwrap().rows;
    let kernel = MeasuredKernel::new(OperationKind::AllReduce, AllReduceShape { ranks: 2 }, [256, 1]);
    assert!(rows.iter().all(|row| row.kernel == kernel), "{rows:?}");
    assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn rows_that_break_physics_are_refused_one_by_one() {
    let contents = format!("{GEMM}bf16,4096,4096,4096,1\nfp8,64,64,8,10\nbf16,64,64,8,10\n");
    let MeasuredRows { rows, refused, .. } = read(&contents, None).unwrap();
    let shape = GemmShape { dtype: Dtype::Bf16, k: 64, n: 64 };
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].kernel, MeasuredKernel::new(OperationKind::Gemm, shape, [8, 1]));
    let lines: Vec<u64> = refused.iter().map(|row| row.line).collect();
    assert_eq!(lines, [2, 3]);
    assert!(matches!(refused[0].error.kind(), ErrorKind::Impossible { .. }));
    assert!(matches!(refused[1].error.kind(), ErrorKind::Value));
    assert_eq!(refused[1].error.field(), "dtype");
    let contents = "dtype,k,n,m,latency_us,mfu\nbf16,64,64,8,10,0.5\n";
    let refused = read(contents, None).unwrap().refused;
    assert!(matches!(refused[0].error.kind(), ErrorKind::MfuDisagrees));
}

#[test]
fn rows_that_cannot_be_read_are_refused_one_by_one() {
    let rows = "bf16,64,64,8,10\nbf16,64,64,8,-\nint8,64,64,8,10\nbf16,64,64,64.0,10\nbf16,64\n";
    let MeasuredRows { rows, refused, .. } = read(&format!("{GEMM}{rows}"), None).unwrap();
    assert_eq!(rows.len(), 1);
    let found: Vec<(u64, &str)> = refused
        .iter()
        .map(|row| match row.error.kind() {
            ErrorKind::Value | ErrorKind::Row => (row.line, row.error.field()),
            _ => panic!("{}", row.error),
        })
        .collect();
    let expected = [(3, "latency_us"), (4, "dtype"), (5, "m"), (6, "row")];
    assert_eq!(found, expected);
}

#[test]
fn columns_that_no_set_has_are_ignored_and_listed() {
    let contents = "note,ranks,bytes,latency_us,kernel_source,note\nx,2,256,10,nccl,y\n";
    let read = read(contents, None).unwrap();
    assert_eq!(read.ignored, ["note", "kernel_source", "note"]);
    assert_eq!((read.rows.len(), read.refused.len()), (1, 0));
}

#[test]
fn rows_that_warm_up_are_refused_and_empty_ones_skipped() {
    let rows = "2,256,90,1\n,,,\n2,256,80,True\n2,256,nan,1.0\n2,256,10,0\n2,256,11,\n,\n";
    let read = read(&format!("ranks,bytes,latency_us,warmup\n{rows}"), None).unwrap();
    let warm = |row: &rooflut_codegen::RefusedRow| match row.error.kind() {
        ErrorKind::WarmUp => row.error.line().unwrap(),
        _ => panic!("{}", row.error),
    };
    assert_eq!(read.refused.iter().map(warm).collect::<Vec<_>>(), [2, 4, 5]);
    assert_eq!((read.rows.len(), read.ignored.len()), (2, 0));
}
