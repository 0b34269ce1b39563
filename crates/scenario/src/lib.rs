//! Scenario files of rooflut, read for its command line.
//!
//! A scenario is a TOML file with a key for every flag of `rooflut run`. [`read`] turns its bytes into
//! [`Entry`]s, flags with their values and lines; what a value may be is up to the flag. No files, no
//! clock.
//!
//! ```
//! let text = "gpu = \"h200\"\n[workload]\nprompt = \"uniform:100..900\"\nthink-time = 2.5\n";
//! let entries = rooflut_scenario::read(text.as_bytes())?;
//! let flags: Vec<String> = entries.iter().flat_map(|entry| entry.arguments()).collect();
//! assert_eq!(flags, ["--gpu=h200", "--prompt=uniform:100..900", "--think-time=2.5"]);
//! assert_eq!(entries[1].line, 3);
//!
//! let error = rooflut_scenario::read(b"[workload]\nprompts = 512").unwrap_err();
//! assert_eq!(error.line, 2);
//! assert!(error.to_string().contains("unknown key \"prompts\" in [workload] (nearest: prompt"));
//! # Ok::<(), rooflut_scenario::ScenarioError>(())
//! ```

mod entry;
mod error;
mod key;
mod read;
mod value;

pub use entry::Entry;
pub use error::{Problem, ScenarioError};
pub use key::{KEYS, Key, Kind, Section};
pub use read::read;
