#!/usr/bin/env bash
# Step times have the same bits on this machine with and without optimization, in WebAssembly and on a Cortex-M4:
# check.sh [FOLDER]. FOLDER is what is built in, target/same_bytes by default. A machine or a tool that is missing is left
# out by name.
set -euo pipefail
cd "$(dirname "$0")"
folder=$(realpath -m "${1:-../../target/same_bytes}")
program=rooflut-same-bytes
build() { cargo build -q --locked --target-dir "$folder" "$@"; }
leave_out() { echo "same bits: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}"; }
# ready TARGET TOOL PACKAGE: whether the target of Rust and the tool can be had.
ready() {
  command -v "$2" >/dev/null || { leave_out "$2 is not installed (Debian: $3)"; return 1; }
  rustup target add "$1" 2>/dev/null || { leave_out "the target $1 of Rust cannot be had"; return 1; }
}
# same NAME COUNT HASHES: compares with the first COUNT of this machine.
same() {
  local expected
  expected=$(head -n "$2" <<< "$hashes")
  [ "$3" = "$expected" ] || { printf '%s: expected the hashes\n%s\nfound\n%s\n' "$1" "$expected" "$3" >&2; exit 1; }
  echo "same bits: $1"
}

build --release
hashes=$("$folder/release/$program")
build
same "without optimization" 2 "$("$folder/debug/$program")"

target=wasm32-unknown-unknown
if ready $target node nodejs; then
  cargo rustc -q --locked --target-dir "$folder" --release --lib --crate-type cdylib --target $target
  same "WebAssembly" 2 "$(node hash.mjs "$folder/$target/release/rooflut_same_bytes.wasm")"
fi

target=thumbv7em-none-eabihf
if ready $target qemu-system-arm qemu-system-arm; then
  CARGO_TARGET_THUMBV7EM_NONE_EABIHF_RUSTFLAGS="-Clink-arg=-Tlink.x -Clink-arg=-L$PWD" \
    build --release --bin $program --target $target
  same "Cortex-M4" 1 "$(qemu-system-arm -M mps2-an386 -nographic -semihosting-config enable=on,target=native \
    -kernel "$folder/$target/release/$program" < /dev/null)"
fi
