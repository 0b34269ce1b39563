//! Remarks on answers.

/// A remark on runs of a given number of requests that end before they are steady.
pub(crate) const NOT_STEADY: &str = "the runs end before the servers are in a steady state; leave the number of \
                                     requests out, or use more of them";
