# A Slurm of one node, bound to 127.0.0.1, for the scripts that source this file. It lies in the folder $work, and neither
# outlives the script. Needs root and Debian's slurm-wlm and munge.
export PATH=$PATH:/usr/sbin
pids=()

# Prints why there can be no Slurm; nothing where it can.
lacks_slurm() {
  local tool
  for tool in slurmctld slurmd sbatch scontrol munged; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed (Debian: slurm-wlm munge)"; return; }
  done
  [ "$(id -u)" = 0 ] || echo 'slurmd starts jobs as root only'
}

finish_slurm() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}

# start_slurm PORT [LINE]...: starts it on PORT and the next one, with more lines of its configuration, and waits until its
# node is idle. The script is in $work afterwards.
start_slurm() {
  work=$(mktemp -d)
  trap finish_slurm EXIT
  chmod 755 "$work"
  # Credentials between the daemons: a key and a socket of our own.
  mkdir -m 755 "$work/munge" "$work/state" "$work/spool" "$work/bin"
  head -c 1024 /dev/urandom >"$work/munge/key"
  chmod 400 "$work/munge/key"
  munged --foreground --force --key-file "$work/munge/key" --socket "$work/munge/socket" \
    --pid-file "$work/munge/pid" --log-file "$work/munge/log" --seed-file "$work/munge/seed" &>"$work/munge/out" &
  pids+=($!)
  export SLURM_CONF=$work/slurm.conf
  cat >"$SLURM_CONF" <<CONF
ClusterName=one
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$(($1 + 1))
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
$(printf '%s\n' "${@:2}")
CONF
  slurmctld -D &>/dev/null & pids+=($!)
  slurmd -D -N localhost &>/dev/null & pids+=($!)
  cd "$work"
  for _ in $(seq 120); do
    sinfo -h -o %T 2>/dev/null | grep -q idle && break
    sleep 0.5
  done
  sinfo -h -o '%N %T' | grep idle || { echo 'no node is idle'; cat slurmctld.log slurmd.log munge/out; exit 1; }
  export PATH=$work/bin:$PATH
}
