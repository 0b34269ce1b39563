//! Calls of the C interface, as a program may make them: any order, any handle, null pointers, results of any size.

#[path = "c/searches.rs"]
mod searches;

use std::fmt::Debug;
use std::ptr::{null, null_mut};

use rooflut_c as c;
use rooflut_c::{Code, Handle};

const NAMES: [&str; 6] = ["llama-3.1-8b", "qwen3-30b-a3b", "h100", "h200", "", "llama-9"];
const KERNELS: [&str; 3] = [
    r#"{"gemm": {"dtype": "bf16", "k": 4096, "n": 4096}}"#,
    r#"{"all_reduce": {"ranks": 2}}"#,
    r#"{"gemm": {"dtype": "bf16"}}"#,
];
const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
    "intermediate_size": 1024, "vocab_size": 32000, "max_position_embeddings": 4096}"#;
const SCENARIOS: [&str; 6] = [
    "[workload]\nrequests = 9\n",
    "tp = 2\n[server]\nmax_num_seqs = 2\n[workload]\nrequests = 20\nrate = 40.0\n",
    "[server]\nmax_waiting = 1\nkv_blocks = 400\nmax_model_len = 900\n[workload]\nrequests = 9\nprompt = 300\noutput = 500\n",
    "[server]\nprefix_caching = true\npatience = \"1s\"\n[workload]\nrequests = 9\nsystem_prompts = 2\nsystem_prompt_len = 100\n",
    "pp = 2\n[workload]\nrequests = 9\n",
    "tp = 3\n",
];

/// A program that calls what an input says.
struct Caller<'b> {
    bytes: &'b [u8],
    handles: Vec<Handle>,
    /// Whether it has searched: that takes long.
    has_searched: bool,
}

/// Makes the calls of an input, and frees all objects.
pub(super) fn calls(bytes: &[u8]) {
    let mut caller = Caller { bytes, handles: Vec::new(), has_searched: false };
    while !caller.bytes.is_empty() {
        caller.call();
    }
    for handle in caller.handles {
        // SAFETY: any number is a handle or refused.
        let freed = [0; 2].map(|_| unsafe { c::rooflut_free(handle, null_mut()) });
        assert_eq!(freed, [Code::Ok as u32, Code::Handle as u32]);
    }
}

// SAFETY of all calls: pointers are null, or to locals of the lengths that are given beside them.
impl Caller<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    /// A number of one byte, of any size, or close to the largest.
    fn number(&mut self) -> u64 {
        match self.byte() {
            250 => u64::from(u32::MAX) + u64::from(self.byte() % 2),
            251 => u64::MAX - u64::from(self.byte() % 2),
            252 => u64::from_le_bytes([0; 8].map(|_: u8| self.byte())),
            253 => u64::from(self.byte()) << 8,
            254 => u64::from(self.byte()) << 20,
            255 => u64::from(self.byte()) << 30,
            small => small.into(),
        }
    }

    fn short(&mut self) -> u32 {
        u32::try_from(self.number()).unwrap_or(u32::MAX)
    }

    /// An object of before, 0, or any number.
    fn handle(&mut self) -> Handle {
        match (self.byte(), self.handles.as_slice()) {
            (255, _) => self.number(),
            (254, _) | (_, []) => 0,
            (back, handles) => handles[handles.len() - 1 - usize::from(back) % handles.len()],
        }
    }

    /// One of `known`, or a few bytes that need not be UTF-8.
    fn text(&mut self, known: &[&str]) -> Vec<u8> {
        match self.byte() {
            255 => (0..self.byte() % 12).map(|_| self.byte()).collect(),
            index => known[usize::from(index) % known.len()].into(),
        }
    }

    /// Calls a function with a place for its result, or null, and checks what it answers.
    fn made<T: Copy + Debug>(&mut self, empty: T, function: impl FnOnce(*mut T, *mut c::Error) -> u32) -> Option<T> {
        let (mut out, mut error) = (empty, c::Error::NONE);
        let is_null = self.byte() == 255;
        let code = function(if is_null { null_mut() } else { &raw mut out }, &raw mut error);
        assert!(code <= Code::StepTime as u32 && code != Code::Panic as u32, "{code}: {}", error.message());
        if code == Code::Ok as u32 {
            assert!(!is_null && error.code == 0);
            return Some(out);
        }
        assert_eq!(error.code, code);
        assert!(!error.message().is_empty() && !error.message().contains('\u{fffd}'), "{:?}", error.message());
        // A call that fails writes nothing.
        assert_eq!(format!("{out:?}"), format!("{empty:?}"));
        None
    }

    /// As [`made`](Caller::made), of a function that returns an object.
    fn object(&mut self, function: impl FnOnce(*mut Handle, *mut c::Error) -> u32) {
        let made = self.made(0, function);
        assert!(made != Some(0));
        self.handles.extend(made);
    }

    fn call(&mut self) {
        let handle = self.handle();
        // SAFETY: see above.
        unsafe {
            let call = self.byte();
            if let Some(call) = call.checked_sub(24 * 10) {
                return self.other(call);
            }
            match call % 24 {
                0 => self.free(handle),
                1 => {
                    let name = self.text(&NAMES);
                    self.object(|out, error| c::rooflut_model_find(name.as_ptr().cast(), name.len(), out, error));
                }
                2 => self.model(),
                3 => self.object(|out, error| c::rooflut_model_describe(handle, out, error)),
                4 => self.object(|out, error| c::rooflut_model_names(out, error)),
                5 => {
                    let name = self.text(&NAMES);
                    self.object(|out, error| c::rooflut_tables_find(name.as_ptr().cast(), name.len(), out, error));
                }
                6 => self.object(|out, error| c::rooflut_tables_describe(handle, out, error)),
                7 => {
                    let kernel = self.text(&KERNELS);
                    let (text, length) = (kernel.as_ptr().cast(), kernel.len());
                    self.object(|out, error| c::rooflut_lookup_new(handle, text, length, out, error));
                }
                8 => {
                    let (batch, size) = (self.short(), self.number());
                    let empty = c::Estimate { seconds: -1.0, mfu: 0.0, class_: 0, is_outside: 0 };
                    let found = self.made(empty, |out, error| c::rooflut_lookup_at(handle, batch, size, out, error));
                    assert!(found.is_none_or(|found| found.seconds.is_finite() && found.seconds >= 0.0));
                }
                9 => self.scenario(handle),
                10 => {
                    let seed = self.number();
                    self.object(|out, error| c::rooflut_scenario_with_seed(handle, seed, out, error));
                }
                11 => {
                    let rate = f64::from_bits(self.number() << 48);
                    self.object(|out, error| c::rooflut_scenario_with_rate(handle, rate, out, error));
                }
                12 => self.object(|out, error| c::rooflut_server_new(handle, out, error)),
                13 => self.object(|out, error| c::rooflut_server_copy(handle, out, error)),
                14 => self.push(handle),
                15 => self.cancel(handle),
                16 => self.advance(handle),
                17 => self.step(handle),
                18 => self.events(handle),
                19 => self.read(handle),
                20 => self.times(handle),
                21 => self.many(handle),
                22 => {
                    let (output, stop) = (self.short(), self.handle());
                    self.object(|out, error| c::rooflut_scenario_run(handle, output, stop, out, error));
                }
                _ => self.stop(handle),
            }
        }
    }

    unsafe fn free(&mut self, handle: Handle) {
        let is_ours = self.handles.contains(&handle);
        // SAFETY: any number is a handle or refused.
        let freed = unsafe { c::rooflut_free(handle, null_mut()) };
        assert_eq!(freed, if is_ours { Code::Ok as u32 } else { Code::Handle as u32 });
        self.handles.retain(|other| *other != handle);
    }

    unsafe fn model(&mut self) {
        let [name, config] = [self.text(&NAMES), self.text(&[CONFIG, "{}"])];
        let generation = self.text(&["{}", "[]"]);
        let files = c::ConfigFiles {
            name: name.as_ptr().cast(),
            name_length: name.len(),
            config: config.as_ptr().cast(),
            config_length: config.len(),
            hf_quant_config: null(),
            hf_quant_config_length: 0,
            generation_config: if self.byte() < 128 { null() } else { generation.as_ptr().cast() },
            generation_config_length: generation.len(),
            assume_llama: (self.byte() % 3).into(),
        };
        // SAFETY: see above.
        self.object(|out, error| unsafe { c::rooflut_model_read(&raw const files, out, error) });
    }

    /// A scenario of `toml`, some with `handle` as an object of it.
    fn source(&mut self, toml: &[u8], handle: Handle) -> c::ScenarioSource {
        let (toml, toml_length) = (toml.as_ptr().cast(), toml.len());
        let mut source = c::ScenarioSource { toml, toml_length, model: 0, draft_model: 0, tables: 0 };
        match self.byte() % 8 {
            0 => source.model = handle,
            1 => source.tables = handle,
            2 => source.draft_model = handle,
            3 => (source.model, source.tables) = (handle, self.handle()),
            _ => (),
        }
        source
    }

    unsafe fn scenario(&mut self, handle: Handle) {
        let toml = self.text(&SCENARIOS);
        let source = self.source(&toml, handle);
        // SAFETY: see above.
        self.object(|out, error| unsafe { c::rooflut_scenario_new(&raw const source, out, error) });
    }

    unsafe fn push(&mut self, server: Handle) {
        let ids = [1_u64, 2, 3, 1, 4].map(|id| id + u64::from(self.byte() % 2));
        let length = usize::from(self.byte()).saturating_sub(250);
        let request = c::Request {
            arrival_ns: self.number(),
            prompt_tokens: self.short(),
            output_tokens: self.byte().into(),
            cached_prompt_tokens: (self.byte() / 8).into(),
            priority: (self.byte() / 64).into(),
            content: if length > 0 { 2 } else { (self.byte() / 120).into() },
            prefix_tokens: if length > 0 { 0 } else { (self.byte() / 2).into() },
            prefix: (self.byte() % 2).into(),
            own: (self.byte() % 4).into(),
            block_ids: ids.as_ptr(),
            block_ids_length: length,
            block_tokens: (self.byte() % 32).into(),
        };
        // SAFETY: see above.
        self.made(0, |out, error| unsafe { c::rooflut_server_push(server, &raw const request, out, error) });
    }

    unsafe fn state(&mut self, server: Handle) -> Option<c::ServerState> {
        let mut state = c::ServerState::default();
        // SAFETY: see above.
        let code = unsafe { c::rooflut_server_state(server, &raw mut state, null_mut()) };
        (code == 0).then_some(state)
    }

    unsafe fn cancel(&mut self, server: Handle) {
        let mut error = c::Error::NONE;
        // SAFETY: see above.
        let code = unsafe { c::rooflut_server_cancel(server, self.number(), &raw mut error) };
        assert!(error.code == code && code != Code::Panic as u32, "{code}: {}", error.message());
    }

    unsafe fn advance(&mut self, server: Handle) {
        // SAFETY: see above.
        unsafe {
            let before = self.state(server);
            let to_ns = match (self.byte(), before) {
                (..200, Some(state)) => state.next_event_ns,
                (_, state) => state.map_or(0, |state| state.now_ns).saturating_add(self.number() << 10),
            };
            let empty = c::ServerState::default();
            let state = self.made(empty, |out, error| c::rooflut_server_advance(server, to_ns, out, error));
            if let (Some(before), Some(state)) = (before, state) {
                assert!(before.now_ns <= state.now_ns && state.now_ns == to_ns);
                assert_eq!(state.is_idle == 1, state.next_event_ns == u64::MAX);
                assert!(state.is_idle == 0 || state.arriving + state.waiting + state.running == 0);
                assert!(state.kv_blocks_used <= state.kv_blocks);
            }
        }
    }

    unsafe fn step(&mut self, server: Handle) {
        let empty = c::StepRecord::default();
        // SAFETY: see above.
        let Some(record) = self.made(empty, |out, error| unsafe { c::rooflut_server_step(server, out, error) }) else {
            return;
        };
        let length = usize::try_from(record.tokens_length).unwrap();
        let capacity = length.saturating_sub(usize::from(self.byte() % 2));
        let mut tokens = vec![c::Yield { request: 0, tokens: 0 }; capacity];
        let place = tokens.as_mut_ptr();
        // SAFETY: see above.
        let written =
            self.made(0, |out, error| unsafe { c::rooflut_server_step_tokens(server, place, capacity, out, error) });
        assert!(written.is_none_or(|written| written == length && capacity == length));
        let sum: u64 = tokens.iter().map(|it| it.tokens).sum();
        assert!(written.is_none() || sum >= u64::from(record.yielded_tokens), "{record:?}");
        // SAFETY: see above.
        self.made(c::ServerTotals::default(), |out, error| unsafe { c::rooflut_server_totals(server, out, error) });
    }

    unsafe fn events(&mut self, server: Handle) {
        const EMPTY: c::Event = c::Event {
            request: 0,
            at_ns: 0,
            at_engine_ns: 0,
            scheduled_ns: 0,
            first_token_ns: 0,
            api_output_ns: 0,
            kind: c::EventKind::Unknown as u32,
            preemptions: 0,
            outcome: 0,
        };
        let mut events = [EMPTY; 4];
        let (place, capacity) = (events.as_mut_ptr(), usize::from(self.byte() % 5));
        // SAFETY: see above.
        let written =
            self.made(0, |out, error| unsafe { c::rooflut_server_events(server, place, capacity, out, error) });
        let written = written.unwrap_or(0);
        assert!(written <= capacity);
        assert!(events[..written].iter().all(|event| event.kind != c::EventKind::Unknown as u32));
        assert!(events[written..].iter().all(|event| event.kind == c::EventKind::Unknown as u32));
    }

    unsafe fn read(&mut self, text: Handle) {
        // SAFETY: see above.
        unsafe {
            let Some(length) = self.made(0, |out, error| c::rooflut_text_read(text, null_mut(), 0, out, error)) else {
                return;
            };
            let mut buffer = vec![0_u8; length];
            let (place, capacity) = (buffer.as_mut_ptr().cast(), length - usize::from(self.byte() % 2).min(length));
            let read = self.made(0, |out, error| c::rooflut_text_read(text, place, capacity, out, error));
            assert!(read.is_none() || str::from_utf8(&buffer).is_ok());
            // A text that a program got can be given back.
            let (a, length) = (buffer.as_ptr().cast(), buffer.len());
            self.object(|out, error| c::rooflut_compare(a, length, a, length, out, error));
        }
    }

    unsafe fn times(&mut self, scenario: Handle) {
        let chunks =
            [0; 2].map(|_: u8| c::Chunk { new_tokens: self.short(), kv_len: self.short(), is_last: self.byte() % 3 });
        let groups = [0; 2].map(|_: u8| c::DecodeGroup {
            kv_tokens: self.number(),
            outside_tokens: self.number(),
            requests: self.short(),
            drafted: (self.byte() / 64).into(),
        });
        let batch = c::Batch {
            prefill: chunks.as_ptr(),
            prefill_length: usize::from(self.byte() % 3),
            decode: groups.as_ptr(),
            decode_length: usize::from(self.byte() % 3),
        };
        let batch = &raw const batch;
        let coverage = f64::from(self.byte()) / 250.0;
        // SAFETY: see above.
        unsafe {
            let time =
                self.made(c::Duration::default(), |out, error| c::rooflut_step_time(scenario, batch, out, error));
            assert!(time.is_none_or(|time| time.seconds.is_finite() && time.seconds >= 0.0), "{time:?}");
            let parts =
                self.made(c::StepTime::default(), |out, error| c::rooflut_step_parts(scenario, batch, out, error));
            assert_eq!(time.zip(parts).map(|(time, parts)| time == parts.total), time.and(parts).map(|_| true));
            let empty = c::Interval { low_seconds: 0.0, high_seconds: 0.0 };
            let range = self.made(empty, |out, error| c::rooflut_step_interval(scenario, batch, coverage, out, error));
            assert!(range.is_none_or(|range| range.low_seconds <= range.high_seconds), "{range:?}");
            self.object(|out, error| c::rooflut_step_kernels(scenario, batch, out, error));
        }
    }

    unsafe fn many(&mut self, scenario: Handle) {
        let offsets = [0; 3].map(|_: u8| u64::from(self.byte() / 80));
        let (short, long) = ([0; 4].map(|_: u8| self.short()), [0; 4].map(|_: u8| self.number()));
        let (is_last, lengths) =
            ([0; 4].map(|_: u8| self.byte() % 3), [0; 3].map(|_: u8| usize::from(self.byte() % 5)));
        let length = lengths[0] % 3;
        let steps = c::Steps {
            length,
            prefill_offsets: offsets.as_ptr(),
            prefill_new_tokens: short.as_ptr(),
            prefill_kv_len: short.as_ptr(),
            prefill_is_last: if self.byte().is_multiple_of(2) { null() } else { is_last.as_ptr() },
            prefill_length: lengths[1],
            decode_offsets: offsets.as_ptr(),
            decode_requests: short.as_ptr(),
            decode_kv_tokens: long.as_ptr(),
            decode_drafted: null(),
            decode_outside_tokens: null(),
            decode_length: lengths[2],
        };
        let mut times = [c::Duration::default(); 3];
        let (steps, place) = (&raw const steps, times.as_mut_ptr());
        let mut error = c::Error::NONE;
        // SAFETY: see above.
        let code = unsafe { c::rooflut_step_times(scenario, steps, place, length, &raw mut error) };
        assert!(code != Code::Panic as u32 && error.code == code, "{}", error.message());
        assert!(times.iter().all(|time| time.seconds.is_finite() && time.seconds >= 0.0), "{times:?}");
    }

    unsafe fn stop(&mut self, handle: Handle) {
        // SAFETY: see above.
        unsafe {
            self.object(|out, error| c::rooflut_stop_new(out, error));
            let code = c::rooflut_stop(handle, null_mut());
            assert!([Code::Ok as u32, Code::Handle as u32].contains(&code));
        }
    }
}
