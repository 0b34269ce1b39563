//! The examples that drive servers run and behave as documented.
#![cfg(feature = "h100")]

#[path = "../../examples/co_simulate.rs"]
mod co_simulate;
#[path = "../../examples/drive_two_servers.rs"]
mod drive_two_servers;
#[path = "../../examples/own_router.rs"]
mod own_router;

use rooflut::model;
use rooflut::sim::Request;
use rooflut::sim::cluster::{Disaggregated, KvLink, Router, ServerPool};
use rooflut::sim::load::{Arrivals, Lengths, RequestList, RequestMix, SyntheticLoad};
use rooflut::table::sets;
use rooflut::units::Seconds;

#[test]
fn a_router_by_free_blocks_serves_every_request_and_sends_most_to_the_larger_server() {
    let [large, small] = drive_two_servers::route(600).unwrap();
    assert_eq!(large.requests + small.requests, 600);
    assert!(large.requests > 2 * small.requests, "{large:?} {small:?}");
    // The API server alone takes 5.7 ms.
    assert!(large.worst_ttft_ms > 10.7, "{large:?}");
    assert!(large.tokens > 64 * large.requests);
}

#[test]
fn clients_that_read_get_all_answers_and_wait_at_least_for_the_network() {
    let (clients, cached_blocks) = co_simulate::talk(20).unwrap();
    assert_eq!(clients.len(), 20);
    for client in &clients {
        assert_eq!(client.turns, 4);
        // 30 ms on the network, 5.7 ms of API server, and two steps of some milliseconds.
        assert!((40_700_000..300_000_000).contains(&client.worst_wait_ns), "{client:?}");
    }
    // Each turn finds the ones before it: 15, 31 and 46 blocks of 16 tokens.
    assert_eq!(cached_blocks, 20 * (15 + 31 + 46));
}

#[test]
fn a_router_of_ones_own_over_prefill_and_decode_servers_gives_the_times_of_the_fleet() {
    let llama = model::find("llama-3.1-8b").unwrap();
    let small = rooflut::Deployment::builder(llama.spec, &sets::H100).max_model_len(4_096).kv_blocks(600);
    let deployment = small.build().unwrap();
    let server = deployment.server().unwrap();
    // Slow enough that prompts wait for the link, and decode servers so small that they preempt.
    let link = KvLink::try_new(5e9, Seconds::from_us(200.0), 131_072.0).unwrap();
    let mix = RequestMix::new(Lengths::try_uniform(64..=2_048).unwrap(), Lengths::try_uniform(1..=512).unwrap());
    let load = SyntheticLoad::new(Arrivals::try_poisson(30.0, 7).unwrap(), mix, 7);
    let requests: Vec<Request> = load.take(300).collect();
    let (model, config) = (server.model(), *server.config());
    let pool = || ServerPool::new(model, config, 2);
    let fleet = Disaggregated::try_new(pool(), pool(), Router::RoundRobin, link).unwrap();
    let report = fleet.run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
    let records = own_router::serve(model, [(config, 2); 2], link, &requests).unwrap();
    assert_eq!(records, report.records);
    assert!(report.summary.preemptions > 0);
    assert!(report.summary.stages.unwrap().transfers == 300);
}
