//! An Indexed Job: its completion index is the shard, and the last pod joins them.

use std::path::{Component, Path};

use rooflut_error::key;
use rooflut_scenario::shell_quoted;
use serde_json::{Value, json};

use crate::error::Error;

use super::settings::Settings;
use super::{Jobs, REFUSED};

/// Folder of the volume in a pod.
const MOUNT: &str = "/sweep";
/// Times that a shard is started again: the locks of a lost node may last for some minutes.
const RETRIES: u64 = 6;
/// Maximum number of completions of a Job whose pods are counted by index, if as many may run or fail.
const SHARDS: u64 = 100_000;
/// Maximum number of letters of other names.
const LABEL: usize = 63;
/// Maximum number of letters of a Job's name: the names of its pods end with more.
const NAME: usize = 47;

/// Returns the manifest of the Job.
pub(super) fn manifest(jobs: &Jobs, mut settings: Settings) -> Result<String, Error> {
    if jobs.shards > SHARDS {
        let text = format!("--shards: expected at most {SHARDS} for a Job, found {}; ask for fewer", jobs.shards);
        return Err(Error::new(text));
    }
    let parallel = settings.take_parallel(jobs.shards)?;
    let name = settings.take("name").unwrap_or_else(|| "rooflut-sweep".to_owned());
    let namespace = settings.take("namespace");
    let group = settings.take("fs-group").map(|text| number(&text)).transpose()?;
    let [image, claim, memory] =
        ["image", "claim", "memory"].map(|key| settings.take(key).filter(|text| !text.is_empty()));
    let (Some(image), Some(claim), Some(memory)) = (image, claim, memory) else {
        return Err(Error::new(
            "--submit kubernetes: expected --job image=IMAGE (with this build of rooflut), --job claim=NAME (a volume \
             claim that all pods mount) and --job memory=SIZE (the limit of a pod, as in 4Gi); name all three",
        ));
    };
    if let Some((key, _)) = settings.rest().first() {
        return Err(Error::new(format!(
            "--job: expected image, claim, memory, name, namespace, parallel or fs-group, found {key:?}; correct it"
        )));
    }
    check(
        "name",
        &name,
        is_name(&name, NAME),
        &format!("at most {NAME} lower-case letters, digits and hyphens between them"),
    )?;
    check("claim", &claim, claim.split('.').all(|part| is_name(part, LABEL)), "the name of a volume claim")?;
    check("memory", &memory, is_size(&memory), "a size with its unit, as in 4Gi")?;
    if let Some(namespace) = &namespace {
        check("namespace", namespace, is_name(namespace, LABEL), "the name of a namespace")?;
    }
    check_inside("out", Path::new(&jobs.out))?;
    // Others are names of models.
    jobs.files.iter().filter(|(_, path)| path.exists()).try_for_each(|(name, path)| check_inside(name, path))?;
    let mut metadata = json!({ "name": name, "labels": { "app": "rooflut-sweep" } });
    if let (Some(namespace), Some(metadata)) = (namespace, metadata.as_object_mut()) {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": jobs.shards,
            "parallelism": parallel,
            "backoffLimitPerIndex": RETRIES,
            "maxFailedIndexes": jobs.shards,
            // A pod that is evicted or whose node goes away has not failed: it does not count.
            "podFailurePolicy": {
                "rules": [
                    { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                    { "action": "FailJob", "onExitCodes": { "operator": "In", "values": [REFUSED] } },
                ]
            },
            "template": {
                "metadata": { "labels": { "app": "rooflut-sweep" } },
                "spec": pod(jobs, [image, claim, memory], group),
            },
        },
    });
    let yaml = serde_norway::to_string(&job).map_err(Error::new)?;
    Ok(format!("# rooflut sweep: {}. The last pod joins them.\n{yaml}", jobs.summary()))
}

fn pod(jobs: &Jobs, [image, claim, memory]: [String; 3], group: Option<u64>) -> Value {
    let mut security = json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    if let (Some(group), Some(security)) = (group, security.as_object_mut()) {
        security.insert("fsGroup".to_owned(), group.into());
    }
    let resources = json!({ "cpu": jobs.threads.to_string(), "memory": memory });
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "securityContext": security,
        "containers": [{
            "name": "sweep",
            "image": image,
            // Kubernetes replaces variables in commands, `$(NAME)`; it reads two dollars as one.
            "command": ["/bin/sh", "-c", script(jobs).replace('$', "$$")],
            "workingDir": MOUNT,
            "resources": { "requests": resources, "limits": resources },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
            },
            "volumeMounts": [{ "name": "sweep", "mountPath": MOUNT }],
        }],
        "volumes": [{ "name": "sweep", "persistentVolumeClaim": { "claimName": claim } }],
    })
}

/// Returns the script of a pod. Shards that ended stand in a file which is its own lock: a pod that takes the lock after
/// all have ended joins them, and a lock ends with its process.
fn script(jobs: &Jobs) -> String {
    let (folder, out, shards) = (shell_quoted(&jobs.folder), shell_quoted(&jobs.out), jobs.shards);
    let (version, simulate, join) = (jobs.check_version(), jobs.simulate(), jobs.join());
    format!(
        "\
set -eu
{version}n=$((JOB_COMPLETION_INDEX + 1))
mkdir -p {folder}
ended() {{ touch {folder}/ended; sort -u {folder}/ended | wc -l; }}
if [ -e {out} ] && [ \"$(ended)\" -lt {shards} ]; then
  echo \"error: \"{out}\" already exists; name another path\" >&2
  exit {REFUSED}
fi
{simulate}(
  flock 9
  echo \"$n\" >&9
  [ \"$(ended)\" -lt {shards} ] || [ -e {out} ] || {join}
) 9>>{folder}/ended
"
    )
}

/// Refuses a path that does not lie in the volume.
fn check_inside(name: &str, path: &Path) -> Result<(), Error> {
    if path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok(());
    }
    let (setting, path) = (key(name), path.display());
    Err(Error::new(format!("{setting}: expected a path inside the volume, as sweep.csv, found {path}; correct it")))
}

/// Refuses a setting unless it `is_right`.
fn check(key: &str, found: &str, is_right: bool, expected: &str) -> Result<(), Error> {
    if is_right {
        Ok(())
    } else {
        Err(Error::new(format!("--job {key}: expected {expected}, found {found:?}; correct it")))
    }
}

/// Whether a text is a label of DNS (RFC 1123) of at most `most` letters.
fn is_name(text: &str, most: usize) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= most
        && text.chars().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether a text is a quantity of Kubernetes with a unit: `4Gi`, `1.5G`. Without one it would be bytes.
fn is_size(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = text.strip_suffix(unit).unwrap_or_default();
    let units = ["Ki", "Mi", "Gi", "Ti", "Pi", "k", "M", "G", "T", "P"];
    units.contains(&unit) && number.parse().is_ok_and(|number: f64| number > 0.0)
}

fn number(text: &str) -> Result<u64, Error> {
    text.parse().map_err(|_| Error::new(format!("--job fs-group: expected a number, found {text:?}; correct it")))
}
