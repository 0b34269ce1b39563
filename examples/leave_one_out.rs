//! Prints how well lookups predict rows that they do not see, per table and policy.
//!
//! `cargo run --release -p rooflut --features h100-infersim --example leave_one_out`

use rooflut::hardware::Dtype;
use rooflut::op::Policy;
use rooflut::op::leave_one_out::{self, LeftOut};
use rooflut::table::sets;

fn main() {
    println!("Absolute error of left-out rows, %: median / p95 (points)");
    for set in sets::ALL {
        println!("\n{} ({})", set.name, set.origin.engine);
        for policy in Policy::ALL {
            for dtype in Dtype::ALL {
                let errors = leave_one_out::gemm(set, dtype, policy);
                print(&format!("gemm {dtype}"), policy.name(), &errors);
            }
            print(
                "prefill",
                policy.name(),
                &leave_one_out::prefill(set, policy),
            );
            print("decode", policy.name(), &leave_one_out::decode(set, policy));
        }
        for dtype in Dtype::ALL {
            let LeftOut {
                full: inside,
                ragged: outside,
                ..
            } = leave_one_out::gemm_shapes(set, dtype);
            let name = format!("gemm {dtype}, unseen (k, n)");
            print_errors(&format!("{name} inside"), "efficiency", &inside);
            print_errors(&format!("{name} outside"), "efficiency", &outside);
        }
        print("allreduce", "efficiency", &leave_one_out::allreduce(set));
        print("moe", "efficiency", &leave_one_out::moe(set));
    }
}

fn print(table: &str, policy: &str, left_out: &LeftOut) {
    print_errors(table, policy, &left_out.full);
    print_errors(&format!("{table}, ragged cells"), policy, &left_out.ragged);
    if left_out.unanswered > 0 {
        let points = left_out.unanswered;
        println!("  {table:<36} {policy:<11} no answer for {points} points");
    }
}

fn print_errors(name: &str, policy: &str, errors: &[f64]) {
    let percent = |q| LeftOut::quantile(errors, q).map(|error| error * 100.0);
    if let (Some(median), Some(p95)) = (percent(0.5), percent(0.95)) {
        let points = errors.len();
        println!("  {name:<36} {policy:<11} {median:5.1} / {p95:5.1}  ({points})");
    }
}
