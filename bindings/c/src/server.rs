//! Servers that the caller drives.

use std::collections::VecDeque;

use rooflut::deployment::ServedModel;
use rooflut::sim::{self, RequestId, Server, ServerError, ServerEvent};

use crate::Handle;
use crate::border::call;
use crate::error::{Code, Error, Failure};
use crate::pointer::{Out, OutArray, input};
use crate::registry::REGISTRY;
use crate::request::{Event, Request};
use crate::text::returning;

/// A server with the events that its caller has not fetched yet.
#[derive(Clone)]
pub(crate) struct DrivenServer {
    server: Server<ServedModel>,
    /// Events before those that the server still has.
    events: VecDeque<ServerEvent>,
    /// Requests with tokens in the last `rooflut_server_step`, and the number of their tokens.
    tokens: Vec<(RequestId, u32)>,
}

/// Role of a server.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Prefill and decode.
    Whole = 0,
    /// Prefill.
    Prefill = 1,
    /// Decode: the KV entries of a prompt are there when the request arrives.
    Decode = 2,
}

impl From<Role> for sim::Role {
    fn from(role: Role) -> sim::Role {
        match role {
            Role::Whole => sim::Role::Whole,
            Role::Prefill => sim::Role::Prefill,
            Role::Decode => sim::Role::Decode,
        }
    }
}

/// The state of a server.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerState {
    /// The current time, nanoseconds from the start.
    pub now_ns: u64,
    /// The time to advance to next; `UINT64_MAX` if the server is idle.
    pub next_event_ns: u64,
    /// Tokens of prompt and output of all requests that have not finished.
    pub outstanding_tokens: u64,
    /// Requests that the engine has not seen yet.
    pub arriving: u64,
    /// Requests in the queue of the engine.
    pub waiting: u64,
    /// Requests that hold a sequence slot.
    pub running: u64,
    /// KV blocks in use.
    pub kv_blocks_used: u32,
    /// KV blocks of the server.
    pub kv_blocks: u32,
    /// 1 while a step is in flight, else 0.
    pub is_in_step: u32,
    /// 1 if all requests have finished, else 0.
    pub is_idle: u32,
}

/// Counts of all steps of a server that have ended.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerTotals {
    /// Engine steps.
    pub steps: u64,
    /// Nanoseconds during which a step ran.
    pub busy_ns: u64,
    /// Requests that were served in full.
    pub completed: u64,
    /// Requests that were rejected.
    pub rejected: u64,
    /// Requests whose output was cut at `max_model_len`.
    pub truncated: u64,
    /// Tokens of prompts and outputs of completed requests.
    pub tokens: u64,
    /// Tokens of their outputs.
    pub output_tokens: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Blocks looked up in the prefix cache.
    pub cache_lookups: u64,
    /// Blocks found in it.
    pub cache_hits: u64,
    /// Blocks evicted from it.
    pub cache_evictions: u64,
    /// Largest number of KV blocks in use at any time.
    pub peak_kv_blocks: u64,
}

/// A step of a server.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct StepRecord {
    /// Start, nanoseconds.
    pub start_ns: u64,
    /// Duration, nanoseconds.
    pub duration_ns: u64,
    /// KV tokens of the decoding requests.
    pub kv_tokens: u64,
    /// Number of requests with tokens, for `rooflut_server_step_tokens`.
    pub tokens_length: u64,
    /// Prompt chunks.
    pub prefill_chunks: u32,
    /// Their tokens.
    pub prefill_tokens: u32,
    /// Decoding requests.
    pub decode_requests: u32,
    /// Drafted tokens.
    pub drafted_tokens: u32,
    /// Accepted drafted tokens.
    pub accepted_tokens: u32,
    /// Output tokens that the step yields.
    pub yielded_tokens: u32,
    /// Requests that hold a sequence slot.
    pub running: u32,
    /// Requests in the queue.
    pub waiting: u32,
    /// KV blocks in use.
    pub kv_blocks_used: u32,
    /// Requests that were preempted.
    pub preempted: u32,
}

/// Output tokens of a request in a step.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Yield {
    /// Number of the request, as `rooflut_server_push` returned it.
    pub request: u64,
    /// Tokens: 1, or more with speculative decoding.
    pub tokens: u64,
}

/// Returns a server of the scenario at time 0, without requests.
///
/// One thread may use a server at a time; a call of another meanwhile is an error (`ROOFLUT_CODE_BUSY`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_new(scenario: Handle, server: *mut Handle, error: *mut Error) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { returning((server, "server"), error, || start(scenario, Role::Whole)) }
}

/// Returns a server of the scenario as one of separate prefill and decode servers, for a router of the caller.
///
/// `role` is a `RooflutRole`. Add a request with one output token to a prefill server, and when that has finished the
/// whole request to a decode server, with the time at which its KV entries are there as its arrival. A prefill server
/// delays no outputs in the API server; a decode server has no API server before the engine, no queue limit and no
/// patience of clients.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_new_stage(
    scenario: Handle,
    role: u32,
    server: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        let known = [Role::Whole, Role::Prefill, Role::Decode].into_iter().find(|known| *known as u32 == role);
        start(scenario, known.ok_or_else(|| Failure::value("role", "0 to 2, a RooflutRole", role))?)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((server, "server"), error, make) }
}

fn start(scenario: Handle, role: Role) -> Result<Handle, Failure> {
    let server = REGISTRY.scenarios.read(scenario, |run| {
        let model = run.deployment().served_model();
        Server::try_new(model, run.config().with_role(role.into())).map_err(Failure::refused)
    })?;
    REGISTRY.servers.insert(DrivenServer { server, events: VecDeque::new(), tokens: Vec::new() })
}

/// Returns a copy of a server: it has the same clock, requests, KV cache and events, and goes on by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_copy(server: Handle, copy: *mut Handle, error: *mut Error) -> u32 {
    let make = || {
        let copy = REGISTRY.servers.write(server, |driven| Ok(driven.clone()))?;
        REGISTRY.servers.insert(copy)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((copy, "copy"), error, make) }
}

/// Adds a request and writes its number: how many were added before it.
///
/// Requests may be added in any order of arrival, not before the current time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_push(
    server: Handle,
    request: *const Request,
    number: *mut u64,
    error: *mut Error,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let ((request, ids, tokens_per_id), out) =
            unsafe { (input(request, "request")?.checked()?, Out::new(number, "number")?) };
        REGISTRY.servers.write(server, |driven| {
            let id = driven.server.push_with_ids(request, ids, tokens_per_id);
            out.set(id.map_err(rejected)?.index() as u64);
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// Cancels a request that waits, runs or is still to arrive: its KV blocks are freed, and its last event has the outcome
/// `ROOFLUT_OUTCOME_CANCELLED`.
///
/// It takes effect at the next step boundary, and at once for a request that arrives after the current time. A request
/// whose last token comes from the step in flight is served all the same. A number that was never added, has finished or
/// was cancelled is an error (`ROOFLUT_CODE_VALUE`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_cancel(server: Handle, request: u64, error: *mut Error) -> u32 {
    let body = || {
        REGISTRY.servers.write(server, |driven| {
            // A number beyond the address space was never added.
            let index = usize::try_from(request).unwrap_or(usize::MAX);
            driven.server.cancel(RequestId::new(index)).map_err(rejected)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// Moves the clock to `to_ns`, runs all steps that begin before, and writes the state then.
///
/// A step that ends at `to_ns` has ended; no step begins at `to_ns`, so requests that arrive at this time can still be
/// added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_advance(
    server: Handle,
    to_ns: u64,
    state: *mut ServerState,
    error: *mut Error,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        using(server, state, "state", error, |driven| {
            driven.server.advance_to(to_ns).map_err(rejected)?;
            Ok(driven.state())
        })
    }
}

/// Writes the state of a server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_state(server: Handle, state: *mut ServerState, error: *mut Error) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { using(server, state, "state", error, |driven| Ok(driven.state())) }
}

/// Writes the counts of all steps that have ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_totals(server: Handle, totals: *mut ServerTotals, error: *mut Error) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { using(server, totals, "totals", error, |driven| Ok(driven.totals())) }
}

/// Writes the oldest events to an array of `capacity` entries, removes them, and writes their number to `length`.
///
/// If `length` is `capacity`, there may be more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_events(
    server: Handle,
    events: *mut Event,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let (events, out) = unsafe { (OutArray::new(events, capacity, "events")?, Out::new(length, "length")?) };
        REGISTRY.servers.write(server, |driven| {
            driven.events.extend(driven.server.drain_events());
            let oldest = driven.events.len().min(events.length());
            out.set(events.fill(driven.events.drain(..oldest).map(Event::from)));
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// Runs one step to its end and writes its record. An idle server runs no step and writes a duration of 0.
///
/// A server without work first waits for its next request. `rooflut_server_events` returns the events of the step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_step(server: Handle, record: *mut StepRecord, error: *mut Error) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { using(server, record, "record", error, DrivenServer::step) }
}

/// Writes the requests that had tokens in the last `rooflut_server_step` to an array of `capacity` entries, at least
/// the record's `tokens_length`, and their number to `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_server_step_tokens(
    server: Handle,
    tokens: *mut Yield,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let (tokens, out) = unsafe { (OutArray::new(tokens, capacity, "tokens")?, Out::new(length, "length")?) };
        REGISTRY.servers.write(server, |driven| {
            let needed = driven.tokens.len();
            if needed > capacity {
                let message = format!("capacity: expected at least {needed}, found {capacity}");
                return Err(Failure::new(Code::Length, message));
            }
            out.set(
                tokens.fill(
                    driven
                        .tokens
                        .iter()
                        .map(|(id, tokens)| Yield { request: id.index() as u64, tokens: u64::from(*tokens) }),
                ),
            );
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// Writes the answer of a server.
///
/// # Safety
/// `out` and `error` are null or valid for writes.
unsafe fn using<T>(
    server: Handle,
    out: *mut T,
    name: &str,
    error: *mut Error,
    ask: impl FnOnce(&mut DrivenServer) -> Result<T, Failure>,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out, name) }?;
        REGISTRY.servers.write(server, |driven| {
            out.set(ask(driven)?);
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

fn rejected(error: ServerError) -> Failure {
    match error {
        ServerError::NeverServed(reason) => Failure::refused(format_args!("request: {reason}")),
        ServerError::StepTime(error) => Failure::new(Code::StepTime, error),
        error => Failure::new(Code::Value, error),
    }
}

impl DrivenServer {
    fn state(&self) -> ServerState {
        let server = &self.server;
        let next = server.next_event_ns();
        ServerState {
            now_ns: server.now_ns(),
            next_event_ns: next.unwrap_or(u64::MAX),
            outstanding_tokens: server.outstanding_tokens(),
            arriving: server.arriving() as u64,
            waiting: server.waiting() as u64,
            running: server.running() as u64,
            kv_blocks_used: server.kv_blocks_used(),
            kv_blocks: server.kv_blocks(),
            is_in_step: server.is_in_step().into(),
            is_idle: next.is_none().into(),
        }
    }

    fn totals(&self) -> ServerTotals {
        let totals = self.server.totals();
        ServerTotals {
            steps: totals.steps,
            busy_ns: totals.busy_ns,
            completed: totals.completed,
            rejected: totals.rejected,
            truncated: totals.truncated,
            tokens: totals.tokens,
            output_tokens: totals.output_tokens,
            preemptions: totals.preemptions,
            cache_lookups: totals.cache_lookups,
            cache_hits: totals.cache_hits,
            cache_evictions: totals.cache_evictions,
            peak_kv_blocks: totals.peak_kv_blocks.into(),
        }
    }

    fn step(&mut self) -> Result<StepRecord, Failure> {
        // The outcome of a step has its own events only.
        self.events.extend(self.server.drain_events());
        self.tokens.clear();
        let outcome = self.server.step().map_err(|error| rejected(error.into()))?;
        let Some(outcome) = outcome else {
            return Ok(StepRecord::default());
        };
        self.events.extend(outcome.events);
        self.tokens.extend_from_slice(outcome.tokens);
        let record = outcome.record;
        Ok(StepRecord {
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            kv_tokens: record.kv_tokens,
            tokens_length: outcome.tokens.len() as u64,
            prefill_chunks: record.prefill_chunks,
            prefill_tokens: record.prefill_tokens,
            decode_requests: record.decode_requests,
            drafted_tokens: record.drafted_tokens,
            accepted_tokens: record.accepted_tokens,
            yielded_tokens: record.yielded_tokens,
            running: record.running,
            waiting: record.waiting,
            kv_blocks_used: record.kv_blocks_used,
            preempted: record.preempted,
        })
    }
}

#[cfg(test)]
mod tests {
    use rooflut::sim::SimConfig;
    use rooflut::step::{LatencyModel, StepBatch};
    use rooflut::units::Seconds;

    use super::*;

    struct NoTime;

    impl LatencyModel for NoTime {
        fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
            Seconds(f64::NAN)
        }
    }

    #[test]
    fn a_step_without_a_time_has_a_code_of_its_own() {
        let mut server = Server::try_new(NoTime, SimConfig::new(100, 10)).unwrap();
        server.push(rooflut::sim::Request::new(10, 2)).unwrap();
        let failure = rejected(server.advance_to(1).unwrap_err());
        assert_eq!(failure.code(), Code::StepTime);
    }
}
