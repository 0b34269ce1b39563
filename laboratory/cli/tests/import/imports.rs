//! Imports of made-up files.
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{json, list, text};

const FIXTURES: &str = "laboratory/cli/tests/fixtures/import";

/// Answers that no file of any layout has.
pub(crate) const SAID: &str = "--gpu h100 --timing made-up --source test --license MIT --date 2026-01-31";

/// For InferSim's and BLIS's trees.
pub(crate) const TREE: &str = "--engine DeepGEMM --gemm-dtype fp8_block --kv-dtype bf16";

/// A place for a set that does not exist yet, below a folder that goes with the value.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn dest(&self) -> PathBuf {
        self.folder.path().join("mine")
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.dest().join(file)).expect("a file of the set")
    }

    /// The command that imports `src` to here.
    pub(crate) fn command(&self, layout: &str, src: &str, flags: &str) -> String {
        format!("import {layout} {src} {} {flags}", self.dest().display())
    }

    pub(crate) fn import(&self, layout: &str, src: &str, flags: &str) -> Value {
        let answer = json(&self.command(layout, src, flags));
        for table in list(&answer, "/tables") {
            let left_out: u64 = list(table, "/left_out").iter().map(|reason| rows(reason, "/rows")).sum();
            assert_eq!(rows(table, "/read"), rows(table, "/written") + left_out, "{table}");
        }
        answer
    }
}

/// A number of rows in an answer.
pub(crate) fn rows(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

pub(crate) fn fixture(layout: &str) -> String {
    format!("{FIXTURES}/{layout}")
}

/// The rows written for an operation, and how many were left out for reasons that contain `reason`.
pub(crate) fn counts(answer: &Value, operation: &str, reason: &str) -> (u64, u64) {
    let mut tables = list(answer, "/tables").iter();
    let table = tables.find(|table| text(table, "/operation") == operation).expect("the operation");
    let left_out = list(table, "/left_out").iter().filter(|left_out| text(left_out, "/reason").contains(reason));
    (rows(table, "/written"), left_out.map(|left_out| rows(left_out, "/rows")).sum())
}

pub(crate) fn has_finding(answer: &Value, operation: &str, defect: &str) -> bool {
    let mut findings = list(answer, "/findings").iter();
    findings.any(|found| text(found, "/operation") == operation && text(found, "/defect") == defect)
}
