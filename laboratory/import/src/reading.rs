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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    HeaderAgain,
    Blank,
    Length,
    NotSelected,
    Malformed,
    UnknownDtype,
    NoPeak,
    Contradiction,
    Context,
    Window,
    Beams,
    OtherCollective,
    AcrossNodes,
    OneRank,
    WarmUp,
    Impossible,
    RepeatedSame,
    RepeatedOther,
    EagerFloor,
    Thinned,
}

impl Reason {
    /// Returns the reason in a few words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Reason::HeaderAgain => "the header again",
            Reason::Blank => "no values",
            Reason::Length => "more or fewer cells than columns",
            Reason::NotSelected => "not selected by --where",
            Reason::Malformed => "a value of the wrong type or range",
            Reason::UnknownDtype => "a format that table sets do not have (--dtype-name defines it)",
            Reason::NoPeak => "a format that the GPU has no peak for",
            Reason::Contradiction => "numbers that contradict each other",
            Reason::Context => "a prompt after cached tokens: prefill tables have whole prompts",
            Reason::Window => "attention over a window: tables have full attention",
            Reason::Beams => "more than one beam",
            Reason::OtherCollective => "a collective other than all-reduce",
            Reason::AcrossNodes => "ranks on several nodes: tables are of one node",
            Reason::OneRank => "one rank, which has nothing to reduce",
            Reason::WarmUp => "the first row of its file, which timed the warm-up",
            Reason::Impossible => "faster than the GPU can be",
            Reason::RepeatedSame => "repeated with the same latency",
            Reason::RepeatedOther => "repeated with another latency: the middle one is kept",
            Reason::EagerFloor => "at the floor of eager launches (--drop-floor)",
            Reason::Thinned => "more points on an axis than a table set can hold",
        }
    }
}
