//! Calls of a server that is driven from outside, against the plain engine.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rooflut::sim::cluster::Lockstep;
use rooflut::sim::load::RequestList;
use rooflut::sim::{Content, Outcome, Request, RequestId, Role, ServerError, SimConfig, SimReport, Simulator};

use super::driven::{Driven, TOKENS_PER_ID};
use crate::oracle::{self, Cancel, Run, Sequence};
use crate::support::{Linear, Seen};
use crate::workloads::{IDS, requests, servers};

/// Bytes that choose the server and its requests.
const SEED: usize = 32;

/// Drives a server by calls, two bytes for each; what it answers is what the plain engine says of all requests. The
/// first bytes choose the server and the requests.
pub(super) fn calls(bytes: &[u8]) {
    let (first, calls) = bytes.split_at(bytes.len().min(SEED));
    let mut seed = [0; SEED];
    seed[..first.len()].copy_from_slice(first);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let drawn = (servers(), requests(), kinds()).new_tree(&mut runner).unwrap().current();
    let (config, mut requests, (stages, sleeps, role)) = drawn;
    // States of layers are not transferred.
    let role = if config.kv_groups.states > 0 { Role::Whole } else { role };
    let mut config = config.with_role(role).with_pipeline_parallel_size(stages);
    let comes = if role == Role::Decode { Sequence::with_kv } else { |sequence| sequence };
    if stages > 1 || role != Role::Whole {
        config.speculation = None;
    }
    if stages > 1 {
        config.rules.empty_schedule_sleep_ns *= u64::from(sleeps);
    }
    if role == Role::Decode {
        // The prompt comes with its KV entries.
        for request in &mut requests {
            request.cached_prompt_tokens = 0;
            if matches!(request.content, Content::TraceBlocks { .. }) {
                request.content = Content::Unique;
            }
        }
    }
    drive(config, &requests, comes, calls);
}

/// Pipeline stages, whether the engine sleeps when it has nothing to do, and the role of the server.
fn kinds() -> impl Strategy<Value = (u32, bool, Role)> {
    let stages = prop_oneof![2 => Just(1_u32), 1 => 2..6_u32];
    let role = prop_oneof![2 => Just(Role::Whole), 1 => Just(Role::Prefill), 1 => Just(Role::Decode)];
    (stages, any::<bool>(), role)
}

/// Asserts that what a server says of itself holds together.
fn check(driven: &Driven<'_>, pushed: usize) {
    let (server, config) = (&driven.server, driven.server.config());
    let over = driven.records.iter().flatten().count();
    assert!(server.arriving() + server.waiting() + server.running() >= pushed - over);
    assert!(server.running() <= config.max_num_seqs as usize && server.kv_blocks_used() <= server.kv_blocks());
    assert!(server.kv_blocks() == config.kv_blocks && server.model().stages == config.pipeline_parallel_size);
    assert!(!server.is_idle() || server.outstanding_tokens() == 0);
}

/// The state in which a request reaches the engine.
type Comes = fn(Sequence) -> Sequence;

/// Returns the records of the plain engine.
fn expected(naive: &Linear, config: SimConfig, requests: &[Request], comes: Comes, cancels: &[Cancel]) -> Run {
    if config.pipeline_parallel_size > 1 {
        oracle::pipeline::run(naive, config, requests, &IDS, comes, cancels)
    } else {
        oracle::run(naive, config, requests, &IDS, comes, cancels)
    }
}

fn drive(config: SimConfig, requests: &[Request], comes: Comes, calls: &[u8]) {
    let model = || Linear { stages: config.pipeline_parallel_size, ..Linear::mixed() };
    let (model, naive) = (model(), model());
    let mut driven = Driven::new(&model, config, requests.len());
    let mut coming = requests.iter().filter(|request| config.check(request).is_ok());
    let (mut pushed, mut cancels) = (Vec::new(), Vec::new());
    // A batch of a pipeline may end when the engine wakes, and has been scheduled then.
    let mut after_step_ns = 0;
    for call in calls.chunks_exact(2) {
        check(&driven, pushed.len());
        let now_ns = driven.server.now_ns();
        let by_ns = u64::from(call[1] & 15) << (call[1] >> 4);
        match call[0] % 12 {
            // The next request arrives so long after the clock.
            0..=3 => {
                if let Some(request) = coming.next() {
                    let request = request.at_ns(after_step_ns.max(now_ns + by_ns));
                    driven.push(request).unwrap();
                    pushed.push(request);
                }
            }
            4 => driven.advance(now_ns + by_ns),
            5 => {
                driven.server.advance_observed(now_ns + by_ns, &mut Seen::default()).unwrap();
                driven.drain();
            }
            6 | 7 => driven.advance(driven.server.next_event_ns().unwrap_or(now_ns)),
            8 => {
                driven.step();
                if config.pipeline_parallel_size > 1 {
                    after_step_ns = driven.server.now_ns() + 1;
                }
            }
            9 if now_ns < after_step_ns => (),
            9 => {
                let index = usize::from(call[1]);
                let id = RequestId::new(index);
                let is_over = cancels.iter().any(|(_, of)| *of == index)
                    || driven.records.get(index).is_none_or(|record| record.is_some())
                    || index >= pushed.len();
                let refused = driven.server.cancel(id).err();
                assert_eq!(refused, is_over.then_some(ServerError::UnknownRequest { index }));
                if !is_over {
                    cancels.push((now_ns, index));
                    driven.drain();
                }
            }
            // A copy goes on; the original serves another request until its end.
            10 => {
                let copy = driven.server.clone();
                let mut original = std::mem::replace(&mut driven.server, copy);
                let batches = model.batches.borrow().len();
                original.push(Request::new(9, 9).at_ns(now_ns)).unwrap();
                original.run_until_idle().unwrap();
                model.batches.borrow_mut().truncate(batches);
            }
            _ => driven.misuse(config),
        }
    }
    while let Some(next_ns) = driven.server.next_event_ns() {
        driven.advance(next_ns);
    }
    assert!(driven.server.is_idle());
    let expected = expected(&naive, config, &pushed, comes, &cancels);
    let outcomes: Vec<_> = driven.records.iter().flatten().map(|record| record.outcome).collect();
    assert_eq!(outcomes, expected.outcomes);
    if config == config.with_role(Role::Whole) && cancels.is_empty() && config.pipeline_parallel_size == 1 {
        simulate(config, &pushed, &expected.outcomes);
    }
    let totals = driven.server.totals();
    assert_eq!((totals.steps, totals.preemptions), (expected.steps, expected.preemptions));
    assert_eq!(totals.block_ns, expected.block_ns);
    assert_eq!(model.batches.take(), naive.batches.take());
}

/// Simulates requests that come in order, on a server and on two ranks that step together, as the plain engine does.
fn simulate(config: SimConfig, requests: &[Request], expected: &[Outcome]) {
    if !requests.is_sorted_by_key(|request| request.arrival_ns) {
        return;
    }
    let source = || RequestList::new(requests).with_ids(&IDS, TOKENS_PER_ID);
    let outcomes = |report: SimReport| report.records.iter().map(|record| record.outcome).collect::<Vec<_>>();
    let model = Linear::mixed();
    let report = Simulator::try_new(&model, config).unwrap().run_source(&mut source(), &mut ()).unwrap();
    assert_eq!(outcomes(report), expected);
    let report = Lockstep::try_new(&model, config, 2).unwrap().run_source(&mut source(), &mut ()).unwrap();
    assert_eq!(outcomes(report), oracle::lockstep::run(&Linear::mixed(), config, 2, requests, &IDS).outcomes);
}
