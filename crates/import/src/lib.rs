//! Kernel measurements as other projects publish them, turned into table sets of rooflut.
//!
//! [`import`] takes tables ([`SourceTable`]: named columns of text, from whatever reader), what the files do
//! not say ([`Answers`]), and makes the files of a set. No files, no clock: the same tables in give the same
//! bytes out. `docs/import.md` has the columns of each [`Layout`], their units and what becomes of them.
//!
//! ```
//! use rooflut_import::{Answers, Layout, MeasuredGpu, Source, SourceTable, import};
//! # let gpu = rooflut_roofline::Gpu::builder("h100").bf16_flops_per_s(989.5e12).fp8_flops_per_s(1979e12)
//! #     .mem_bytes(80).mem_bw_bytes_per_s(3.35e12).l2_bytes(50_000_000).sms(132).link_bytes_per_s(450e9)
//! #     .build().unwrap();
//! let csv = b"m,k,n,latency_us,mfu\n8,4096,6144,12.5,0.016\n16,4096,6144,12.6,0.032\n";
//! let source = Source {
//!     layout: Layout::InferSim,
//!     tables: vec![SourceTable::of_csv("gemm/h100/data.csv", csv)?],
//!     not_imported: vec![],
//! };
//! let text = |text: &str| Some(text.to_owned());
//! let answers = Answers {
//!     name: text("mine"),
//!     gpu: Some(MeasuredGpu::Known(gpu.clone())),
//!     engine: text("DeepGEMM"),
//!     timing: text("kernel time"),
//!     source: text("an example"),
//!     license: text("MIT"),
//!     date: text("2026-01-31"),
//!     gemm_dtype: Some(rooflut_roofline::Dtype::Fp8Block),
//!     ..Answers::default()
//! };
//! let import = import(&source, &answers, &[gpu])?;
//! assert_eq!(import.files[1].name, "gemm.csv");
//! assert_eq!(
//!     import.files[1].text,
//!     "dtype,k,n,m,latency_us\nfp8_block,4096,6144,8,12.5\nfp8_block,4096,6144,16,12.6\n"
//! );
//! # Ok::<(), rooflut_import::Error>(())
//! ```
//!
//! What holds for all layouts:
//!
//! - The latency is what is stored; an `mfu` is held against it and not used.
//! - Every measurement becomes a row of the set or is left out for a reason that the [`Report`] tells with
//!   file and line: `read = written + left out`.
//! - A row that no GPU of that data sheet can produce is left out. Where these are many, what was said of all
//!   rows is wrong, and nothing is imported.
//! - What a table set has no place for is not guessed: of one kernel with several latencies that a column
//!   tells apart, a condition has to say which is meant.

mod answers;
mod asked;
mod cells;
mod decimal;
mod defects;
mod error;
mod file;
mod findings;
mod folders;
mod gpu_sheet;
mod import;
mod kernel;
mod layout;
mod layouts;
mod read;
mod reading;
mod report;
mod said;
mod set;
mod sieve;
mod table;
mod told;

pub use answers::{Answers, Condition, FloorRows, MeasuredGpu, Statistic};
pub use asked::Asked;
pub use error::Error;
pub use gpu_sheet::GpuSheet;
pub use import::{Import, Source, import};
pub use layout::{Content, Heads, Layout};
pub use report::{FileRead, Finding, LeftOutRows, NotImported, ReasonCount, Report, TableCount};
pub use set::SetFile;
pub use table::SourceTable;
