#!/usr/bin/env bash
# Prints the share of the lines of each reader that the kept inputs of its target reach: coverage.sh [FOLDER]. FOLDER is
# what is built in, target/coverage by default. Needs the component llvm-tools of rustup. SHOW=TARGET prints the lines
# of one target that none reaches. PROGRAM is the example `corpus` where it is already built for this. TRY is a folder with
# a folder of inputs for each target, in place of those that are kept.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "${1:-target/coverage}")
tools=$(echo "$(rustc --print sysroot)"/lib/rustlib/*/bin)
if [ -z "${PROGRAM:-}" ]; then
  LLVM_PROFILE_FILE=/dev/null RUSTFLAGS=-Cinstrument-coverage cargo build -q --manifest-path tools/fuzz/Cargo.toml --target-dir "$folder" --example corpus
  PROGRAM=$folder/debug/examples/corpus
fi
mkdir -p "$folder"

# measure TARGET SOURCE...
measure() {
  local target=$1 profile=$folder/$1.profraw data=$folder/$1.profdata
  shift
  LLVM_PROFILE_FILE=$profile "$PROGRAM" try "$target" ${TRY:+"$TRY/$target"} > "$folder/$target.txt"
  "$tools/llvm-profdata" merge -sparse "$profile" -o "$data"
  local sources=("${@/#/$PWD/}")
  if [ "${SHOW:-}" = "$target" ]; then
    "$tools/llvm-cov" show "$PROGRAM" -instr-profile="$data" --sources "${sources[@]}" | grep -E '^/|\| +0\|' || true
  fi
  "$tools/llvm-cov" report "$PROGRAM" -instr-profile="$data" --sources "${sources[@]}" |
    awk -v target="$target" '$1 == "TOTAL" { printf "%-10s %6d lines, %5.1f %% reached\n", target, $8, 100 * (1 - $9 / $8) }'
}
of() { local folder=$1; shift; printf "$folder/%s.rs\n" "$@"; }

scenario=crates/scenario/src
measure config crates/hf-config/src
measure engine $scenario/engine.rs
measure fleet $scenario/fleet.rs
measure gpu $scenario/data_sheet.rs codegen/src/read/gpus.rs
measure lengths $scenario/lengths_file.rs
measure points crates/sweep/src/grid.rs cli/src/sweep/grid.rs
measure prices $scenario/prices.rs
measure report crates/report/src/compare $(of crates/html/src input kind rows text)
measure results crates/observe/src
measure rows $(of crates/sweep/src bounded cells checksum kind merge parts resume)
measure scenario $(of $scenario file list text number value)
measure tables $(of codegen/src/read csv_file files header measurement physics set table toml_file)
measure trace crates/traces/src
measure vllm cli/src/vllm $scenario/vllm/{mod,read,flag,words,speculative}.rs
measure c bindings/c/src
measure server src/sim/server.rs src/sim/server
