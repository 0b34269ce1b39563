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

for tool in slurmctld slurmd sbatch scontrol munged; do
  if ! PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null; then
    echo "left out: $tool is not installed (Debian: slurm-wlm munge)"; exit 0
  fi
done
if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "left out: $python has no torch"; exit 0
fi
if [ "$(id -u)" != 0 ]; then
  echo "left out: slurmd starts jobs as root only"; exit 0
fi
export PATH=$PATH:/usr/sbin

work=$(mktemp -d)
chmod 755 "$work"
pids=()
finish() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# Credentials between the daemons: a key and a socket of our own.
mkdir -m 755 "$work/munge" "$work/state" "$work/spool"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
munged --foreground --force --key-file "$work/munge/key" --socket "$work/munge/socket" \
  --pid-file "$work/munge/pid" --log-file "$work/munge/log" --seed-file "$work/munge/seed" &>"$work/munge/out" &
pids+=($!)

export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=one
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CommunicationParameters=NoAddrCache
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
NodeName=localhost NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES State=UP
CONF
slurmctld -D &>/dev/null & pids+=($!)
slurmd -D -N localhost &>/dev/null & pids+=($!)
cd "$work"
for _ in $(seq 60); do
  sinfo -h -o %T 2>/dev/null | grep -q idle && break
  sleep 0.5
done
if ! sinfo -h -o '%N %T'; then cat slurmctld.log slurmd.log munge/out; exit 1; fi

# `rooflut-collect`, as an installation would have it.
mkdir "$work/bin"
printf '#!/bin/sh\nexec env PYTHONPATH=%q %q -m rooflut_collect "$@"\n' "$here/../../src" \
  "$("$python" -c 'import sys; print(sys.executable)')" >"$work/bin/rooflut-collect"
chmod +x "$work/bin/rooflut-collect"
export PATH=$work/bin:$PATH
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
