//! Times of kernels.

use std::ffi::c_char;

use rooflut::table::Extent;

use crate::Handle;
use crate::border::call;
use crate::error::{Error, Failure};
use crate::kernel::{self, Shape};
use crate::pointer::{Out, text};
use crate::registry::REGISTRY;
use crate::step::Class;
use crate::text::returning;

const REMEDY: &str = r#"give one operation and its shape, as in {"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}"#;

/// The time of a kernel and its provenance.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Seconds.
    pub seconds: f64,
    /// Model FLOPs utilization, 0 to 1.
    pub mfu: f64,
    /// A `RooflutClass`.
    pub class_: u32,
    /// 1 if the query lies outside of the measured axes, else 0.
    pub is_outside: u32,
}

/// Finds a kernel in a table set.
///
/// `kernel` is an object of JSON with one key, the operation as in a table set, and its shape:
/// `{"gemm": {"dtype": "bf16", "k": 4096, "n": 6144}}`. A shape has all key columns of the operation's tables:
/// `bench_data/README.md` lists the columns, and `rooflut lookup OPERATION --help` explains them. Heads are counted on
/// one rank if `tp` is not a column. The columns of an indexer are an object:
/// `"indexer": {"heads": 64, "head_dim": 128, "top_k": 2048}`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_lookup_new(
    tables: Handle,
    kernel: *const c_char,
    kernel_length: usize,
    lookup: *mut Handle,
    error: *mut Error,
) -> u32 {
    let make = || {
        // SAFETY: the caller's promise.
        let kernel = unsafe { text(kernel, kernel_length, "kernel") }?;
        let kernel: Shape = serde_json::from_str(kernel)
            .map_err(|error| Failure::refused(format_args!("kernel: {error}; {REMEDY}")))?;
        let resolve = |set: &_| kernel.resolve(set).map_err(Failure::refused);
        REGISTRY.lookups.insert(REGISTRY.tables.read(tables, resolve)?)
    };
    // SAFETY: the caller's promise.
    unsafe { returning((lookup, "lookup"), error, make) }
}

/// Returns the time of a kernel.
///
/// `size` counts rows of a gemm, tokens of a moe or a hyper_connection, bytes of the whole message of a collective,
/// tokens of each prompt of a prefill, KV tokens of all requests of a decode, or KV tokens of each request of a
/// decode_window. `batch` is the number of requests of a prefill or decode, and 0 for other operations. A delta_decode
/// has no size: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_lookup_at(
    lookup: Handle,
    batch: u32,
    size: u64,
    estimate: *mut Estimate,
    error: *mut Error,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(estimate, "estimate") }?;
        REGISTRY.lookups.read(lookup, |kernel| {
            let found = kernel::at(kernel, batch, size)?;
            out.set(Estimate {
                seconds: found.time.0,
                mfu: found.mfu().0,
                class_: Class::from(found.provenance.class) as u32,
                is_outside: (found.provenance.extent == Extent::Outside).into(),
            });
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}
