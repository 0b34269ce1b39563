#!/usr/bin/env bash
# Builds rooflut in release from scratch, and compares what that takes with .ci/ratchets.toml: check.sh. Build time is
# processor time, relative to a reference crate that is compiled in the same run. $CARGO_TARGET_DIR/release is built
# again; ROOFLUT_ACCEPT=1 writes the file.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
ratchet=(--locked --manifest-path tests/ratchet/Cargo.toml --target-dir "$target/ratchet")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
TIMEFORMAT='%U %S'

# timed NAME CARGO-ARGUMENT...: builds and sets `seconds`, the processor seconds of all processes.
timed() {
  export RATCHET_SECONDS=$folder/$1
  mkdir "$RATCHET_SECONDS"
  exec {messages}>&2
  { time RUSTC_WRAPPER=$PWD/tests/ratchet/rustc.sh cargo build -q --release "${@:2}" 2>&"$messages"; } 2> "$folder/time"
  seconds=$(awk '{ print $1 + $2 }' "$folder/time")
}

# The reference takes half a minute, which one disturbance changes: it is built before and after.
rm -rf "$target/ratchet" "$target/release"
timed before "${ratchet[@]}" -p regex-automata
before=$seconds
timed product
product=$seconds
rm -rf "$target/ratchet"
timed after "${ratchet[@]}" -p regex-automata
reference=$(awk "BEGIN { print ($before + $seconds) / 2 }")
echo "processor seconds: $product, of the reference $before and $seconds; crates of more than 1 % of them:"
cat "$folder"/product/* | awk -v all="$product" '
  { seconds[$3] += $1 + $2 }
  END { for (crate in seconds) if (seconds[crate] > all / 100) printf "%7.1f  %s\n", seconds[crate], crate }' | sort -rn

cargo test -q "${ratchet[@]}"
cargo run -q --release "${ratchet[@]}" -- tokens
cargo run -q --release "${ratchet[@]}" -- check \
  "build_time=$(awk "BEGIN { printf \"%.1f\", $product / $reference }")" \
  "dependencies=$(cargo tree -p rooflut-cli -e normal,build --prefix none --format '{p}' | sed 's/ (.*//' | sort -u | wc -l)" \
  "binary_bytes=$(wc -c < "$target/release/rooflut")"
