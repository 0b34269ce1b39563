//! Why a model or a deployment cannot be built.

mod resolve;

use core::fmt;

pub use resolve::ResolveError;
pub use rooflut_roofline::{Invalid, MessagePart};

use rooflut_roofline::Subject;

use crate::hardware::Text;
use crate::part::Part;
use crate::table::TooUncertain;

/// Why a model or a deployment cannot be built. Each message says what was expected, what was found, and what to do.
///
/// ```
/// use rooflut::table::sets;
/// use rooflut::{Deployment, ErrorKind, model};
///
/// let llama = model::find("llama-3.1-70b").expect("in the catalogue");
/// let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
/// let error = deployment.memory_plan().expect_err("131 GiB of weights");
/// assert!(matches!(error.kind(), ErrorKind::DoesNotFit { .. }));
/// # Ok::<(), rooflut::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    is_of_draft: bool,
}

/// The kind of an [`Error`], with what it is about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting, or a dimension of a model, is out of range, contradicts another, or is not modelled.
    Invalid(Invalid),
    /// The table set cannot answer for a kernel.
    Kernel {
        /// The part of the step that the kernel belongs to.
        part: Part,
        /// The reason.
        error: ResolveError,
    },
    /// Even the best answers of a kernel are of a worse class than the caller accepts.
    TooUncertain {
        /// The part of the step that the kernel belongs to.
        part: Part,
        /// The set.
        set: Text,
        /// The best of its answers, and the accepted ones.
        error: TooUncertain,
    },
    /// Weights and overheads alone exceed the usable memory.
    DoesNotFit {
        /// Bytes that the model needs on one rank, one KV block included.
        needed_bytes: f64,
        /// Bytes that the engine may use.
        usable_bytes: f64,
    },
    /// Weights fit, but not together with the states of a request in gated delta nets and a KV block.
    StatesDoNotFit {
        /// Bytes that the states of a request need on one rank, with a KV block.
        needed_bytes: f64,
        /// Bytes left for the KV cache.
        left_bytes: f64,
    },
    /// The KV cache holds less than the requested longest request.
    ContextTooLong {
        /// The longest request that the KV cache holds, tokens.
        longest: u32,
        /// The given `max_model_len`.
        found: u32,
    },
}

impl Error {
    /// Returns what kind of thing is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns whether it is wrong with the draft model of speculative decoding, not with the served model.
    pub fn is_of_draft(&self) -> bool {
        self.is_of_draft
    }

    /// The error as one of the draft model.
    pub(crate) fn of_draft(self) -> Error {
        Error { is_of_draft: true, ..self }
    }

    /// The error of a dimension of a model.
    pub(crate) fn of_model(invalid: Invalid) -> Error {
        invalid.of(Subject::Model).into()
    }

    /// The error of what needs the feature `alloc`.
    pub(crate) fn needs_alloc(what: &'static str) -> Error {
        Invalid::new("alloc", "expected the feature on for {}, found off; turn it on", &[what.into()]).into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { kind, is_of_draft: false }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Error {
        ErrorKind::Invalid(invalid).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_of_draft {
            f.write_str("draft model: ")?;
        }
        self.kind.fmt(f)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Invalid(invalid) => invalid.fmt(f),
            ErrorKind::Kernel { part, error } => write!(f, "{part}: {error}"),
            ErrorKind::TooUncertain { part, set, error } => write!(f, "{part}: table set {set}: {error}"),
            ErrorKind::DoesNotFit { needed_bytes, usable_bytes } => write!(
                f,
                "the model does not fit: expected at most {:.1} GiB per GPU, found {:.1} GiB of \
                 weights, activations and one KV block, {:.1} GiB too much; divide it among more GPUs",
                usable_bytes / GIB,
                needed_bytes / GIB,
                (needed_bytes - usable_bytes) / GIB
            ),
            ErrorKind::StatesDoNotFit { needed_bytes, left_bytes } => write!(
                f,
                "the states of a request do not fit: expected at most {:.2} GiB per GPU beside the weights, found {:.2} \
                 GiB of pages of its gated delta nets and one KV block; divide the model among more GPUs",
                left_bytes / GIB,
                needed_bytes / GIB,
            ),
            ErrorKind::ContextTooLong { longest, found } => write!(
                f,
                "max_model_len: expected at most {longest} tokens, which the KV cache holds, found {found}; lower it, \
                 or divide the model among more GPUs"
            ),
        }
    }
}

/// Has no source: its message contains that of the error that it wraps.
impl core::error::Error for Error {}

const GIB: f64 = (1_u64 << 30) as f64;
