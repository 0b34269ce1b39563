//! `rooflut run` with prefill and decode on servers of their own.

use crate::support::{json, number, unwrapped};

fn pools(bandwidth: u32, latency: u32) -> String {
    format!("--prefill-replicas 1 --decode-replicas 1 --link-bandwidth {bandwidth} --link-latency {latency}")
}

fn answer(flags: &str) -> serde_json::Value {
    json(&format!("run --rate 4 --requests 500 {flags}"))
}

#[test]
fn prompts_no_longer_hold_tokens_up() {
    let shared = answer("--replicas 2 --prompt 2000");
    let own = answer(&format!("{} --prompt 2000", pools(100, 5)));
    let itl = |answer| number(answer, "/itl_ms/p99");
    assert!(2.0 * itl(&own) < itl(&shared), "{} {}", itl(&own), itl(&shared));
    assert_eq!((&own["replicas"], &own["router"]), (&2.into(), &"round-robin".into()));
    assert_eq!(own["completed"], 500);
    assert!(number(&own, "/busy_share") <= 1.0);
}

#[test]
fn a_slow_link_delays_the_first_token_by_what_it_takes() {
    let (fast, slow) = (answer(&pools(100, 0)), answer(&pools(2, 1000)));
    // 512 tokens of 128 KiB: 67 MB.
    let bytes = number(&fast, "/disaggregation/kv_bytes_per_token") * 512.0;
    assert!((bytes - 67_108_864.0).abs() < 1.0);
    let delay = |answer| number(answer, "/disaggregation/transfer_mean_ms");
    assert!((delay(&fast) - bytes / 100e6).abs() < 0.05, "{}", delay(&fast));
    assert!(delay(&slow) >= bytes / 2e6 + 1.0, "{}", delay(&slow));
    let ttft = |answer| number(answer, "/ttft_ms/mean");
    assert!(ttft(&slow) - ttft(&fast) > bytes / 2e6);
    assert_eq!(fast["disaggregation"]["transfers"], 500);
    assert_eq!(answer("")["disaggregation"], serde_json::Value::Null);
    let text = unwrapped(&format!("run --rate 4 --requests 20 {}", pools(100, 5)));
    for part in [
        "1 prefill server and 1 decode server, KV entries over links of 100.0 GB/s and 5.0 us",
        "from the end of the prefill to the arrival of its KV entries",
    ] {
        assert!(text.contains(part), "{text}");
    }
}
