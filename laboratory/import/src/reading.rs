//! Measurements that were read, and those that were left out.

use rooflut_codegen::MeasuredKernel;

use crate::decimal::Decimal;

/// A measurement and its origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The index of the file.
    pub(crate) file: usize,
    /// The number of its line or row.
    pub(crate) number: u64,
    pub(crate) kernel: MeasuredKernel,
    pub(crate) latency_us: f64,
    /// The latency with all digits of the file.
    pub(crate) exact: Option<Decimal>,
    pub(crate) mfu: Option<Rounded>,
    /// The index of its variant: the values in the columns that a table set does not have.
    pub(crate) variant: usize,
}

/// The latency of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Latency {
    /// Microseconds.
    pub(crate) us: f64,
    /// The latency with all digits of the file; `None` for more than 19.
    pub(crate) exact: Option<Decimal>,
}

/// A number that the file has rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rounded {
    pub(crate) value: f64,
    /// Half a unit of the last digit.
    pub(crate) half_unit: f64,
}

/// A measurement that does not become a row of a table set.
#[derive(Debug, Clone)]
pub(crate) struct LeftOut {
    pub(crate) file: usize,
    pub(crate) number: u64,
    pub(crate) cause: Cause,
}

/// Why a measurement is left out, with a detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: Reason,
    /// Empty if the reason is enough.
    pub(crate) detail: String,
}

impl Cause {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Cause {
        Cause { reason, detail: detail.into() }
    }
}

impl From<Reason> for Cause {
    fn from(reason: Reason) -> Cause {
        Cause::new(reason, "")
    }
}

/// Why a measurement is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum Reason {
    #[error("the header again")]
    HeaderAgain,
    #[error("no values")]
    Blank,
    #[error("more or fewer cells than columns")]
    Length,
    #[error("not selected by --where")]
    NotSelected,
    #[error("a value of the wrong type or range")]
    Malformed,
    #[error("a format that table sets do not have (--dtype-name defines it)")]
    UnknownDtype,
    #[error("a format that the GPU has no peak for")]
    NoPeak,
    #[error("numbers that contradict each other")]
    Contradiction,
    #[error("a prompt after cached tokens: prefill tables have whole prompts")]
    Context,
    #[error("attention over a window: tables have full attention")]
    Window,
    #[error("more than one beam")]
    Beams,
    #[error("a collective other than all-reduce")]
    OtherCollective,
    #[error("ranks on several nodes: tables are of one node")]
    AcrossNodes,
    #[error("one rank, which has nothing to reduce")]
    OneRank,
    #[error("the first row of its file, which timed the warm-up")]
    WarmUp,
    #[error("faster than the GPU can be")]
    Impossible,
    #[error("repeated with the same latency")]
    RepeatedSame,
    #[error("repeated with another latency: the middle one is kept")]
    RepeatedOther,
    #[error("at the floor of eager launches (--drop-floor)")]
    EagerFloor,
    #[error("more points on an axis than a table set can hold")]
    Thinned,
}
