//! An event loop with its own clock, as in another simulator, with the server as one component. Clients
//! read the answers over a network and ask the next question after reading.
//!
//! `cargo run --release -p rooflut --example co_simulate`

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;

use rooflut::sim::{Content, Request, RequestId, ServerEvent};
use rooflut::table::sets;
use rooflut::{Deployment, model};

/// Nanoseconds from client to server, and back.
const NETWORK_NS: u64 = 15_000_000;
/// Nanoseconds that a client takes to read a token.
const READING_NS_PER_TOKEN: u64 = 20_000_000;
/// Questions of each client.
const TURNS: u32 = 4;

/// An event outside the server. Events at the same time happen in the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A question reaches the server.
    Question { client: usize },
    /// The first token of an answer reaches its client.
    FirstToken { client: usize },
    /// The whole answer reaches its client.
    Answer { client: usize },
}

/// A client and its conversation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Client {
    asked_ns: u64,
    pub(crate) turns: u32,
    /// Tokens of the conversation so far.
    history: u32,
    pub(crate) worst_wait_ns: u64,
}

/// Runs `clients` against one server. Returns the clients and the number of blocks found in the prefix cache.
pub(crate) fn talk(clients: usize) -> Result<(Vec<Client>, u64), Box<dyn Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
    let mut server = deployment.server()?;
    let mut clients = vec![Client::default(); clients];
    // The client of each request.
    let mut client_of: Vec<usize> = Vec::new();
    let mut events = BinaryHeap::new();
    for client in 0..clients.len() {
        events.push(Reverse((NETWORK_NS, Event::Question { client })));
    }
    loop {
        let outside_ns = events.peek().map(|Reverse((at_ns, _))| *at_ns);
        let server_ns = server.next_event_ns();
        let Some(now_ns) = outside_ns.into_iter().chain(server_ns).min() else {
            break;
        };
        // Results of the server at this time come first; a step that begins now includes requests pushed now.
        server.advance_to(now_ns)?;
        for event in server.drain_events() {
            let client = |id: RequestId| client_of.get(id.index()).copied().unwrap_or_default();
            let outside = match event {
                ServerEvent::FirstToken { id, .. } => Event::FirstToken { client: client(id) },
                ServerEvent::Finished { id, .. } => Event::Answer { client: client(id) },
                _ => continue,
            };
            events.push(Reverse((now_ns + NETWORK_NS, outside)));
        }
        while let Some(&Reverse((at_ns, event))) = events.peek()
            && at_ns == now_ns
        {
            events.pop();
            let (Event::Question { client: index }
            | Event::FirstToken { client: index }
            | Event::Answer { client: index }) = event;
            let Some(client) = clients.get_mut(index) else {
                continue;
            };
            match event {
                Event::Question { .. } => {
                    let request = client.ask(index as u64, now_ns);
                    server.push(request)?;
                    client_of.push(index);
                }
                Event::FirstToken { .. } => {
                    let wait_ns = now_ns - client.asked_ns;
                    client.worst_wait_ns = client.worst_wait_ns.max(wait_ns);
                }
                Event::Answer { .. } if client.turns < TURNS => {
                    let reading_ns = u64::from(ANSWER_TOKENS) * READING_NS_PER_TOKEN;
                    let asks_ns = now_ns + reading_ns + NETWORK_NS;
                    events.push(Reverse((asks_ns, Event::Question { client: index })));
                }
                Event::Answer { .. } => {}
            }
        }
    }
    Ok((clients, server.totals().cache_hits))
}

/// Tokens of a question and of an answer.
const QUESTION_TOKENS: u32 = 100;
const ANSWER_TOKENS: u32 = 150;

impl Client {
    /// Returns the next question after the conversation so far; it reaches the server now.
    fn ask(&mut self, own: u64, now_ns: u64) -> Request {
        self.asked_ns = now_ns - NETWORK_NS;
        self.turns += 1;
        let prompt_tokens = self.history + QUESTION_TOKENS;
        self.history = prompt_tokens + ANSWER_TOKENS;
        let conversation = Content::Texts { prefix: 0, prefix_tokens: 0, own };
        Request::new(prompt_tokens, ANSWER_TOKENS).at_ns(now_ns).with_content(conversation)
    }
}

#[allow(dead_code, reason = "a test runs the example as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("clients  worst wait for a first token  cached blocks found");
    for count in [10, 100, 300] {
        let (clients, hits) = talk(count)?;
        let worst_ns = clients.iter().map(|client| client.worst_wait_ns).max();
        let worst_ms = worst_ns.unwrap_or(0) as f64 / 1e6;
        println!("{count:7}  {worst_ms:25.1} ms  {hits:19}");
    }
    Ok(())
}
