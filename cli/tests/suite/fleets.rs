//! Fleets of unlike servers, pools with settings of their own, and servers that are lost.

use crate::support::{failure, file, json, list, number, rooflut, success, text, unwrapped};

const FLEET: &str = "[[fleet]]\ngpu = 'h100'\n[[fleet]]\ngpu = 'l40s'\nreplicas = 2\nmax-num-seqs = 8\n";

#[test]
fn a_fleet_has_a_row_and_an_entry_for_each_kind() {
    let (_folder, path) = file("fleet.toml", FLEET);
    let flags = format!("run --fleet {path} --rate 12 --requests 300 --router least-tokens");
    let report = json(&flags);
    let kinds = list(&report, "/servers");
    let cells = kinds.iter().map(|kind| (text(kind, "/gpu"), number(kind, "/servers"), number(kind, "/max_num_seqs")));
    assert_eq!(cells.collect::<Vec<_>>(), [("h100", 1.0, 1024.0), ("l40s", 2.0, 8.0)]);
    let requests: f64 = kinds.iter().map(|kind| number(kind, "/requests")).sum();
    assert_eq!((requests, number(&report, "/gpus"), text(&report, "/gpu")), (300.0, 3.0, "h100 + l40s"));
    assert!(number(&kinds[0], "/share") > 0.5, "the H100 is faster: {}", kinds[0]);
    let page = unwrapped(&flags);
    for part in [
        "llama-3.1-8b on 1 h100 GPU and 2 l40s GPUs",
        "servers 2 servers of 1 l40s GPU each: 8 sequences",
        "policies least-tokens",
        "USD per GPU hour on average (h100 6.88 USD",
    ] {
        assert!(page.contains(part), "no {part} in\n{page}");
    }
    // A scenario file may have these tables.
    let (_folder, scenario) = file("scenario.toml", format!("{FLEET}[workload]\nrate = 12\nrequests = 300\n"));
    let again = json(&format!("run --scenario {scenario} --router least-tokens"));
    assert_eq!((&again["servers"], &again["ttft_ms"]), (&report["servers"], &report["ttft_ms"]));
}

#[test]
fn a_price_that_is_not_known_is_named() {
    let (_folder, path) = file("fleet.toml", "[[fleet]]\ngpu = 'h100'\n[[fleet]]\ngpu = 'b300'\n");
    let page = unwrapped(&format!("run --fleet {path} --requests 20"));
    assert!(page.contains("the price of b300 is not known; give one with --price b300=USD"), "{page}");
    let report = json(&format!("run --fleet {path} --requests 20 --price b300=9 h100=3"));
    assert!((number(&report, "/cost/usd_per_gpu_hour") - 6.0).abs() < 1e-9);
}

#[test]
fn prefill_and_decode_servers_have_gpus_and_parallelism_of_their_own() {
    let flags =
        "--requests 100 --rate 5 --prefill-replicas 1 --decode-replicas 2 --link-bandwidth 50 --link-latency 10";
    let report = json(&format!("run {flags} --prefill gpu=h200 --decode tensor-parallel-size=2 gpu=h100"));
    let kinds = list(&report, "/servers");
    let cells = kinds.iter().map(|kind| (text(kind, "/role"), text(kind, "/gpu"), number(kind, "/gpus")));
    assert_eq!(cells.collect::<Vec<_>>(), [("prefill", "h200", 1.0), ("decode", "h100", 4.0)]);
    let message = failure(&format!("run {flags} --decode kv_dtype=fp8"));
    assert!(message.contains("expected one KV format"), "{message}");
}

#[test]
fn replicas_of_files_are_those_of_all_kinds() {
    let (folder, path) = file("fleet.toml", FLEET);
    let csv = folder.path().join("requests.csv");
    success(&format!("run --fleet {path} --requests 30 --requests-out {}", csv.display()));
    let rows = std::fs::read_to_string(csv).unwrap();
    let mut lines = rows.lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "replica").unwrap();
    let replicas: Vec<&str> = lines.map(|line| line.split(',').nth(column).unwrap()).collect();
    assert!(["0", "1", "2"].iter().all(|replica| replicas.iter().filter(|of| *of == replica).count() == 10));
}

#[test]
fn a_lost_server_is_told_with_the_requests_that_start_again() {
    let flags = "run --replicas 2 --rate 20 --requests 400 --lose 1@5s..8s";
    let report = json(flags);
    assert!(number(&report, "/restarted") > 0.0);
    assert_eq!(report["outages"][0]["server"], 1);
    let page = unwrapped(flags);
    let told = format!("server 1 from 5 to 8 s; {} requests started again", report["restarted"]);
    assert!(page.contains(&told), "no {told} in\n{page}");
    assert!(json("run --requests 20").get("restarted").is_none());
}

#[test]
fn sweeps_and_comparisons_take_fleets() {
    let (folder, path) = file("fleet.toml", FLEET);
    let other = folder.path().join("other.toml");
    std::fs::write(&other, "[[fleet]]\ngpu = 'h200'\n").unwrap();
    let rows = success(&format!("sweep --fleet {path} --fleet {} --lose 0@0.1..0.2 --requests 20", other.display()));
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert!(rows.contains(",h100 + l40s,") && rows.contains(",h200,"), "{rows}");
    let of = |gpu: &str| format!("[[fleet]]\n[[fleet]]\ngpu = '{gpu}'\n[workload]\nrequests = 100\n");
    let (_a, a) = file("a.toml", of("h200"));
    let (_b, b) = file("b.toml", of("l40s"));
    let compared = success(&format!("compare {a} {b}"));
    assert!(compared.contains("servers.1.gpu") && !compared.contains("servers.0.gpu"), "{compared}");
    let output = rooflut(&format!("saturate --fleet {path} --goodput ttft:2000@mean --requests 200")).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("servers of several kinds have a command each"), "{told}");
}
