//! Ranges of measurements around the figures of a run.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut_report::{ModelInterval, Range, Report};

use support::report;

const LOAD: &str = "[workload]\nrequests = 300\noutput = 64\n";

fn interval(text: &str) -> (Report, ModelInterval) {
    let report = report(&format!("{LOAD}{text}"));
    let interval = report.interval.unwrap();
    (report, interval)
}

/// Returns high / low, after a check that the figure lies between them.
fn width(range: Option<Range>, figure: Option<f64>) -> f64 {
    let (Range { low, high, .. }, figure) = (range.unwrap(), figure.unwrap());
    assert!(0.0 < low && low < figure && figure < high, "{low} {figure} {high}");
    high / low
}

#[test]
fn ranges_contain_their_figures_and_grow_with_the_coverage() {
    let widths = |text: &str| {
        let (report, interval) = interval(text);
        [
            width(interval.ttft_ms.mean, report.ttft_ms.mean),
            width(interval.ttft_ms.p90, report.ttft_ms.p90),
            width(interval.tpot_ms.mean, report.tpot_ms.mean),
            width(interval.e2e_ms.mean, report.e2e_ms.mean),
        ]
    };
    let narrow = widths("rate = 5\n[output]\ninterval = 0.5");
    let wide = widths("rate = 5\n[output]\ninterval = 0.95");
    for (narrow, wide) in narrow.into_iter().zip(wide) {
        assert!(narrow < wide, "{narrow} {wide}");
    }
    for servers in ["replicas = 2", "prefill_replicas = 1\ndecode_replicas = 1\nlink_bandwidth = 50\nlink_latency = 10"]
    {
        widths(&format!("rate = 5\n[server]\n{servers}\n[output]\ninterval = 0.8"));
    }
}

#[test]
fn queues_amplify_the_errors_of_the_steps() {
    let ttft = |rate| {
        let (report, interval) =
            interval(&format!("rate = {rate}\n[server]\nmax_num_seqs = 128\n[output]\ninterval = 0.8"));
        let throughput = interval.requests_per_s;
        let served = report.throughput.requests_per_s;
        assert!(throughput.low <= served && served <= throughput.high);
        (width(interval.ttft_ms.mean, report.ttft_ms.mean).ln(), throughput.high / throughput.low)
    };
    let (light, overload) = (ttft(1), ttft(70));
    assert!(overload.0 > 1.5 * light.0, "{light:?} {overload:?}");
    // The load limits the throughput of the one, the steps that of the other.
    assert!(light.1 < 1.01 && overload.1 > 1.02, "{light:?} {overload:?}");
}

#[test]
fn other_figures_do_not_depend_on_the_interval() {
    let (mut with, _) = interval("rate = 5\n[output]\ninterval = 0.8");
    let without = report(&format!("{LOAD}rate = 5"));
    with.interval = None;
    with.command = without.command.clone();
    assert_eq!(with, without);
}

#[test]
fn data_parallel_ranks_are_one_server_of_several_gpus() {
    let ranks = "model = 'qwen3-30b-a3b'\nexpert_parallel = true\n";
    let load = "[workload]\nrequests = 100\noutput = 64\nusers = 32\n[output]\ninterval = 0.5\n";
    let of = |dp: u32| report(&format!("{ranks}dp = {dp}\n{load}"));
    let [one, four] = [of(1), of(4)];
    assert_eq!((four.dp, four.gpus, four.replicas), (4, 4, 1));
    assert_eq!((one.dp, one.gpus, one.replicas), (1, 1, 1));
    // Each rank has its own KV blocks, and more of them without three quarters of the experts.
    assert!(four.kv_blocks > 4 * one.kv_blocks);
    assert!(four.tpot_ms.mean < one.tpot_ms.mean);
    let interval = four.interval.unwrap();
    width(interval.ttft_ms.mean, four.ttft_ms.mean);
    width(interval.tpot_ms.mean, four.tpot_ms.mean);
    let several = report(&format!("{ranks}dp = 2\n{load}[server]\nreplicas = 2\n"));
    assert_eq!((several.dp, several.gpus, several.replicas), (2, 4, 2));
}
