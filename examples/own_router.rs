//! A router of one's own over prefill and decode servers: prompts are computed on one server, their KV entries sent to
//! another one, which writes the answer.
//!
//! `cargo run --release -p rooflut --example own_router`

use std::collections::BTreeMap;
use std::error::Error;

use rooflut::sim::cluster::{KvLink, LinkQueue};
use rooflut::sim::load::{Arrivals, Lengths, RequestMix, SyntheticLoad};
use rooflut::sim::{Outcome, Request, RequestId, RequestRecord, Role, Server, ServerError, ServerEvent, SimConfig};
use rooflut::step::LatencyModel;
use rooflut::table::sets;
use rooflut::units::Seconds;
use rooflut::{Deployment, model};

/// K and V of 8 heads of 128 values in bf16, in 32 layers.
const KV_BYTES_PER_TOKEN: f64 = 131_072.0;

/// A server and the request of each push.
struct Member<M> {
    server: Server<M>,
    indices: Vec<usize>,
}

impl<M: LatencyModel> Member<M> {
    fn new(model: M, config: SimConfig, replica: u32) -> Result<Member<M>, Box<dyn Error>> {
        let server = Server::try_new(model, config)?.with_replica(replica);
        Ok(Member { server, indices: Vec::new() })
    }

    fn push(&mut self, index: usize, request: Request) -> Result<(), ServerError> {
        self.server.push(request)?;
        self.indices.push(index);
        Ok(())
    }

    /// Moves the clock; returns the requests that have finished, those of one step in the order of their indices.
    fn advance(&mut self, now_ns: u64) -> Result<Vec<(u64, usize, RequestRecord)>, ServerError> {
        self.server.advance_to(now_ns)?;
        let index_of = |id: RequestId| self.indices.get(id.index()).copied().unwrap_or_default();
        let finished = |event| match event {
            ServerEvent::Finished { id, at_ns, record } => Some((at_ns, index_of(id), record)),
            _ => None,
        };
        let mut finished: Vec<_> = self.server.drain_events().filter_map(finished).collect();
        finished.sort_by_key(|(at_ns, index, _)| (*at_ns, *index));
        Ok(finished)
    }
}

/// Serves `requests`, which are in the order of their arrival, and returns their records: prompts go to one of `prefill`
/// servers after the other, KV entries to one of `decode` servers after the other.
pub(crate) fn serve<M: LatencyModel + Copy>(
    model: M,
    [prefill, decode]: [(SimConfig, u32); 2],
    link: KvLink,
    requests: &[Request],
) -> Result<Vec<RequestRecord>, Box<dyn Error>> {
    let decode_config = decode.0.with_role(Role::Decode);
    let prefill_config = prefill.0.with_role(Role::Prefill);
    let first = |replica| Member::new(model, prefill_config, replica);
    let second = |replica| Member::new(model, decode_config, prefill.1 + replica);
    let mut prefill: Vec<Member<M>> = (0..prefill.1).map(first).collect::<Result<_, _>>()?;
    let mut decode: Vec<Member<M>> = (0..decode.1).map(second).collect::<Result<_, _>>()?;
    let mut links = vec![LinkQueue::new(link); prefill.len()];
    let mut turns = [(0..prefill.len()).cycle(), (0..decode.len()).cycle()];
    let mut arriving = requests.iter().copied().enumerate().peekable();
    // Requests whose KV entries are on their way, by the time of delivery.
    let mut transfers: BTreeMap<(u64, usize), Request> = BTreeMap::new();
    let mut prompts: BTreeMap<usize, RequestRecord> = BTreeMap::new();
    let mut records: BTreeMap<usize, RequestRecord> = BTreeMap::new();
    loop {
        let arrival_ns = arriving.peek().map(|(_, request)| request.arrival_ns);
        let delivery_ns = transfers.keys().next().map(|(delivered_ns, _)| *delivered_ns);
        let servers = prefill.iter().chain(&decode).filter_map(|member| member.server.next_event_ns());
        let Some(now_ns) = servers.chain(arrival_ns).chain(delivery_ns).min() else {
            return Ok(records.into_values().collect());
        };
        for (member, link) in prefill.iter_mut().zip(&mut links) {
            for (at_ns, index, mut record) in member.advance(now_ns)? {
                let whole = requests.get(index).copied().unwrap_or_default();
                record.request.output_tokens = whole.output_tokens;
                match record.outcome {
                    Outcome::Completed(_) => {
                        let delivered_ns = link.send(at_ns, whole.prompt_tokens).delivered_ns;
                        transfers.insert((delivered_ns, index), whole);
                        prompts.insert(index, record);
                    }
                    _ => {
                        records.insert(index, record);
                    }
                }
            }
        }
        for member in &mut decode {
            for (_, index, record) in member.advance(now_ns)? {
                if let Some(prompt) = prompts.remove(&index) {
                    records.insert(index, record.after_prefill(&prompt));
                }
            }
        }
        let [prefill_turns, decode_turns] = &mut turns;
        // The steps that begin now have these requests.
        while let Some((index, request)) = arriving.next_if(|(_, request)| request.arrival_ns == now_ns) {
            let mut prompt = request;
            prompt.output_tokens = 1;
            let sent = decode_config.check(&request).map_err(ServerError::NeverServed).and_then(|()| {
                let member = prefill_turns.next().and_then(|turn| prefill.get_mut(turn));
                member.map_or(Ok(()), |member| member.push(index, prompt))
            });
            match sent {
                Err(ServerError::NeverServed(reason)) => {
                    records.insert(index, RequestRecord::new(request, Outcome::Rejected(reason)));
                }
                sent => sent?,
            }
        }
        while let Some(entry) = transfers.first_entry().filter(|entry| entry.key().0 == now_ns) {
            let ((_, index), request) = entry.remove_entry();
            // The prefix hit was on the prefill server.
            let delivered = request.at_ns(now_ns).with_cached_prompt_tokens(0);
            if let Some(member) = decode_turns.next().and_then(|turn| decode.get_mut(turn)) {
                member.push(index, delivered)?;
            }
        }
    }
}

#[allow(dead_code, reason = "a test runs the example as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
    let server = deployment.server()?;
    let link = KvLink::try_new(50e9, Seconds::from_us(10.0), KV_BYTES_PER_TOKEN)?;
    let mix = RequestMix::new(Lengths::try_uniform(64..=2_048)?, Lengths::try_uniform(64..=512)?);
    let requests: Vec<Request> = SyntheticLoad::new(Arrivals::try_poisson(20.0, 7)?, mix, 7).take(500).collect();
    for (prefill, decode) in [(1, 3), (2, 2), (3, 1)] {
        let pools = [prefill, decode].map(|replicas| (*server.config(), replicas));
        let records = serve(server.model(), pools, link, &requests)?;
        let worst = |of: fn(&RequestRecord) -> Option<Seconds>| {
            records.iter().filter_map(of).map(|time| time.ms()).fold(0.0, f64::max)
        };
        let (ttft_ms, tpot_ms) = (worst(RequestRecord::ttft), worst(RequestRecord::tpot));
        println!("{prefill} prefill, {decode} decode: worst TTFT {ttft_ms:.1} ms, worst TPOT {tpot_ms:.1} ms");
    }
    Ok(())
}
