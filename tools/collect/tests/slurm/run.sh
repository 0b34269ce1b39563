#!/usr/bin/env bash
# A Slurm of one node, bound to 127.0.0.1, that runs an array job of the collector and merges it.
#
#   run.sh [PYTHON]      PYTHON: an interpreter with torch (default: python3)
#
# Needs root (or CI in a container) and Debian's slurm-wlm and munge; nothing is left behind.
# Without Slurm or torch it says so and succeeds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${1:-python3}

. "$here/../../../../tests/slurm/one_node.sh"

lacks=$(lacks_slurm)
"$python" -c 'import torch' 2>/dev/null || lacks="$python has no torch"
if [ -n "$lacks" ]; then
  echo "collector, Slurm: $lacks: left out" | tee -a "${LEFT_OUT:-/dev/null}"; exit 0
fi
start_slurm 16817

# `rooflut-collect`, as an installation would have it.
printf '#!/bin/sh\nexec env PYTHONPATH=%q %q -m rooflut_collect "$@"\n' "$here/../../src" \
  "$("$python" -c 'import sys; print(sys.executable)')" >"$work/bin/rooflut-collect"
chmod +x "$work/bin/rooflut-collect"
plan=(--device cpu --skip allreduce)
rooflut-collect manifest slurm "${plan[@]}" --shards 3 --cpus 1 --parallelism 2 --run=--row-seconds=0.05 \
  --setup "export PATH=$work/bin:\$PATH" --out "$work/out" >job.sbatch

echo '-- the array without its task 1'
sbatch --wait --array=0,2 job.sbatch || { cat ./*.log; exit 1; }
if rooflut-collect merge out 2>missing; then echo 'merge found nothing missing'; exit 1; fi
cat missing
grep -q 'of 1 of 3 shards: 1$' missing
echo '-- the command that merge printed'
command=$(grep -o 'sbatch --array=[0-9,-]*' missing)
$command --wait job.sbatch || { cat ./*.log; exit 1; }
rooflut-collect merge out
test "$(tail -qn +2 out/cpu-measured/*.csv | wc -l)" = 17
echo '-- the whole array again: nothing is measured twice'
cat out/log/*.jsonl >before
sbatch --wait job.sbatch || { cat ./*.log; exit 1; }
cat out/log/*.jsonl | cmp - before
echo 'Slurm: all shards ran, the missing one was found and run, none was measured twice'
