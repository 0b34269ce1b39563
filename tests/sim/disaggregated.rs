//! Prefill and decode on servers of their own, against the straightforward engine in two stages.

#[cfg(feature = "h100")]
#[path = "../../examples/own_router.rs"]
mod own_router;

use crate::oracle::{self, Sequence};
use crate::support::{Linear, Seen};
use crate::workloads::{ascending, assert_no_overlap, policy, scheduling, texts};
use proptest::prelude::*;
use rooflut::engine::{BeyondMaxModelLen, Scheduling};
use rooflut::sim::cluster::{Disaggregated, KvLink, Router, ServerPool};
use rooflut::sim::load::{ClosedLoop, Lengths, RequestList, RequestMix, ThinkTime};
use rooflut::sim::{Content, KvTransfer, Outcome, Rejection, Request, RequestRecord, SimConfig, Speculation, Timing};
use rooflut::units::Seconds;

/// A nanosecond for 5 tokens, and 300 ns on the way.
fn link() -> KvLink {
    KvLink::try_new(5e9, Seconds(300e-9), 1.0).unwrap()
}

fn servers(model: &Linear, [prefill, decode]: [(SimConfig, u32); 2], router: Router) -> Disaggregated<&Linear> {
    let pool = |(config, replicas)| ServerPool::new(model, config, replicas);
    Disaggregated::try_new(pool(prefill), pool(decode), router, link()).unwrap()
}

fn timing(outcome: &Outcome) -> Option<Timing> {
    match outcome {
        Outcome::Completed(timing) => Some(*timing),
        _ => None,
    }
}

/// The expected run of a prefill server and this many decode servers, one after the other.
fn expected([prefill, mut decode]: [SimConfig; 2], decode_replicas: usize, requests: &[Request]) -> Vec<Outcome> {
    // Requests that the decode servers cannot take never reach the prefill server.
    let refused: Vec<Option<Rejection>> = requests.iter().map(|r| decode.check(r).err()).collect();
    let prompts: Vec<Request> = (requests.iter().zip(&refused))
        .map(|(request, refused)| {
            let mut prompt = *request;
            if refused.is_some() {
                prompt.prompt_tokens = 0;
            }
            prompt.output_tokens = 1;
            prompt
        })
        .collect();
    let first = oracle::run(&Linear::mixed(), prefill, &prompts, &[], |prompt| prompt, &[]);
    let mut done: Vec<(u64, usize)> = (first.outcomes.iter().enumerate())
        .filter_map(|(index, outcome)| Some((timing(outcome)?.finish_ns, index)))
        .collect();
    done.sort_unstable();
    let mut free_ns = 0;
    let mut deliveries = Vec::new();
    for (finish_ns, index) in done {
        let tokens = f64::from(requests[index].prompt_tokens);
        free_ns = finish_ns.max(free_ns) + Seconds(tokens / 5e9).to_nanos();
        deliveries.push((free_ns + 300, index));
    }
    let mut outcomes: Vec<Option<Outcome>> =
        (refused.into_iter()).map(|refused| refused.map(Outcome::Rejected)).collect();
    decode.api_server_ns = 0;
    decode.api_token_ns = 0;
    for replica in 0..decode_replicas {
        let own: Vec<(u64, usize)> = deliveries.iter().copied().skip(replica).step_by(decode_replicas).collect();
        // Places say whose blocks are whose: those of the others stay, and are refused.
        let mut coming = vec![Request::default(); requests.len()];
        for &(delivered_ns, index) in &own {
            let request = requests[index].at_ns(delivered_ns);
            coming[index] = request.with_cached_prompt_tokens(0);
        }
        let second = oracle::run(&Linear::mixed(), decode, &coming, &[], Sequence::with_kv, &[]);
        for (delivered_ns, index) in own {
            let prompt = timing(&first.outcomes[index]).unwrap();
            let output = timing(&second.outcomes[index]).unwrap();
            let mut kv_transfer = KvTransfer::default();
            kv_transfer.prefilled_ns = prompt.finish_ns;
            kv_transfer.delivered_ns = delivered_ns;
            kv_transfer.scheduled_ns = output.scheduled_ns;
            let mut both = output;
            both.at_engine_ns = prompt.at_engine_ns;
            both.scheduled_ns = prompt.scheduled_ns;
            both.preemptions += prompt.preemptions;
            both.cached_tokens = prompt.cached_tokens;
            both.replica = 1 + replica as u32;
            both.kv_transfer = Some(kv_transfer);
            outcomes[index] = Some(Outcome::Completed(both));
        }
    }
    outcomes.into_iter().map(Option::unwrap).collect()
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let gap = prop_oneof![Just(0_u64), 0..3_000_u64, 0..60_000_u64];
    let content = proptest::option::of(0..4_u64);
    let request = (0..150_u32, 0..60_u32, 0..40_u32, content);
    ascending(gap, request, 1..40, |(prompt, output, cached, own)| {
        Request::new(prompt, output)
            .with_cached_prompt_tokens(cached)
            .with_priority(prompt % 3)
            .with_content(own.map_or(Content::Unique, |own| texts(40, own)))
    })
}

fn config() -> impl Strategy<Value = SimConfig> {
    let kv_blocks = prop_oneof![14..40_u32, Just(1_000)];
    let limits = (1..12_u32, 0..100_u32, kv_blocks);
    (limits, scheduling(), policy(), 0..2_u64).prop_map(|(limits, scheduling, policy, api)| {
        let (max_num_seqs, more, kv_blocks) = limits;
        let mut config = SimConfig::new(220, kv_blocks);
        config.max_num_seqs = max_num_seqs;
        config.max_num_batched_tokens = max_num_seqs + more;
        config.policy = policy;
        config.api_server_ns = 500 * api;
        config.rules.scheduling = scheduling;
        config
    })
}

fn serve(servers: &Disaggregated<&Linear>, requests: &[Request]) -> Seen {
    let mut seen = Seen::default();
    let totals = servers.serve(&mut RequestList::new(requests), &mut seen).unwrap();
    assert_eq!(totals.completed + totals.rejected, requests.len() as u64);
    assert_eq!(totals.steps, seen.steps.len() as u64);
    assert_eq!(totals.stages.transfers, totals.completed);
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_prefill_server_and_decode_servers_do_what_two_stages_do(
        requests in requests(), prefill in config(), decode in config(), replicas in 1..4_u32,
    ) {
        let model = Linear::mixed();
        let found = serve(
            &servers(&model, [(prefill, 1), (decode, replicas)], Router::RoundRobin),
            &requests,
        );
        // The prefill server must take what the decode server takes.
        let fits = |request: &Request| {
            let mut prompt = *request;
            prompt.output_tokens = 1;
            decode.check(request).is_err() || prefill.check(&prompt).is_ok()
        };
        prop_assume!(requests.iter().all(fits));
        prop_assert_eq!(found.outcomes(requests.len()), expected([prefill, decode], replicas as usize, &requests));
    }

    #[test]
    fn everybody_is_served_once_and_tokens_come_after_their_kv_entries(
        requests in requests(), replicas in (1..4_u32, 1..4_u32), config in config(),
        router in prop::sample::select(&Router::ALL),
    ) {
        let model = Linear::mixed();
        let (prefill, decode) = replicas;
        let found = serve(&servers(&model, [(config, prefill), (config, decode)], router), &requests);
        for (request, outcome) in requests.iter().zip(found.outcomes(requests.len())) {
            if let Outcome::Completed(timing) = outcome {
                let moved_ns = u64::from(request.prompt_tokens) / 5 + 300;
                prop_assert!(timing.first_token_ns > timing.scheduled_ns + moved_ns);
                prop_assert!(timing.finish_ns >= timing.first_token_ns);
            }
        }
        assert_no_overlap(&found.steps);
        for step in &found.steps {
            // Prefill servers do not decode; decode servers compute the last token of a prompt, unless they
            // have preempted somebody.
            prop_assert!(step.replica >= prefill || step.decode_requests == 0);
        }
    }
}

#[cfg(feature = "h100")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_router_of_ones_own_gives_the_records_of_the_fleet(
        requests in requests(), mut prefill in config(), decode in config(), replicas in (1..4_u32, 1..4_u32),
        patience_ns in prop::option::of(1_000..100_000_u64),
    ) {
        let model = Linear::mixed();
        prefill.patience_ns = patience_ns;
        let pools = [(prefill, replicas.0), (decode, replicas.1)];
        let fleet = servers(&model, pools, Router::RoundRobin);
        let report = fleet.run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
        let records = own_router::serve(&model, pools, link(), &requests).unwrap();
        prop_assert_eq!(records, report.records);
    }
}

#[test]
fn users_wait_for_their_answers_from_the_decode_servers() {
    let lengths = |tokens| Lengths::try_fixed(tokens).unwrap();
    let mix = RequestMix::new(lengths(64), lengths(20));
    let think = ThinkTime::try_fixed(Seconds(1e-6)).unwrap();
    let mut users = ClosedLoop::try_new(5, think, mix, 3).unwrap().limited(100);
    let model = Linear::mixed();
    let config = SimConfig::new(220, 500);
    let mut seen = Seen::default();
    let servers = servers(&model, [(config, 1), (config, 2)], Router::RoundRobin);
    let report = servers.run_source(&mut users, &mut seen).unwrap();
    assert_eq!(report.summary.completed, 100);
    // Five users never have more than five requests under way.
    let mut changes: Vec<(u64, i32)> = Vec::new();
    for record in &report.records {
        let finish_ns = record.timing().unwrap().finish_ns;
        changes.extend([(record.request.arrival_ns, 1), (finish_ns, -1)]);
    }
    changes.sort_unstable();
    let mut under_way = 0;
    for (_, change) in changes {
        under_way += change;
        assert!(under_way <= 5);
    }
}

#[test]
fn an_output_is_cut_at_the_max_model_len_of_the_decode_server() {
    let model = Linear::mixed();
    let prefill = SimConfig::new(220, 500);
    let mut decode = SimConfig::new(100, 500);
    decode.rules.beyond_max_model_len = BeyondMaxModelLen::Truncate;
    let servers = servers(&model, [(prefill, 1), (decode, 1)], Router::RoundRobin);
    let requests = [Request::new(90, 20), Request::new(90, 10), Request::new(100, 1)];
    let mut source = RequestList::new(&requests);
    let totals = servers.serve(&mut source, &mut ()).unwrap();
    assert_eq!((totals.completed, totals.rejected, totals.truncated), (2, 1, 1));
    assert_eq!((totals.tokens, totals.output_tokens), (200, 20));
}

#[test]
fn a_link_sends_one_request_after_the_other() {
    let model = Linear::mixed();
    let config = SimConfig::new(2_000, 10_000);
    let requests = [Request::new(1_000, 1); 2];
    let slow = KvLink::try_new(1e6, Seconds(0.5), 1.0).unwrap();
    let pool = |replicas| ServerPool::new(&model, config, replicas);
    let run = |prefill| {
        let servers = Disaggregated::try_new(pool(prefill), pool(1), Router::RoundRobin, slow).unwrap();
        let report = servers.run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
        let stages = report.summary.stages.unwrap();
        assert_eq!((stages.prefill.replicas, stages.link_ns), (prefill, 2_000_000));
        let ttft = |record: &RequestRecord| record.ttft().unwrap().0;
        (ttft(&report.records[0]), ttft(&report.records[1]))
    };
    // A millisecond over the link for each, half a second on the way.
    let (first, second) = run(1);
    assert!((second - first - 1e-3).abs() < 1e-5, "{first} {second}");
    let (first, second) = run(2);
    assert!(first > 0.501 && (second - first).abs() < 1e-5, "{first} {second}");
}

/// Whether the mean time of waiting grew.
fn grows(bandwidth: f64, prefill: u32, decode: u32, gap_ns: u64) -> bool {
    let model = Linear::mixed();
    let mut config = SimConfig::new(2_000, 10_000);
    config.max_num_seqs = 4;
    let requests: Vec<Request> = (0..400).map(|index| Request::new(100, 50).at_ns(index * gap_ns)).collect();
    let pool = |replicas| ServerPool::new(&model, config, replicas);
    let link = KvLink::try_new(bandwidth, Seconds::ZERO, 1.0).unwrap();
    let servers = Disaggregated::try_new(pool(prefill), pool(decode), Router::RoundRobin, link).unwrap();
    let summary = servers.run_source(&mut RequestList::new(&requests), &mut ()).unwrap().summary;
    assert_eq!(summary.completed, 400);
    let mean_step = Seconds(2e-6);
    summary.queue_growth.unwrap().is_overload(mean_step)
}

#[test]
fn a_queue_that_grows_is_told_wherever_it_is() {
    // Roomy; too many for the link; too many for the decode server.
    assert!(!grows(1e12, 1, 4, 30_000));
    assert!(grows(2e6, 1, 4, 30_000));
    assert!(grows(1e12, 4, 1, 10_000));
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    let model = Linear::mixed();
    let plain = SimConfig::new(220, 500);
    let mut speculative = plain;
    speculative.rules.scheduling = Scheduling::Synchronous;
    speculative.speculation = Speculation::try_new(2, 0.5, 0).ok();
    let refused = |config, replicas| {
        let pool = |config, replicas| ServerPool::new(&model, config, replicas);
        Disaggregated::try_new(pool(plain, 1), pool(config, replicas), Router::RoundRobin, link()).unwrap_err()
    };
    let drafts = refused(speculative, 1).to_string();
    assert!(drafts.starts_with("speculation: expected none on separate prefill and decode servers"), "{drafts}");
    assert_eq!(refused(plain, 0).to_string(), "decode replicas: expected at least 1, found 0");
    for (bandwidth, latency, bytes) in [(0.0, 0.0, 1.0), (1.0, -1.0, 1.0), (1.0, 0.0, f64::NAN)] {
        assert!(KvLink::try_new(bandwidth, Seconds(latency), bytes).is_err());
    }
}

#[test]
fn a_prompt_of_a_trace_is_found_in_the_caches_of_both_servers() {
    let model = Linear::mixed();
    let config = SimConfig::new(1_000, 100);
    let servers = servers(&model, [(config, 1), (config, 1)], Router::RoundRobin);
    let request =
        |arrival_ns| Request::new(70, 3).at_ns(arrival_ns).with_content(Content::TraceBlocks { first: 1, count: 5 });
    let requests = [request(0), request(1_000_000)];
    let hits = |ids: &[u64]| {
        let mut source = RequestList::new(&requests).with_ids(ids, 16);
        servers.serve(&mut source, &mut ()).unwrap().cache_hits
    };
    // Its four full blocks, on each.
    assert_eq!(hits(&[0, 1, 2, 3, 4, 5]), 8);
    assert_eq!(hits(&[]), 0);
}
