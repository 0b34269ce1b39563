//! The commands, as users run them.

mod check;
mod disaggregation;
mod documents;
mod errors;
mod fuzz_corpus;
mod library;
mod lists;
mod lookup;
mod model_file;
mod outputs;
mod own_tables;
mod perfetto;
mod plot;
mod policies;
mod progress;
mod run;
mod run_figures;
mod scenario;
mod scenario_servers;
mod score;
mod speculation;
mod step;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod trace;
mod unservable;
mod validate;
mod workload;
mod workload_load;
mod workload_refusals;
