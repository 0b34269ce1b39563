//! Straightforward engines behind a router, some of them lost for some time, and prefill and decode on servers apart.

use std::collections::BTreeMap;

use super::engines::{self, Engine, Kind, Log};
use rooflut::engine::BeyondMaxModelLen;
use rooflut::sim::cluster::{Outage, Router};
use rooflut::sim::load::Source;
use rooflut::sim::{KvTransfer, Outcome, Request, RequestRecord, SimConfig, Timing};

/// Servers behind a router.
pub(crate) struct Pool<'m> {
    kinds: Vec<Kind<'m>>,
    places: Vec<Place<'m>>,
    router: Router,
    outages: Vec<Outage>,
    /// The last time at which a server was lost or back.
    changed_ns: Option<u64>,
    /// The server that the router chooses next.
    turn: usize,
    sent: Vec<Sent>,
    /// Requests that wait for a server to be back.
    waiting: Vec<(usize, Request)>,
}

/// A server.
struct Place<'m> {
    kind: usize,
    first: u32,
    engine: Box<dyn Engine + 'm>,
    is_lost: bool,
    /// Peak of the engines that were lost.
    peak_blocks: u32,
}

/// A request that was sent to a server.
struct Sent {
    place: usize,
    index: usize,
    /// The request as it came to the router.
    request: Request,
    tokens: u64,
    finish_ns: Option<u64>,
    is_lost: bool,
}

impl<'m> Pool<'m> {
    pub(crate) fn new(kinds: Vec<Kind<'m>>, router: Router, outages: Vec<Outage>, mut first: u32) -> Pool<'m> {
        let mut places = Vec::new();
        for (kind, of) in kinds.iter().enumerate() {
            for _ in 0..of.replicas {
                let engine = engines::start(*of, first, 0);
                places.push(Place { kind, first, engine, is_lost: false, peak_blocks: 0 });
                first += of.ranks;
            }
        }
        let (sent, waiting) = (Vec::new(), Vec::new());
        Pool { kinds, places, router, outages, changed_ns: None, turn: 0, sent, waiting }
    }

    /// Sends a request to a server, at its arrival or later.
    fn push(&mut self, index: usize, request: Request, at_ns: u64) {
        let sent = request.at_ns(at_ns);
        let Some(place) = self.route(index, &sent) else {
            self.waiting.push((index, request));
            return;
        };
        let tokens = tokens(&self.kinds[self.places[place].kind].config, &sent);
        self.sent.push(Sent { place, index, request, tokens, finish_ns: None, is_lost: false });
        self.places[place].engine.push(index, sent);
    }

    fn route(&mut self, index: usize, request: &Request) -> Option<usize> {
        let serves = |kind: usize| self.kinds[kind].config.check(request).is_ok();
        let is_served = (0..self.kinds.len()).any(serves);
        let places = 0..self.places.len();
        let suits = |place: &usize| {
            let kind = self.places[*place].kind;
            !self.places[*place].is_lost && if is_served { serves(kind) } else { kind == 0 }
        };
        let candidates: Vec<usize> = places.filter(suits).collect();
        let of = |place: usize| self.sent.iter().filter(move |sent| sent.place == place);
        let outstanding = |place: usize| -> u64 {
            let open =
                of(place).filter(|sent| !sent.is_lost && sent.finish_ns.is_none_or(|ns| ns > request.arrival_ns));
            open.map(|sent| sent.tokens).sum()
        };
        match self.router {
            Router::RoundRobin => {
                let next = candidates.iter().find(|place| **place >= self.turn).or(candidates.first()).copied()?;
                self.turn = (next + 1) % self.places.len();
                Some(next)
            }
            Router::LeastOutstandingTokens => candidates.into_iter().min_by_key(|place| outstanding(*place)),
            Router::PrefixAffinity => candidates.into_iter().min_by_key(|&place| {
                let Place { kind, engine, .. } = &self.places[place];
                let cached = engines::cached(&**engine, &self.kinds[*kind], index, request).min(request.prompt_tokens);
                let saved = if cached > request.prompt_tokens / 2 { cached } else { 0 };
                let ever: u64 = of(place).map(|sent| sent.tokens).sum();
                (outstanding(place) + u64::from(request.prompt_tokens - saved), ever)
            }),
            other => panic!("{other:?}"),
        }
    }

    fn next_step(&self) -> Option<(u64, usize)> {
        let begins = self.places.iter().enumerate();
        begins.filter_map(|(place, of)| Some((of.engine.begins_ns()?, place))).min()
    }

    /// Runs a step of a server; returns the requests that it finishes or rejects.
    fn step(&mut self, place: usize, log: &mut Log) -> Vec<(usize, u64)> {
        self.places[place].engine.step(log);
        let done = std::mem::take(&mut log.done);
        for &(index, at_ns) in &done {
            self.last(index).finish_ns = Some(at_ns);
        }
        done
    }

    /// The last server of a request.
    fn last(&mut self, index: usize) -> &mut Sent {
        self.sent.iter_mut().rev().find(|sent| sent.index == index).unwrap()
    }

    fn next_change_ns(&self) -> Option<u64> {
        let changes = self.outages.iter().flat_map(|outage| [outage.from_ns, outage.to_ns]);
        changes.filter(|ns| self.changed_ns.is_none_or(|changed_ns| *ns > changed_ns)).min()
    }

    /// Lets servers be lost and back; returns the ranks that are lost, and their unfinished requests by index.
    fn change(&mut self, now_ns: u64) -> (Vec<u32>, Vec<(usize, Request)>) {
        self.changed_ns = Some(now_ns);
        for outage in self.outages.iter().filter(|outage| outage.to_ns == now_ns) {
            self.places[outage.server as usize].is_lost = false;
        }
        let (mut ranks, mut unfinished) = (Vec::new(), BTreeMap::new());
        for outage in self.outages.iter().filter(|outage| outage.from_ns == now_ns) {
            let server = outage.server as usize;
            let place = &mut self.places[server];
            let kind = self.kinds[place.kind];
            place.is_lost = true;
            place.peak_blocks = place.peak_blocks.max(peak(&*place.engine));
            place.engine = engines::start(kind, place.first, outage.to_ns);
            ranks.extend(place.first..place.first + kind.ranks);
            for sent in self.sent.iter_mut().filter(|sent| sent.place == server && sent.finish_ns.is_none()) {
                if !sent.is_lost {
                    sent.is_lost = true;
                    unfinished.insert(sent.index, sent.request);
                }
            }
        }
        (ranks, unfinished.into_iter().collect())
    }

    /// When the first server is back if all are lost.
    fn all_lost_until_ns(&self) -> Option<u64> {
        let backs = self.outages.iter().map(|outage| outage.to_ns);
        let back_ns = backs.filter(|ns| self.changed_ns.is_none_or(|changed_ns| *ns > changed_ns)).min();
        back_ns.filter(|_| self.places.iter().all(|place| place.is_lost))
    }

    pub(crate) fn peak_blocks(&self) -> u32 {
        self.places.iter().map(|place| place.peak_blocks.max(peak(&*place.engine))).sum()
    }
}

fn peak(engine: &dyn Engine) -> u32 {
    engine.schedulers().iter().map(|scheduler| scheduler.kv.peak_used()).sum()
}

/// Tokens of a request as a server serves it.
fn tokens(config: &SimConfig, request: &Request) -> u64 {
    let mut served = *request;
    served.output_tokens = served_output(config, request);
    served.tokens()
}

fn served_output(config: &SimConfig, request: &Request) -> u32 {
    let room = config.max_model_len.saturating_sub(request.prompt_tokens);
    match config.rules.beyond_max_model_len {
        BeyondMaxModelLen::Truncate if room > 0 => request.output_tokens.min(room),
        _ => request.output_tokens,
    }
}

/// The results of a run.
pub(crate) struct Fleet {
    pub(crate) records: BTreeMap<usize, RequestRecord>,
    pub(crate) restarted: u64,
    /// Transfers that were delivered: time on the link, and up to the delivery.
    pub(crate) transfers: Vec<(u64, u64)>,
}

/// Forgets what happened to a request.
fn forget(log: &mut Log, index: usize) {
    log.run.outcomes[index] = Outcome::Completed(Timing::default());
    log.run.last_token_ns[index] = None;
}

fn answered(source: &mut dyn Source, index: usize, record: &RequestRecord, at_ns: u64) {
    let delay_ns = record.timing().map_or(0, |timing| timing.api_output_ns);
    source.finished(index, &record.request, at_ns + delay_ns);
}

/// Serves the requests of `source`, of which `log` has the number.
pub(crate) fn serve(pool: &mut Pool<'_>, source: &mut dyn Source, log: &mut Log) -> Fleet {
    let mut fleet = Fleet { records: BTreeMap::new(), restarted: 0, transfers: Vec::new() };
    let api_server_ns = pool.kinds.iter().map(|kind| kind.config.api_server_ns).min().unwrap();
    loop {
        let (arrival_ns, step) = (source.next_arrival_ns(), pool.next_step());
        if arrival_ns.is_none() && step.is_none() && pool.waiting.is_empty() {
            return fleet;
        }
        let begins_ns = step.map_or(u64::MAX, |(ns, _)| ns);
        let change_ns = pool.next_change_ns().unwrap_or(u64::MAX);
        if let Some(arrival_ns) = arrival_ns.filter(|ns| *ns < change_ns)
            && (arrival_ns + api_server_ns).min(change_ns) <= begins_ns
        {
            let (index, request) = source.take().unwrap();
            pool.push(index, request, arrival_ns);
        } else if change_ns <= begins_ns {
            let (_, lost) = pool.change(change_ns);
            fleet.restarted += lost.len() as u64;
            for (index, request) in std::mem::take(&mut pool.waiting).into_iter().chain(lost) {
                forget(log, index);
                pool.push(index, request, change_ns);
            }
        } else {
            let place = step.unwrap().1;
            for (index, at_ns) in pool.step(place, log) {
                let mut request = pool.last(index).request;
                let outcome = log.run.outcomes[index];
                if matches!(outcome, Outcome::Completed(_)) || log.aborted.contains(&index) {
                    request.output_tokens = served_output(&pool.kinds[pool.places[place].kind].config, &request);
                }
                let record = RequestRecord::new(request, outcome);
                answered(source, index, &record, at_ns);
                fleet.records.insert(index, record);
            }
        }
    }
}

/// A link that sends one request after the other: nanoseconds per token, in thousandths, and on the way.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) token_ps: u64,
    pub(crate) latency_ns: u64,
}

/// A request whose KV entries are on their way.
struct Transfer {
    delivered_ns: u64,
    index: usize,
    occupied_ns: u64,
    rank: u32,
    prefilled_ns: u64,
}

/// Serves the requests of `source` on prefill and decode servers, which have a log each.
pub(crate) fn serve_apart(
    [prefill, decode]: [&mut Pool<'_>; 2],
    link: Link,
    source: &mut dyn Source,
    [first, second]: [&mut Log; 2],
) -> Fleet {
    let mut fleet = Fleet { records: BTreeMap::new(), restarted: 0, transfers: Vec::new() };
    let api_server_ns = prefill.kinds[0].config.api_server_ns;
    let mut requests: BTreeMap<usize, Request> = BTreeMap::new();
    let mut transfers: Vec<Transfer> = Vec::new();
    let mut free_ns: BTreeMap<u32, u64> = BTreeMap::new();
    let prompt = |request: &Request| {
        let mut prompt = *request;
        prompt.output_tokens = 1;
        prompt
    };
    loop {
        let arrival_ns = source.next_arrival_ns();
        let steps = [prefill.next_step(), decode.next_step()];
        let [prefill_ns, decode_ns] = steps.map(|step| step.map_or(u64::MAX, |(ns, _)| ns));
        transfers.sort_by_key(|transfer| (transfer.delivered_ns, transfer.index));
        let delivery_ns = transfers.first().map_or(u64::MAX, |transfer| transfer.delivered_ns);
        let nothing_runs = steps == [None, None] && transfers.is_empty();
        if arrival_ns.is_none() && nothing_runs && prefill.waiting.is_empty() {
            return fleet;
        }
        let changes = [prefill.next_change_ns(), decode.next_change_ns()].map(|ns| ns.unwrap_or(u64::MAX));
        let change_ns = changes[0].min(changes[1]);
        let others_ns = delivery_ns.min(prefill_ns).min(decode_ns);
        if let Some(arrival_ns) = arrival_ns.filter(|ns| *ns < change_ns)
            && (arrival_ns + api_server_ns).min(change_ns) <= others_ns
        {
            let (index, mut request) = source.take().unwrap();
            let config = &decode.kinds[0].config;
            if let Err(reason) = config.check(&request) {
                let record = RequestRecord::new(request, Outcome::Rejected(reason));
                answered(source, index, &record, arrival_ns + api_server_ns);
                fleet.records.insert(index, record);
                continue;
            }
            request.output_tokens = served_output(config, &request);
            requests.insert(index, request);
            prefill.push(index, prompt(&request), arrival_ns);
        } else if change_ns <= others_ns {
            let lost = if changes[0] == change_ns {
                let (ranks, mut lost) = prefill.change(change_ns);
                for rank in &ranks {
                    free_ns.remove(rank);
                }
                transfers.retain(|transfer| {
                    let stays = !ranks.contains(&transfer.rank);
                    if !stays {
                        lost.push((transfer.index, Request::default()));
                    }
                    stays
                });
                lost.sort_by_key(|(index, _)| *index);
                lost
            } else {
                decode.change(change_ns).1
            };
            fleet.restarted += lost.len() as u64;
            let waiting = std::mem::take(&mut prefill.waiting);
            for (index, _) in waiting.into_iter().chain(lost) {
                forget(first, index);
                forget(second, index);
                prefill.push(index, prompt(&requests[&index]), change_ns);
            }
        } else if delivery_ns <= prefill_ns.min(decode_ns) {
            let mut transfer = transfers.remove(0);
            if let Some(back_ns) = decode.all_lost_until_ns() {
                transfer.delivered_ns = back_ns;
                transfers.push(transfer);
                continue;
            }
            let index = transfer.index;
            fleet.transfers.push((transfer.occupied_ns, transfer.delivered_ns - transfer.prefilled_ns));
            let request = requests[&index].at_ns(transfer.delivered_ns).with_cached_prompt_tokens(0);
            decode.push(index, request, transfer.delivered_ns);
        } else if prefill_ns <= decode_ns {
            let mut done = prefill.step(steps[0].unwrap().1, first);
            done.sort_by_key(|&(index, at_ns)| (at_ns, index));
            for (index, at_ns) in done {
                let Outcome::Completed(timing) = first.run.outcomes[index] else {
                    let record = RequestRecord::new(requests[&index], first.run.outcomes[index]);
                    answered(source, index, &record, at_ns);
                    fleet.records.insert(index, record);
                    continue;
                };
                let picoseconds = u64::from(requests[&index].prompt_tokens) * link.token_ps;
                let occupied_ns = (picoseconds + 500) / 1_000;
                let free_ns = free_ns.entry(timing.replica).or_insert(0);
                *free_ns = (*free_ns).max(at_ns) + occupied_ns;
                let delivered_ns = *free_ns + link.latency_ns;
                let (rank, prefilled_ns) = (timing.replica, at_ns);
                transfers.push(Transfer { delivered_ns, index, occupied_ns, rank, prefilled_ns });
            }
        } else {
            for (index, at_ns) in decode.step(steps[1].unwrap().1, second) {
                let delivered_ns = decode.last(index).request.arrival_ns;
                let (prompt, output) = (*first.run.timing(index), second.run.outcomes[index]);
                let outcome = match output {
                    Outcome::Completed(output) => Outcome::Completed(whole(prompt, output, delivered_ns)),
                    _ => output,
                };
                let record = RequestRecord::new(requests[&index], outcome);
                answered(source, index, &record, at_ns);
                fleet.records.insert(index, record);
            }
        }
    }
}

/// Returns the times of a request, given those on its two servers.
fn whole(prompt: Timing, output: Timing, delivered_ns: u64) -> Timing {
    let mut kv_transfer = KvTransfer::default();
    kv_transfer.prefill_replica = prompt.replica;
    kv_transfer.prefilled_ns = prompt.finish_ns;
    kv_transfer.delivered_ns = delivered_ns;
    kv_transfer.scheduled_ns = output.scheduled_ns;
    let mut both = output;
    both.at_engine_ns = prompt.at_engine_ns;
    both.scheduled_ns = prompt.scheduled_ns;
    both.preemptions += prompt.preemptions;
    both.cached_tokens = prompt.cached_tokens;
    both.kv_transfer = Some(kv_transfer);
    both
}
