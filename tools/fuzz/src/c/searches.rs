//! Calls that search, read files or answer without an object.

use std::ffi::CStr;

use rooflut_c as c;

use super::{Caller, SCENARIOS};

/// Questions to `rooflut_plan` and `rooflut_saturate`.
const QUESTIONS: [&str; 10] = [
    r#"{"goodput": ["ttft:900", "tpot:90"], "count": 1}"#,
    r#"{"goodput": ["ttft:900@p90"], "gpu": ["h100", "h200"], "tp": [1, 2], "dp": [1], "pp": [1], "max_gpus": 2}"#,
    r#"{"goodput": ["tpot:9"], "dtype": ["fp8"], "kv_dtype": ["fp8"], "expert_parallel": [false], "max_num_seqs": [9]}"#,
    r#"{"goodput": ["e2e:0.1"], "attainment": 0.9, "confidence": 0.8, "max_num_batched_tokens": [64], "max_gpus": 1}"#,
    r#"{"goodput": ["ttft:900"], "tolerance": 0.5}"#,
    r#"{"tolerance": 0.3, "confidence": 0.7}"#,
    r#"{"attainment": 0.9}"#,
    r#"{"goodput": ["ttft:900"], "confidence": 2}"#,
    r#"{"goodput": ["ttft:900"], "gpu": ["h101"]}"#,
    "",
];

/// Questions to `rooflut_fits`.
const DEMANDS: [&str; 5] =
    [r#"{"batch": 8, "context": 900}"#, "", r#"{"batch": 0}"#, r#"{"context": 4294967295}"#, "[]"];

/// Lists of a sweep.
const SWEEPS: [&str; 6] = [
    "[workload]\nrequests = 3\n[sweep]\ntp = [1, 2]\nrate = [2, 9.5]\n",
    "[workload]\nrequests = 3\n[sweep]\nmodel = ['llama-3.1-8b', 'qwen3-30b-a3b']\ngpu = ['h100', 'h101']\n",
    "[workload]\nrequests = 3\n",
    "[sweep]\ntp = [1, 'x']\n",
    "[sweep]\nrate = ['1..400:1']\nmax_num_seqs = ['1..400:1']\n",
    "[workload]\nusers = 2\nrequests = 3\n[server]\ndraft_model = 'llama-3.1-8b'\ndraft_tokens = 2\n",
];

/// Folders of tables, and what is none.
const PATHS: [&str; 4] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own-tables/measurements/my-gpu"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"),
    "none",
    "",
];

// SAFETY of all calls: as in the module above.
impl Caller<'_> {
    pub(super) unsafe fn other(&mut self, call: u8) {
        let handle = self.handle();
        // SAFETY: see above.
        unsafe {
            match call {
                0..6 => self.search(call),
                6 => {
                    let path = self.text(&PATHS);
                    // Other paths may be devices.
                    if PATHS.map(str::as_bytes).contains(&path.as_slice()) {
                        let (text, length) = (path.as_ptr().cast(), path.len());
                        self.object(|out, error| c::rooflut_tables_load(text, length, out, error));
                    }
                }
                7 => self.object(|out, error| c::rooflut_tables_names(out, error)),
                8 => self.object(|out, error| c::rooflut_engine_names(out, error)),
                9 => {
                    let number = self.short();
                    let named = [
                        c::rooflut_part_name,
                        c::rooflut_binding_name,
                        c::rooflut_class_name,
                        c::rooflut_event_kind_name,
                        c::rooflut_outcome_name,
                    ];
                    let names = named.map(|name| name(number));
                    for name in names.into_iter().chain([c::rooflut_version()]).filter(|name| !name.is_null()) {
                        assert!(!CStr::from_ptr(name).to_str().unwrap().is_empty());
                    }
                }
                _ => {
                    let role = u32::from(self.byte() % 4);
                    self.object(|out, error| c::rooflut_server_new_stage(handle, role, out, error));
                }
            }
        }
    }

    /// Searches once an input.
    unsafe fn search(&mut self, call: u8) {
        let handle = self.handle();
        let toml = if call == 5 { self.text(&SWEEPS) } else { self.text(&SCENARIOS) };
        let source = self.source(&toml, handle);
        let source = &raw const source;
        let wanted = self.text(if call == 4 { &DEMANDS } else { &QUESTIONS });
        let (text, length) = (wanted.as_ptr().cast(), wanted.len());
        let stop = self.handle();
        if std::mem::replace(&mut self.has_searched, true) {
            return;
        }
        // SAFETY: see above.
        unsafe {
            match call {
                0 | 1 => self.object(|out, error| c::rooflut_plan(source, text, length, stop, out, error)),
                2 => self.object(|out, error| c::rooflut_plan_least(source, text, length, out, error)),
                3 => self.object(|out, error| c::rooflut_saturate(source, text, length, stop, out, error)),
                4 => self.object(|out, error| c::rooflut_fits(source, text, length, out, error)),
                _ => self.object(|out, error| c::rooflut_sweep(source, stop, out, error)),
            }
        }
    }
}
