//! Servers of several kinds, and servers that are lost.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut_report::{Report, Role};
use rooflut_scenario::{Run, Server};
use support::{report, run};

const LOAD: &str =
    "[workload]\nrate = 30\nrequests = 400\nprompt = 'lognormal:500,0.8'\noutput = 'lognormal:100,0.8'\n";
const POOLS: &str = "prefill_replicas = 1\ndecode_replicas = 2\nlink_bandwidth = 50\nlink_latency = 10\n";

/// Figures of a report on its requests.
fn figures(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let latencies = [report.ttft_ms, report.tpot_ms, report.itl_ms, report.e2e_ms, report.queue_ms];
    (
        latencies,
        report.throughput,
        report.steps,
        report.makespan_s,
        report.busy_share,
        report.kv_blocks_peak,
        report.gpus,
    )
}

fn servers(settings: &str) -> Report {
    report(&format!("{LOAD}[server]\n{settings}"))
}

#[test]
fn a_fleet_of_equal_servers_serves_as_replicas_do() {
    for router in ["round-robin", "least-tokens"] {
        let router = format!("router = '{router}'\n");
        let replicas = servers(&format!("replicas = 3\n{router}"));
        let fleet = report(&format!("[[fleet]]\ngpu = 'h100'\n[[fleet]]\nreplicas = 2\n{LOAD}[server]\n{router}"));
        assert_eq!(figures(&fleet), figures(&replicas));
        let kinds = fleet.servers.as_deref().unwrap();
        assert_eq!(kinds.iter().map(|kind| (kind.servers, kind.first_replica)).collect::<Vec<_>>(), [(1, 0), (2, 1)]);
        let requests: u64 = kinds.iter().map(|kind| kind.requests).sum();
        assert_eq!(requests, replicas.completed);
        // The peaks of single servers are at least that of all at once.
        assert!(kinds.iter().map(|kind| kind.kv_blocks_peak).sum::<u32>() >= replicas.kv_blocks_peak);
        assert_eq!((replicas.servers, replicas.replicas), (None, 3));
    }
}

#[test]
fn pools_with_the_settings_of_the_scenario_serve_as_pools_without() {
    let plain = servers(POOLS);
    for own in ["prefill = 'tp=1'", "decode = 'tp=1'", "decode = ['gpu=h100', 'kv_dtype=bf16']"] {
        let pools = servers(&format!("{POOLS}{own}\n"));
        assert_eq!(figures(&pools), figures(&plain), "{own}");
        assert_eq!(pools.disaggregation, plain.disaggregation, "{own}");
        let roles = pools.servers.unwrap().into_iter().map(|kind| (kind.role, kind.share));
        assert_eq!(roles.collect::<Vec<_>>(), [(Role::Prefill, Some(1.0)), (Role::Decode, Some(1.0))]);
    }
}

#[test]
fn each_pool_has_its_own_parallelism_and_limits() {
    let pools = servers(&format!("{POOLS}prefill = 'tp=4'\ndecode = ['tp=2', 'max_num_seqs=7']\n"));
    let kinds = pools.servers.as_deref().unwrap();
    assert_eq!(pools.gpus, 4 + 2 * 2);
    assert_eq!(kinds.iter().map(|kind| (kind.tp, kind.gpus)).collect::<Vec<_>>(), [(4, 4), (2, 4)]);
    assert_eq!((kinds[0].server.max_num_seqs, kinds[1].server.max_num_seqs), (Some(1024), Some(7)));
    assert!(kinds[1].running_mean <= 14.0);
    // Four GPUs compute prompts faster than one.
    let plain = servers(POOLS);
    let busy = |report: &Report| report.disaggregation.unwrap().prefill_busy_share;
    assert!(busy(&pools) < 0.6 * busy(&plain), "{} {}", busy(&pools), busy(&plain));
}

#[test]
fn cost_and_energy_are_those_of_all_kinds() {
    let text = format!("[[fleet]]\ntp = 4\n[[fleet]]\nreplicas = 3\n{LOAD}");
    let fleet = report(&text);
    let cost = fleet.cost.as_ref().unwrap();
    let hours = fleet.gpus as f64 * fleet.makespan_s / 3600.0;
    assert_eq!(fleet.gpus, 7);
    assert!((cost.usd - hours * cost.price.usd_per_gpu_hour).abs() < 1e-9);
    let busy = fleet.servers.as_ref().unwrap().iter().map(|kind| kind.gpus as f64 * kind.busy_share).sum::<f64>();
    let energy = fleet.energy_bound.unwrap();
    assert!((energy.busy_gpu_hours - busy * fleet.makespan_s / 3600.0).abs() < 1e-9);
    assert!((energy.tdp_w - 700.0).abs() < 1e-9);
}

#[test]
fn servers_of_data_parallel_ranks_have_replicas() {
    let settings = |server: &str| {
        let target = "model = 'qwen3-30b-a3b-fp8'\ndp = 2\nexpert_parallel = true\n";
        report(&format!("{target}[workload]\nrate = 20\nrequests = 200\n[server]\n{server}"))
    };
    let (one, two) = (settings(""), settings("replicas = 2\n"));
    assert_eq!((one.gpus, two.gpus, two.replicas, two.dp), (2, 4, 2, 2));
    assert_eq!((two.completed, two.kv_blocks), (200, 2 * one.kv_blocks));
    assert!(two.running_mean < one.running_mean);
    let pools = settings(POOLS);
    assert_eq!((pools.gpus, pools.replicas, pools.completed), (6, 3, 200));
}

#[test]
fn requests_of_a_lost_server_start_again_elsewhere_and_all_are_served() {
    let lost = servers("replicas = 2\nlose = '1@3..6'\n");
    let whole = servers("replicas = 2\n");
    assert!(lost.restarted.unwrap() > 0 && lost.completed == 400);
    assert!(lost.steady.is_transient && lost.steady.from_s.is_none());
    assert!(lost.e2e_ms.mean > whole.e2e_ms.mean);
    assert_eq!((whole.restarted, whole.outages), (None, None));
    assert!((lost.outages.unwrap()[0].to_s - 6.0).abs() < 1e-9);
}

#[test]
fn requests_wait_while_the_only_server_is_lost() {
    let lost = servers("lose = '0@3..6'\n");
    assert_eq!(lost.completed, 400);
    assert!(lost.ttft_ms.p99.is_none_or(|ms| ms > 2500.0), "{:?}", lost.ttft_ms);
    assert!(lost.ttft_ms.mean.unwrap() > 200.0);
}

#[test]
fn a_run_without_a_number_of_requests_shows_the_recovery() {
    let text = "[workload]\nrate = 4\noutput = 20\n[server]\nreplicas = 2\nlose = '0@100..400'\n";
    let report = report(text);
    // As long again as the outage lasts.
    assert!((690.0..720.0).contains(&report.makespan_s), "{}", report.makespan_s);
    assert!(report.notes.iter().all(|note| !note.contains("the run ends")), "{:?}", report.notes);
}

#[test]
fn an_outage_that_the_run_does_not_reach_is_refused_and_one_that_outlasts_it_is_told() {
    let late = run(&format!("{LOAD}[server]\nreplicas = 2\nlose = '1@1000..2000'\n"));
    let error = late.run(&mut ()).unwrap_err().to_string();
    assert!(error.contains("begin before the run ends") && error.contains("requests"), "{error}");
    let long = servers("replicas = 2\nlose = '1@5..2000'\n");
    let told = long.notes.iter().any(|note| note.contains("before server 1 is back at 2000 s"));
    assert!(told && long.completed == 400, "{:?}", long.notes);
}

#[test]
fn intervals_and_seeds_are_of_all_kinds() {
    let text = format!("[[fleet]]\ntp = 2\n[[fleet]]\n{LOAD}seeds = 2\n[output]\ninterval = 0.8\n");
    let report = report(&text);
    let ttft = report.interval.unwrap().ttft_ms.mean.unwrap();
    assert!(ttft.low < report.ttft_ms.mean.unwrap() && report.ttft_ms.mean.unwrap() < ttft.high);
    assert_eq!(report.seeds.unwrap().count, 2);
}

#[test]
fn two_runs_of_one_server_each_make_a_run_of_pools() {
    let with = |settings: &str| format!("{settings}{LOAD}[server]\nmax_num_seqs = 200\n");
    let [prefill, decode] = ["tp = 4\n", "tp = 2\nexpert_parallel = false\n"].map(|target| run(&with(target)));
    let mut counts = Server::default();
    (counts.prefill_replicas, counts.decode_replicas) = (Some(1), Some(2));
    (counts.link_bandwidth, counts.link_latency) = (Some(50.0), Some(10.0));
    let both = Run::with_pools(&prefill, &decode, &counts).unwrap();
    let expected = servers(&format!("{POOLS}max_num_seqs = 200\nprefill = 'tp=4'\ndecode = 'tp=2'\n"));
    assert_eq!(figures(&both.run(&mut ()).unwrap().report()), figures(&expected));
    // Its scenario describes it.
    let server = &both.scenario().server;
    let prefill: Vec<String> = server.prefill.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(prefill, ["tp=4", "max_num_seqs=200"]);
    assert_eq!(both.scenario().target.tp, None);
    counts.decode_replicas = Some(1);
    assert_eq!(both.with_servers(&counts).unwrap().gpus(), 6);
    let fp8 = run(&with("kv_dtype = 'fp8'\n"));
    let error = Run::with_pools(&both, &fp8, &counts).unwrap_err().to_string();
    assert!(error.contains("expected one KV format"), "{error}");
}
