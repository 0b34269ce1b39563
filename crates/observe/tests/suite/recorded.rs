//! Recorded files.
