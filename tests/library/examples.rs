//! The examples that drive servers run and behave as documented.
#![cfg(feature = "h100")]

#[path = "../../examples/co_simulate.rs"]
mod co_simulate;
#[path = "../../examples/drive_two_servers.rs"]
mod drive_two_servers;

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
