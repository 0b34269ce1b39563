//! Outliers, dips and suspects of table sets.

mod built_in;
mod flagged;
mod outliers;
mod suspects;
