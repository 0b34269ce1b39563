//! Unlike servers, servers of ranks, and servers that are lost: by hand.

use crate::support::{Linear, request};
use crate::workloads::texts;
use rooflut::engine::Scheduling;
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Outage, Router, ServerPool};
use rooflut::sim::load::RequestList;
use rooflut::sim::{Outcome, Rejection, Request, SimConfig, SimReport, Timing};
use rooflut::units::Seconds;

/// A prompt of 100 tokens takes 2000 ns, a decode of one such request 1201 ns and more.
fn config() -> SimConfig {
    SimConfig::new(2_000, 1_000).with_scheduling(Scheduling::Synchronous)
}

fn lost(server: u32, from_ns: u64, to_ns: u64) -> Outage {
    let seconds = |ns: u64| Seconds(ns as f64 / 1e9);
    Outage::try_new(server, seconds(from_ns), seconds(to_ns)).unwrap()
}

fn run(pools: Vec<ServerPool<Linear>>, outages: &[Outage], requests: &[Request]) -> SimReport {
    let cluster = Cluster::try_of(pools, Router::RoundRobin).unwrap().with_outages(outages.to_vec()).unwrap();
    let totals = cluster.serve(&mut RequestList::new(requests), &mut ()).unwrap();
    assert_eq!(totals.completed + totals.rejected, requests.len() as u64);
    cluster.run_source(&mut RequestList::new(requests), &mut ()).unwrap()
}

fn equal(replicas: u32) -> Vec<ServerPool<Linear>> {
    vec![ServerPool::new(Linear::mixed(), config(), replicas)]
}

fn timings(report: &SimReport) -> Vec<Timing> {
    report.records.iter().map(|record| *record.timing().unwrap()).collect()
}

#[test]
fn a_request_of_a_lost_server_starts_again_on_another() {
    let requests = [request(0, 100, 3), request(0, 100, 3)];
    let cluster = Cluster::try_of(equal(2), Router::RoundRobin).unwrap();
    let cluster = cluster.with_outages(vec![lost(1, 2_500, 1_000_000)]).unwrap();
    let totals = cluster.serve(&mut RequestList::new(&requests), &mut ()).unwrap();
    // Its decode step of 2,000 to 3,201 had begun.
    assert_eq!((totals.restarted, totals.steps, totals.busy_ns), (1, 5 + 2, 7_806 + 3_201));
    assert_eq!((totals.completed, totals.output_tokens, totals.replicas), (2, 6, 2));
    let report = run(equal(2), &[lost(1, 2_500, 1_000_000)], &requests);
    let [first, second] = timings(&report)[..] else { panic!("two requests") };
    // The step at 3,201 has its prompt, and the last token of the other.
    assert_eq!((first.first_token_ns, first.finish_ns), (2_000, 5_403));
    assert_eq!((second.replica, second.at_engine_ns, second.scheduled_ns), (0, 2_500, 3_201));
    assert_eq!((second.first_token_ns, second.finish_ns), (5_403, 7_806));
    assert_eq!(report.records[1].request, requests[1]);
    assert_eq!(report.records[1].ttft(), Some(Seconds(5_403.0 / 1e9)));
}

#[test]
fn a_step_that_has_begun_ends_and_its_last_tokens_count() {
    let requests = [request(0, 100, 1), request(0, 100, 2)];
    let report = run(equal(1), &[lost(0, 1_000, 50_000)], &requests);
    let [finished, again] = timings(&report)[..] else { panic!("two requests") };
    assert_eq!(finished.finish_ns, 3_000);
    assert_eq!((again.scheduled_ns, again.first_token_ns), (50_000, 52_000));
}

#[test]
fn requests_wait_while_all_servers_are_lost_and_go_to_the_first_that_is_back() {
    let requests = [request(2_000, 100, 1), request(3_000, 100, 1), request(60_000, 100, 1)];
    let report = run(equal(2), &[lost(0, 1_000, 50_000), lost(1, 2_000, 40_000)], &requests);
    let timings = timings(&report);
    assert_eq!(timings.iter().map(|timing| timing.replica).collect::<Vec<_>>(), [1, 1, 0]);
    // Both prompts in one step; the last request finds all servers back.
    assert_eq!(timings.iter().map(|timing| timing.finish_ns).collect::<Vec<_>>(), [43_000, 43_000, 62_000]);
    assert_eq!(report.records[0].ttft(), Some(Seconds(41_000.0 / 1e9)));
}

#[test]
fn a_server_comes_back_with_an_empty_cache() {
    let of_session = |arrival_ns| request(arrival_ns, 100, 1).with_content(texts(0, 7));
    let requests = [of_session(0), of_session(100_000)];
    let cached = |outages: &[Outage]| timings(&run(equal(1), outages, &requests))[1].cached_tokens;
    assert_eq!(cached(&[]), 96);
    assert_eq!(cached(&[lost(0, 50_000, 60_000)]), 0);
}

#[test]
fn an_outage_of_a_server_without_requests_changes_nothing() {
    let requests = [request(0, 100, 3), request(100_000, 100, 3)];
    let calm = run(equal(1), &[], &requests);
    assert_eq!(run(equal(1), &[lost(0, 20_000, 90_000)], &requests), calm);
    // Nor does one after the last request.
    assert_eq!(run(equal(1), &[lost(0, 200_000, 300_000)], &requests), calm);
}

#[test]
fn all_ranks_of_a_server_are_lost_together() {
    let pool = |ranks| ServerPool::new(Linear::mixed(), config(), 1).with_ranks(ranks);
    let requests = [request(0, 100, 1), request(0, 100, 1), request(0, 100, 1), request(200_000, 100, 1)];
    let replicas = |outages: &[Outage]| -> Vec<(u32, u64)> {
        let timings = timings(&run(vec![pool(2), pool(1)], outages, &requests));
        timings.iter().map(|timing| (timing.replica, timing.finish_ns)).collect()
    };
    // The first and the third are on a rank each; the last is on the other server.
    assert_eq!(replicas(&[]), [(0, 2_000), (2, 2_000), (1, 2_000), (2, 202_000)]);
    // The step of both ranks has begun, and ends.
    assert_eq!(replicas(&[lost(0, 500, 9_000)]), replicas(&[]));
    // Requests that arrive when it is lost go to the other server.
    let late = requests.map(|request| request.at_ns(request.arrival_ns + 10));
    let again = run(vec![pool(2), pool(1)], &[lost(0, 10, 9_000)], &late);
    assert_eq!(timings(&again).iter().map(|timing| timing.replica).collect::<Vec<_>>(), [2, 2, 2, 0]);
    let two_tokens = requests.map(|mut request| {
        request.output_tokens = 2;
        request
    });
    let report = run(vec![pool(2), pool(1)], &[lost(0, 500, 9_000)], &two_tokens);
    let timings = timings(&report);
    assert_eq!([0, 1, 2].map(|index| timings[index].replica), [2, 2, 2]);
    // Their prompts beside the second token of the other request: 1,000 + 2,000 + 100 + 101.
    assert_eq!([0, 2].map(|index| timings[index].first_token_ns), [5_201, 5_201]);
    assert_eq!(timings[3].replica, 0);
}

#[test]
fn a_request_goes_to_servers_that_can_serve_it() {
    let pool = |longest, speed| {
        let mut model = Linear::mixed();
        model.step_ns *= speed;
        ServerPool::new(model, SimConfig::new(longest, 1_000), 1)
    };
    let prompts = [100, 500, 500, 100, 2_000];
    let requests = prompts.map(|prompt| request(0, prompt, 1));
    let report = run(vec![pool(200, 1), pool(1_000, 3)], &[], &requests);
    let replica = |index: usize| report.records[index].timing().map(|timing| timing.replica);
    assert_eq!([0, 1, 2, 3].map(replica), [Some(0), Some(1), Some(1), Some(0)]);
    // Both prompts of the slow server in one step.
    assert_eq!(report.records[1].timing().unwrap().finish_ns, 3_000 + 10_000);
    let Outcome::Rejected(reason) = report.records[4].outcome else { panic!("too long") };
    assert_eq!(reason, Rejection::TooLong { tokens: 2_001, max_model_len: 200 });
    // While the only server for it is lost, it waits, although the other is idle.
    let waits = run(vec![pool(200, 1), pool(1_000, 1)], &[lost(1, 0, 70_000)], &requests[1..2]);
    assert_eq!(timings(&waits)[0].finish_ns, 76_000);
}

/// 10 ns for a token, and 300 ns on the way.
fn apart(replicas: [u32; 2], outages: &[Outage]) -> (SimReport, u64) {
    let pool = |replicas| ServerPool::new(Linear::mixed(), config(), replicas);
    let link = KvLink::try_new(1e8, Seconds(300e-9), 1.0).unwrap();
    let servers = Disaggregated::try_new(pool(replicas[0]), pool(replicas[1]), Router::RoundRobin, link).unwrap();
    let servers = servers.with_outages(outages.to_vec()).unwrap();
    let requests = [request(0, 100, 2)];
    let restarted = servers.serve(&mut RequestList::new(&requests), &mut ()).unwrap().restarted;
    (servers.run_source(&mut RequestList::new(&requests), &mut ()).unwrap(), restarted)
}

/// The transfer and the tokens of the request of [`apart`].
fn times(report: &SimReport) -> [u64; 6] {
    let timing = timings(report)[0];
    let transfer = timing.kv_transfer.unwrap();
    let replicas = [transfer.prefill_replica, timing.replica].map(u64::from);
    let times = [transfer.prefilled_ns, transfer.delivered_ns, timing.first_token_ns, timing.finish_ns];
    [replicas[0], replicas[1], times[0], times[1], times[2], times[3]]
}

#[test]
fn kv_entries_on_their_way_are_lost_with_their_prefill_server() {
    let (calm, _) = apart([2, 1], &[]);
    assert_eq!(times(&calm), [0, 2, 2_000, 3_300, 4_310, 5_511]);
    let (report, restarted) = apart([2, 1], &[lost(0, 2_500, 9_000)]);
    assert_eq!((times(&report), restarted), ([1, 2, 4_500, 5_800, 6_810, 8_011], 1));
    let stages = report.summary.stages.unwrap();
    assert_eq!((stages.transfers, stages.link_ns, stages.transfer_ns), (1, 1_000, 1_300));
    // When they are delivered, nothing is lost with it.
    assert_eq!(times(&apart([2, 1], &[lost(0, 3_301, 9_000)]).0), times(&calm));
}

#[test]
fn requests_of_a_lost_decode_server_start_again_from_the_prompt() {
    // Servers are counted across both pools: 2 is the first of the decode servers.
    let (report, restarted) = apart([2, 2], &[lost(2, 4_000, 9_000)]);
    assert_eq!((times(&report), restarted), ([1, 3, 6_000, 7_300, 8_310, 9_511], 1));
    assert_eq!(report.summary.stages.unwrap().transfers, 2);
}

#[test]
fn kv_entries_wait_while_all_decode_servers_are_lost() {
    let (report, restarted) = apart([1, 1], &[lost(1, 3_000, 20_000)]);
    assert_eq!((times(&report), restarted), ([0, 1, 2_000, 20_000, 21_010, 22_211], 0));
    assert_eq!(report.summary.stages.unwrap().transfer_ns, 18_000);
}

#[test]
fn outages_and_pools_that_cannot_be_are_refused_by_name() {
    let of = |server, from, to| Outage::try_new(server, Seconds(from), Seconds(to));
    let times = [(-1.0, 2.0), (f64::NAN, 2.0), (5.0, 1e300), (5.0, 3.0)];
    let found = times.map(|(from, to)| of(0, from, to).unwrap_err().to_string());
    let range = "outage: expected times from 0 to 292 years, in seconds, found";
    assert!(found[0] == format!("{range} -1") && found[1] == format!("{range} NaN"), "{found:?}");
    assert!(found[2].starts_with(range), "{found:?}");
    assert_eq!(found[3], "outage: expected an end after its beginning at 5 s and before 292 years, found 3 s");
    let refused = |outages: &[Outage]| {
        let cluster = Cluster::try_of(equal(2), Router::RoundRobin).unwrap();
        cluster.with_outages(outages.to_vec()).map(|_| ()).unwrap_err().to_string()
    };
    let first = of(0, 1.0, 6.0).unwrap();
    assert_eq!(refused(&[of(2, 0.0, 1.0).unwrap()]), "outage: expected a server from 0 to 1, found 2");
    let overlap =
        "outage: expected one at a time of server 0, found one from 5 s on before the end of another; join them";
    assert_eq!(refused(&[of(0, 5.0, 7.0).unwrap(), of(1, 2.0, 3.0).unwrap(), first]), overlap);
    let pools = |pools| Cluster::try_of(pools, Router::RoundRobin).map(|_| ()).unwrap_err().to_string();
    assert_eq!(pools(Vec::new()), "pools: expected at least 1, found 0");
    assert_eq!(pools(vec![equal(2).remove(0).with_ranks(0)]), "ranks: expected at least 1, found 0");
    let staged = ServerPool::new(Linear::mixed(), config().with_pipeline_parallel_size(2), 1).with_ranks(2);
    let text = "data-parallel ranks: expected one pipeline stage each, found 2, which is not modelled; use replicas";
    assert_eq!(pools(vec![staged]), text);
    // Two outages that touch are one after the other.
    let touching = vec![first, of(0, 6.0, 7.0).unwrap()];
    assert!(Cluster::try_of(equal(2), Router::RoundRobin).unwrap().with_outages(touching).is_ok());
}
