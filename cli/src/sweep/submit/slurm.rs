//! A script that submits an array job, and the job that joins its shards.

use rooflut_scenario::shell_quoted;

use crate::error::Error;

use super::Jobs;
use super::settings::Settings;

/// Options of sbatch that the script sets itself.
const SET: [&str; 12] = [
    "array",
    "cpus-per-task",
    "dependency",
    "job-name",
    "kill-on-invalid-dep",
    "nodes",
    "ntasks",
    "open-mode",
    "output",
    "parsable",
    "requeue",
    "wait",
];

/// Returns a script for bash. A setting that is neither `name` nor `parallel` is an option of sbatch.
pub(super) fn script(jobs: &Jobs, mut settings: Settings) -> Result<String, Error> {
    let name = shell_quoted(&settings.take("name").unwrap_or_else(|| "rooflut-sweep".to_owned()));
    let parallel = settings.take_parallel(jobs.shards)?;
    let mut options = String::new();
    for (key, value) in settings.rest() {
        if SET.contains(&key.as_str()) {
            return Err(Error::new(format!("--job {key}: the script sets this option of sbatch itself; leave it out")));
        }
        let option = if value.is_empty() { format!("--{key}") } else { format!("--{key}={value}") };
        options += &format!(" {}", shell_quoted(&option));
    }
    let Jobs { shards, threads, .. } = jobs;
    let summary = jobs.summary();
    let (folder, out) = (shell_quoted(&jobs.folder), shell_quoted(&jobs.out));
    // In names of logs, sbatch replaces what follows a %.
    let logs = shell_quoted(&jobs.folder.replace('%', "%%"));
    let common = format!("--parsable --job-name={name} --requeue --open-mode=append --nodes=1 --ntasks=1");
    let (version, simulate, join) = (jobs.check_version(), jobs.simulate(), jobs.join());
    Ok(format!(
        "\
#!/bin/bash
# rooflut sweep: {summary}, and a job that joins them. \"bash FILE\" submits both, from the
# folder in which they are to run; a shard that is started again goes on where it stopped.
set -euo pipefail
if [ -e {out} ]; then
  echo \"error: \"{out}\" already exists; name another path\" >&2
  exit 2
fi
most=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
if [ \"$most\" -le {shards} ]; then
  echo \"error: expected fewer than $most shards (--shards), the MaxArraySize of this cluster, found {shards}\" >&2
  exit 2
fi
mkdir -p {folder}
array=$(sbatch {common} --cpus-per-task={threads} \\
  --array=1-{shards}%{parallel} --output={logs}/%a.log{options} <<'END'
#!/bin/bash
set -eu
{version}n=$SLURM_ARRAY_TASK_ID
exec {simulate}END
)
array=${{array%%;*}}
joined=$(sbatch {common} --cpus-per-task=1 \\
  --dependency=\"afterok:$array\" --kill-on-invalid-dep=yes --output={logs}/join.log{options} <<'END'
#!/bin/bash
set -eu
{version}[ -e {out} ] || {join}
END
)
echo \"array job $array, then job ${{joined%%;*}}, which writes \"{out}
"
    ))
}
