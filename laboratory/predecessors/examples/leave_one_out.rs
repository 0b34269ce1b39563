//! Prints the errors of lookups on left-out rows, per table and method.
//!
//! `cargo run --release -p rooflut-predecessors --example leave_one_out`

use std::io::{self, StdoutLock, Write};

use rooflut::hardware::{DeltaKernel, DeltaShape, Dtype, OperationKind};
use rooflut::table::{Extent, TableSet, sets};
use rooflut_predecessors::H100_INFERSIM;
use rooflut_predecessors::leave_one_out::{self, LeftOut, Residual};
use rooflut_predecessors::lookup::Method;

fn main() -> io::Result<()> {
    match print_all(&mut io::stdout().lock()) {
        // The reader closed the pipe, as `| head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn print_all(out: &mut StdoutLock<'_>) -> io::Result<()> {
    writeln!(out, "Absolute error of left-out rows, %: median / p95 (points)")?;
    for set in sets::ALL.into_iter().chain([H100_INFERSIM]) {
        writeln!(out, "\n{} ({})", set.name(), set.origin().engine)?;
        for method in Method::ALL {
            for dtype in Dtype::ALL {
                let errors = leave_one_out::gemm(set, dtype, method);
                print(out, &format!("gemm {dtype}"), method.name(), &errors)?;
            }
            print(out, "prefill", method.name(), &leave_one_out::prefill(set, method, |_| true))?;
            print(out, "decode", method.name(), &leave_one_out::decode(set, method, |_| true))?;
        }
        for dtype in Dtype::ALL {
            let LeftOut { full: inside, ragged: outside, .. } = leave_one_out::gemm_shapes(set, dtype);
            let name = format!("gemm {dtype}, unseen (k, n)");
            print_errors(out, &format!("{name} inside"), "efficiency", &inside)?;
            print_errors(out, &format!("{name} outside"), "efficiency", &outside)?;
        }
        let prefill = leave_one_out::prefill_shapes(set);
        print(out, "prefill, unseen shape", "efficiency", &prefill)?;
        let decode = leave_one_out::decode_shapes(set);
        print(out, "decode, unseen shape", "efficiency", &decode)?;
        let moe = leave_one_out::moe_shapes(set);
        print(out, "moe, unseen layer", "efficiency", &moe)?;
        for operation in [OperationKind::AllReduce, OperationKind::AllGather, OperationKind::ReduceScatter] {
            let errors = leave_one_out::collective(set, operation);
            print(out, operation.name(), "efficiency", &errors)?;
        }
        print(out, "moe", "efficiency", &leave_one_out::moe(set, |_| true))?;
        let all = leave_one_out::residuals(set);
        for operation in
            [OperationKind::MlaPrefill, OperationKind::MlaDecode, OperationKind::DsaPrefill, OperationKind::DsaDecode]
        {
            let [own, plain] = leave_one_out::grids(set, operation);
            print(out, operation.name(), "efficiency", &own)?;
            print(out, operation.name(), "latency", &plain)?;
            let unseen = all.iter().filter(|residual| residual.transferred && residual.kernel.operation() == operation);
            let error = |residual: &Residual| ((-residual.ln_ratio).exp() - 1.0).abs();
            let errors: Vec<f64> = unseen.map(error).collect();
            print_errors(out, &format!("{operation}, unseen heads"), "efficiency", &errors)?;
        }
        print_delta(out, set)?;
    }
    out.flush()
}

/// Prints the errors of gated delta nets between rows, each left out with its row and column or with its shape.
fn print_delta(out: &mut StdoutLock<'_>, set: &TableSet) -> io::Result<()> {
    let all = leave_one_out::residuals(set);
    for operation in [OperationKind::DeltaPrefill, OperationKind::DeltaDecode] {
        for kernel in DeltaKernel::ALL {
            for (transferred, name) in [(false, ""), (true, ", unseen shape")] {
                let rows = all.iter().filter(|row| {
                    row.kernel.operation() == operation
                        && row.kernel.shape::<DeltaShape>().kernel == kernel
                        && (row.transferred, row.extent) == (transferred, Extent::Inside)
                });
                let errors: Vec<f64> = rows.map(|row| (-row.ln_ratio).exp_m1().abs()).collect();
                let name = format!("{operation} {kernel}{name}");
                print_errors(out, &name, "efficiency", &errors)?;
            }
        }
    }
    Ok(())
}

fn print(out: &mut StdoutLock<'_>, table: &str, method: &str, left_out: &LeftOut) -> io::Result<()> {
    print_errors(out, table, method, &left_out.full)?;
    print_errors(out, &format!("{table}, ragged cells"), method, &left_out.ragged)?;
    if left_out.unanswered > 0 {
        let points = left_out.unanswered;
        writeln!(out, "  {table:<36} {method:<11} no answer for {points} points")?;
    }
    Ok(())
}

fn print_errors(out: &mut StdoutLock<'_>, name: &str, method: &str, errors: &[f64]) -> io::Result<()> {
    let percent = |q| LeftOut::quantile(errors, q).map(|error| error * 100.0);
    if let (Some(median), Some(p95)) = (percent(0.5), percent(0.95)) {
        let points = errors.len();
        writeln!(out, "  {name:<36} {method:<11} {median:5.1} / {p95:5.1}  ({points})")?;
    }
    Ok(())
}
