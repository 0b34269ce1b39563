#!/usr/bin/env bash
# Builds the package and tests it: check.sh [--build]. --build only builds. Ends with 75 where a tool cannot be had.
set -euo pipefail
cd "$(dirname "$0")"
target=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")
module=$target/wasm32-unknown-unknown/wasm/rooflut_wasm.wasm
step() { printf '\n== %s\n' "$*"; "$@"; }

install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
unavailable() { echo "JavaScript: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}" >&2; exit 75; }
command -v npm >/dev/null && node -e 'process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)' ||
  unavailable "node 20 or npm is not installed"
command -v wasm-split >/dev/null || install binaryen || unavailable "wasm-split of binaryen is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || unavailable "Python 3.11 is not installed"
# Without the target it can be had where Rust comes from rustup.
wasm=wasm32-unknown-unknown
[ -d "$(rustc --print target-libdir --target $wasm)" ] || rustup target add $wasm 2>/dev/null ||
  unavailable "the Rust target $wasm is not installed"

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
