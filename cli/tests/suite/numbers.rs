//! Forms of numbers.

use crate::support::json;

#[test]
fn numbers_are_read_as_people_write_them() {
    let plain = json("run --requests 1000 --rate 1000 --prompt 1000 --dtype fp8 --goodput ttft:500");
    for forms in [
        "run --requests 1e3 --rate 1e3 --prompt 1e3 --dtype FP8 --goodput ttft:500ms",
        "run --requests 1_000 --rate 1e3 --prompt 1_000 --dtype fp8_e4m3 --goodput ttft:0.5s",
    ] {
        assert_eq!(json(forms), plain, "{forms}");
    }
    let users = "run --requests 40 --users 4 --think-time";
    assert_eq!(json(&format!("{users} 500ms")), json(&format!("{users} 0.5")));
    let lookup = "lookup gemm --k 4096 --n 4096";
    assert_eq!(json(&format!("{lookup} --m 1_000 --dtype bfloat16")), json(&format!("{lookup} --m 1000")));
    assert_eq!(json("step --decode 64x1_000"), json("step --decode 64x1000"));
}
