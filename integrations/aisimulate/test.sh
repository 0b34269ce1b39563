#!/usr/bin/env bash
# Lints and tests the package and its example: test.sh FOLDER keeps what it builds in FOLDER.
set -euo pipefail
CARGO_TARGET_DIR=$(realpath -m "${1:-"$(dirname "$0")/target"}")
export CARGO_TARGET_DIR
cd "$(dirname "$0")"
left_out() { echo "AISimulate: cargo $1 is not installed: left out" | tee -a "${LEFT_OUT:-/dev/null}"; }

if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check; else left_out fmt; fi
if cargo clippy --version >/dev/null 2>&1; then
  cargo clippy -q --locked --all-targets -- -D warnings
else
  left_out clippy
fi
cargo test -q --locked
