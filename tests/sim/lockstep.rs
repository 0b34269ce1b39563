//! Data-parallel ranks that step together, against the straightforward engine and single servers.

use crate::oracle::{self, kv_cache::LISTED_TOKENS};
use crate::support::{Linear, Seen, simulator};
use crate::workloads::{IDS, requests, servers};
use proptest::prelude::*;
use rooflut::sim::cluster::Lockstep;
use rooflut::sim::load::RequestList;
use rooflut::sim::{Outcome, Request, SimConfig};

fn lockstep(model: &Linear, config: SimConfig, ranks: u32) -> Lockstep<&Linear> {
    Lockstep::try_new(model, config, ranks).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn both_engines_agree_to_the_nanosecond(
        config in servers(),
        requests in requests(),
        ranks in 1..5_u32,
    ) {
        let (model, naive) = (Linear::mixed(), Linear::mixed());
        let source = || RequestList::new(&requests).with_ids(&IDS, LISTED_TOKENS);
        let mut seen = Seen::default();
        let totals = lockstep(&model, config, ranks).serve(&mut source(), &mut seen).unwrap();
        let mut expected = oracle::lockstep::run(&naive, config, ranks, &requests, &IDS);
        prop_assert_eq!(seen.outcomes(requests.len()), &expected.outcomes[..]);
        prop_assert_eq!((totals.steps, totals.replicas), (expected.steps, ranks));
        prop_assert_eq!(totals.preemptions, expected.preemptions);
        prop_assert_eq!(model.batches.into_inner(), naive.batches.into_inner());
        seen.gaps_ns.sort_unstable();
        expected.gaps_ns.sort_unstable();
        prop_assert_eq!(seen.gaps_ns, expected.gaps_ns);
        // An observer changes nothing.
        let unobserved = lockstep(&Linear::mixed(), config, ranks).run_source(&mut source(), &mut ()).unwrap();
        let unobserved: Vec<Outcome> = unobserved.records.iter().map(|record| record.outcome).collect();
        prop_assert_eq!(unobserved, expected.outcomes);
    }
}

#[test]
fn requests_go_to_the_least_loaded_rank_and_wait_for_the_others() {
    let mut config = SimConfig::new(2_000, 1_000);
    config.max_num_seqs = 2;
    let at = |arrival_ns, prompt| Request::new(prompt, 3).at_ns(arrival_ns);
    // Three at once, and one while rank 1 has a single one.
    let requests = [at(0, 1_000), at(0, 10), at(0, 10), at(500, 10)];
    let model = Linear::mixed();
    let report = lockstep(&model, config, 2).run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
    let timing = |index: usize| report.records[index].timing().unwrap();
    let replicas = [0, 1, 2, 3].map(|index| timing(index).replica);
    assert_eq!(replicas, [0, 1, 0, 1]);
    // The short prompt ends with the long one, and the last request begins in the step after.
    assert_eq!(timing(1).first_token_ns, timing(0).first_token_ns);
    assert_eq!(timing(3).scheduled_ns, timing(0).first_token_ns);
}

#[test]
fn a_rank_alone_is_a_server() {
    let config = SimConfig::new(2_000, 1_000);
    let requests: Vec<Request> = (0..60)
        .map(|index| Request::new(50 + index % 7 * 90, 1 + index % 40).at_ns(u64::from(index) * 9_000))
        .collect();
    let model = Linear::mixed();
    let ranks = lockstep(&model, config, 1);
    let alone = ranks.run_source(&mut RequestList::new(&requests), &mut ()).unwrap();
    assert_eq!(alone, simulator(&model, config).run(&requests).unwrap());
}

#[test]
fn no_ranks_are_refused() {
    let error = Lockstep::try_new(Linear::mixed(), SimConfig::new(100, 10), 0);
    assert_eq!(error.unwrap_err().to_string(), "ranks: expected at least 1, found 0");
}
