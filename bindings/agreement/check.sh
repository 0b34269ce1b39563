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
steps=$(grep -c '^step' "$out/0.txt" || true)
runs=$(grep -c '^run' "$out/0.txt" || true)
if [ "$number" -lt 2 ] || [ "$steps" -lt 10000 ] || [ "$runs" -lt 100 ]; then
  echo "expected at least 2 programs, 10000 steps and 100 runs, found $number, $steps and $runs" >&2
  exit 1
fi
echo "$number programs agree on $steps steps and $runs runs, $(wc -c < "$out/0.txt") bytes"
