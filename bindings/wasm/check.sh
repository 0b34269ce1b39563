#!/usr/bin/env bash
# Builds the package and tests it: check.sh [--build]. --build only builds.
set -euo pipefail
cd "$(dirname "$0")"
target=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")
module=$target/wasm32-unknown-unknown/wasm/rooflut_wasm.wasm
step() { printf '\n== %s\n' "$*"; "$@"; }

# Messages of panics name files of dependencies: without the folder that they are in here.
flags=()
for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do flags+=("--remap-path-prefix=$folder/="); done
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=${flags[*]}
step cargo build -q --profile wasm --target wasm32-unknown-unknown -p rooflut-wasm --target-dir "$target"
step npm ci --silent --ignore-scripts
step npx tsc
step node build.mjs "$module"
step python3 ../../tools/release/licences.py wasm32-unknown-unknown ../../Cargo.toml rooflut-wasm THIRD-PARTY.txt
[ "${1:-}" != --build ] || exit 0
step node --test tests/*.test.mjs
step node measure.mjs "$module"
step npm pack --dry-run
