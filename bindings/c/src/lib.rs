#![doc = include_str!("../README.md")]
//!
//! # Safety
//!
//! Every function of this crate is called from C. Its pointers must be null, or valid for the lengths that are given
//! beside them, for the time of the call; outputs must not overlap inputs. Everything else is checked: null and
//! misaligned pointers, lengths, values, text, freed handles, handles of another kind.
#![allow(clippy::missing_safety_doc)] // The section above holds for all of them.

mod batch;
mod border;
mod error;
mod files;
mod fits;
mod kernel;
mod lookup;
mod model;
mod names;
mod plan;
mod pointer;
mod registry;
mod report;
mod request;
mod saturate;
mod scenario;
mod server;
mod step;
mod steps;
mod stop;
#[cfg(not(target_family = "wasm"))] // It takes threads.
mod sweep;
mod tables;
mod text;
mod wanted;

pub use batch::{Batch, Chunk, DecodeGroup};
pub use error::{Code, Error};
#[doc(hidden)]
pub use files::keep_file;
pub use fits::rooflut_fits;
pub use lookup::{Estimate, rooflut_lookup_at, rooflut_lookup_new};
pub use model::{ConfigFiles, rooflut_model_describe, rooflut_model_find, rooflut_model_names, rooflut_model_read};
pub use names::{
    rooflut_binding_name, rooflut_class_name, rooflut_engine_names, rooflut_event_kind_name, rooflut_outcome_name,
    rooflut_part_name,
};
pub use plan::{rooflut_plan, rooflut_plan_least};
pub use registry::rooflut_free;
pub use report::{Output, rooflut_compare, rooflut_scenario_run};
pub use request::{Content, Event, EventKind, Outcome, Request};
pub use saturate::rooflut_saturate;
pub use scenario::{ScenarioSource, rooflut_scenario_new, rooflut_scenario_with_rate, rooflut_scenario_with_seed};
pub use server::{
    Role, ServerState, ServerTotals, StepRecord, Yield, rooflut_server_advance, rooflut_server_cancel,
    rooflut_server_copy, rooflut_server_events, rooflut_server_new, rooflut_server_new_stage, rooflut_server_push,
    rooflut_server_state, rooflut_server_step, rooflut_server_step_tokens, rooflut_server_totals,
};
pub use step::{
    Binding, Class, Duration, Interval, Part, PartTime, StepTime, rooflut_step_interval, rooflut_step_kernels,
    rooflut_step_parts, rooflut_step_time,
};
pub use steps::{Steps, rooflut_step_times};
pub use stop::{rooflut_stop, rooflut_stop_new};
#[cfg(not(target_family = "wasm"))]
pub use sweep::rooflut_sweep;
pub use tables::{rooflut_tables_describe, rooflut_tables_find, rooflut_tables_load, rooflut_tables_names};
pub use text::{rooflut_text_read, rooflut_version};

/// A handle: kind, generation and slot of an object in the registry. 0 is none.
pub type Handle = u64;
