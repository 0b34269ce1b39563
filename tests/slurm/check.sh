#!/usr/bin/env bash
# Runs a sweep on a Slurm of one node: `rooflut sweep --submit slurm --go`, the kill and requeue of one of its tasks, and
# the comparison with one run.
#
#   check.sh ROOFLUT      ROOFLUT: the command
#
# Needs root and Debian's slurm-wlm and munge; without them it says so and ends with 75. Nothing is left behind.
set -euo pipefail
rooflut=$(realpath "${1:?"usage: check.sh ROOFLUT"}")
. "$(dirname "$0")/one_node.sh"
lacks=$(lacks_slurm)
[ -z "$lacks" ] || { echo "Slurm: $lacks: left out" | tee -a "${LEFT_OUT:-/dev/null}"; exit 75; }
start_slurm 16827 MaxArraySize=9 SchedulerParameters=requeue_delay=1
fail() { echo "$1"; tail -n 20 ./*.log ./*-shards/*.log 2>/dev/null; exit 1; }

ln -s "$rooflut" bin/rooflut
# So many requests that a deployment takes a tenth of a second, whatever the build: the first shard is to be killed.
requests=100
took=0
until [ "$took" -ge 100 ]; do
  requests=$((requests * 2))
  began=$(date +%s%N)
  rooflut run --model llama-3.1-8b --rate 20 --requests "$requests" >/dev/null
  took=$((($(date +%s%N) - began) / 1000000))
done
# Texts that a shell would change, and rows with an error.
grid=(--model llama-3.1-8b --gpu h100,h200 --tp 1,3 --prompt "lognormal:200,0.8" --rate 1..50 --requests "$requests")
rooflut sweep "${grid[@]}" --out "one run's.csv" >/dev/null
submit() { rooflut sweep "${grid[@]}" --submit slurm --job time=10 --go "$@"; }

echo "-- shards that the cluster does not take"
submit --shards 9 --out "too many.csv" 2>refused && fail "9 shards were taken"
grep -q 'MaxArraySize of this cluster, found 9' refused || fail "$(cat refused)"

echo "-- 3 shards, of which one is killed and requeued"
out="it's 100 %.csv"
submit --shards 3 --job parallel=1 --job comment='two words; "$HOME"' --out "$out" >answer
cat answer
array=$(grep -o 'array job [0-9]*' answer | tr -dc 0-9)
joined=$(grep -o 'then job [0-9]*' answer | tr -dc 0-9)
first="$out.3-shards/1.csv"
for _ in $(seq 600); do
  [ "$( (cat "$first" || true) 2>/dev/null | wc -l)" -gt 5 ] && break
  sleep 0.05
done
scontrol requeue "${array}_1"
rows=$(wc -l <"$first")
[ "$rows" -lt 68 ] || fail "the first shard ended before it was requeued: $rows lines"
# A task that is requeued waits for two minutes otherwise.
for _ in $(seq 240); do
  scontrol update JobId="${array}_1" StartTime=now 2>/dev/null || true
  state=$(scontrol -o show job "$joined" | grep -o 'JobState=[A-Z_]*')
  case $state in *COMPLETED | *FAILED | *CANCELLED) break ;; esac
  sleep 0.5
done
[ "$state" = JobState=COMPLETED ] || fail "the job that joins: $state"
cmp "one run's.csv" "$out" || fail "the rows are not those of one run"
grep -q 'rows' "$out.3-shards/1.log" || fail "the first shard did not go on behind its rows"
echo "Slurm: killed with $((rows - 1)) rows, requeued; the bytes of one run"
