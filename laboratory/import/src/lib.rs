//! Imports the kernel measurements of other projects as table sets of rooflut.
//!
//! [`import`] takes tables ([`SourceTable`]: named columns of text, from any reader) and the facts that the
//! files do not have ([`Answers`]), and returns the files of a set. It opens no files and reads no clock:
//! the same tables give the same bytes. `docs/import.md` lists the columns of each [`Layout`] and their
//! units.
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
//! # Ok::<(), rooflut_error::Error>(())
//! ```
//!
//! All layouts have in common:
//!
//! - The latency is stored; an `mfu` is compared with it and not used.
//! - Every measurement becomes a row of the set, or is left out for a reason that the [`Report`] has with
//!   file and line: `read = written + left out`.
//! - A row that is faster than the data sheet of the GPU allows is left out. If there are many of them, an
//!   answer for all rows is wrong, and nothing is imported.
//! - Nothing is guessed: if a kernel has several latencies that a column distinguishes, a condition must
//!   select one.

mod answers;
mod cells;
mod decimal;
mod defects;
mod device;
mod error;
mod file;
mod filter;
mod findings;
mod folders;
mod gpu_sheet;
mod import;
mod kernel;
mod layout;
mod layouts;
mod missing;
mod read;
mod reading;
mod report;
mod set;
mod table;
mod text;

pub use answers::{Answers, Condition, FloorRows, MeasuredGpu, Statistic};
pub use folders::foreign_files;
pub use gpu_sheet::GpuSheet;
pub use import::{Import, Source, import};
pub use layout::{Content, Heads, Layout};
pub use missing::MissingAnswer;
pub use report::{FileRead, Finding, LeftOutRows, NotImported, ReasonCount, Report, TableCount};
pub use set::SetFile;
pub use table::{Column, MAX_TABLE_BYTES, MAX_VARIANTS, SourceTable};
