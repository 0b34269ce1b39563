#!/bin/bash
# rooflut sweep: 20 deployments in 3 shards, and a job that joins them. "bash FILE" submits both, from the
# folder in which they are to run; a shard that is started again goes on where it stopped.
set -euo pipefail
if [ -e 'it'\''s $HOME 100 %.csv' ]; then
  echo "error: "'it'\''s $HOME 100 %.csv'" already exists; name another path" >&2
  exit 2
fi
most=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
if [ "$most" -le 3 ]; then
  echo "error: expected fewer than $most shards (--shards), the MaxArraySize of this cluster, found 3" >&2
  exit 2
fi
mkdir -p 'it'\''s $HOME 100 %.csv.3-shards'
array=$(sbatch --parsable --job-name=rooflut-sweep --requeue --open-mode=append --nodes=1 --ntasks=1 --cpus-per-task=2 \
  --array=1-3%3 --output='it'\''s $HOME 100 %%.csv.3-shards'/%a.log --partition=cpu '--comment=it'\''s' --exclusive <<'END'
#!/bin/bash
set -eu
expected='rooflut VERSION'
found=$(rooflut --version)
if [ "$found" != "$expected" ]; then
  echo "error: expected $expected, as the submitter has, found $found; install the same build" >&2
  exit 78
fi
n=$SLURM_ARRAY_TASK_ID
exec rooflut sweep --max-points=1000000 --gpu=h100,h200 --tp=1,3 --rate=2..6 --prompt=lognormal:200,0.8 --requests=20 --threads=2 --shard="$n/3" --out='it'\''s $HOME 100 %.csv.3-shards'/"$n.csv" --resume
END
)
array=${array%%;*}
joined=$(sbatch --parsable --job-name=rooflut-sweep --requeue --open-mode=append --nodes=1 --ntasks=1 --cpus-per-task=1 \
  --dependency="afterok:$array" --kill-on-invalid-dep=yes --output='it'\''s $HOME 100 %%.csv.3-shards'/join.log --partition=cpu '--comment=it'\''s' --exclusive <<'END'
#!/bin/bash
set -eu
expected='rooflut VERSION'
found=$(rooflut --version)
if [ "$found" != "$expected" ]; then
  echo "error: expected $expected, as the submitter has, found $found; install the same build" >&2
  exit 78
fi
[ -e 'it'\''s $HOME 100 %.csv' ] || rooflut sweep --merge 'it'\''s $HOME 100 %.csv.3-shards'/*.csv --out='it'\''s $HOME 100 %.csv'
END
)
echo "array job $array, then job ${joined%%;*}, which writes "'it'\''s $HOME 100 %.csv'
