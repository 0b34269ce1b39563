#!/usr/bin/env bash
# Compares what the programs of each language write: check.sh OUT PROGRAM..., where OUT is a folder and a PROGRAM is a
# command that takes the path of scenarios.txt. The first is that of Rust.
set -euo pipefail
out=$1
shift
scenarios=$(dirname "$0")/scenarios.txt
mkdir -p "$out"
number=0
for program in "$@"; do
  $program "$scenarios" > "$out/$number.txt"
  if [ "$number" != 0 ]; then cmp "$out/0.txt" "$out/$number.txt"; fi
  number=$((number + 1))
done
steps=$(grep -c '^step' "$out/0.txt")
runs=$(grep -c '^run' "$out/0.txt")
[ "$steps" -ge 10000 ] && [ "$runs" -ge 100 ]
echo "$number programs agree on $steps steps and $runs runs, $(wc -c < "$out/0.txt") bytes"
