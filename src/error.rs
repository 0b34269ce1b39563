//! err
