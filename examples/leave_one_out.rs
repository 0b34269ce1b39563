//! Prints how well lookups predict rows that they do not see, per table and policy.
//!
//! `cargo run --release -p rooflut --features h100-infersim --example leave_one_out`
#![allow(clippy::unwrap_used)]

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
            let errors = leave_one_out::gemm_shapes(set, dtype);
            print(
                &format!("gemm {dtype}, unseen (k, n)"),
                "efficiency",
                &errors,
            );
        }
        print("allreduce", "efficiency", &leave_one_out::allreduce(set));
        print("moe", "efficiency", &leave_one_out::moe(set));
    }
}

fn print(table: &str, policy: &str, left_out: &LeftOut) {
    let LeftOut {
        full,
        ragged,
        unanswered,
    } = left_out;
    for (kind, errors) in [("", full), (", ragged cells", ragged)] {
        if !errors.is_empty() {
            let percent = |q| LeftOut::quantile(errors, q).unwrap() * 100.0;
            let (median, p95, points) = (percent(0.5), percent(0.95), errors.len());
            let name = format!("{table}{kind}");
            println!("  {name:<32} {policy:<11} {median:5.1} / {p95:5.1}  ({points})");
        }
    }
    if *unanswered > 0 {
        println!("  {table:<32} {policy:<11} no answer for {unanswered} points");
    }
}
