//! Selects the files of the measured GPU and engine stack: trees hold several, each in a folder of its name.

use std::collections::{BTreeMap, BTreeSet};

use crate::answers::Answers;
use crate::layout::Layout;
use crate::missing::MissingAnswer;

/// Returns the files of GPUs and engine stacks other than the measured ones, each with the reason. `paths` are the
/// paths of the layout's tables.
///
/// # Errors
/// The missing answers, if several GPUs or stacks may be meant.
pub fn foreign_files(
    layout: Layout,
    paths: &[&str],
    answers: &Answers,
) -> Result<BTreeMap<String, String>, Vec<MissingAnswer>> {
    let is_named = |path: &str| {
        let (folders, _) = path.rsplit_once('/').unwrap_or_default();
        let inside = format!("/{folders}/");
        let mut named = answers.folders.iter();
        named.any(|named| inside.contains(&format!("/{}/", named.trim_matches('/'))))
    };
    let unnamed = |path: &str| (path.to_owned(), "below no folder of --folder".to_owned());
    if !answers.folders.is_empty() && !paths.iter().any(|path| is_named(path)) {
        return Ok(paths.iter().map(|path| unnamed(path)).collect());
    }
    if layout == Layout::AiConfigurator {
        let is_meant = |path: &&str| answers.folders.is_empty() || is_named(path);
        let (meant, others): (Vec<&str>, Vec<&str>) = paths.iter().copied().partition(is_meant);
        let mut foreign: BTreeMap<String, String> = others.into_iter().map(unnamed).collect();
        foreign.extend(of_other_gpus_and_stacks(meant, answers)?);
        return Ok(foreign);
    }
    let mut groups = BTreeMap::<&str, Vec<&str>>::new();
    for path in paths {
        groups.entry(group(layout, path)).or_default().push(path);
    }
    let gpu = answers.gpu.as_ref().map(|gpu| gpu.gpu().name.as_str());
    let mut missing = Vec::new();
    let mut foreign = BTreeMap::new();
    for (group, paths) in groups {
        if paths.iter().any(|path| is_named(path)) {
            let others = paths.iter().filter(|path| !is_named(path));
            foreign.extend(others.map(|path| unnamed(path)));
            continue;
        }
        let of_paths: Vec<(&str, &str)> =
            paths.iter().filter_map(|path| Some((*path, gpu_folder(layout, path)?))).collect();
        let folders: BTreeSet<&str> = of_paths.iter().map(|(_, folder)| *folder).collect();
        match meant(&folders, gpu) {
            Some(meant) => {
                let others = of_paths.iter().filter(|(_, folder)| *folder != meant);
                foreign.extend(others.map(|(path, folder)| {
                    let why = format!("of another GPU (folder {folder})");
                    ((*path).to_owned(), why)
                }));
            }
            // Without a GPU there is nothing to compare with: --gpu is the missing answer.
            None if gpu.is_none() || folders.is_empty() => {}
            None => {
                let names: Vec<&str> = folders.into_iter().collect();
                let names = names.join(", ");
                let meaning = format!("which files are of this GPU: {group} has {names}");
                missing.push(MissingAnswer::new("--folder", meaning));
            }
        }
    }
    if missing.is_empty() { Ok(foreign) } else { Err(missing) }
}

/// Returns the tables of AIConfigurator of other GPUs. Its folders are `GPU/OPERATION/ENGINE/VERSION`, formerly
/// `GPU/ENGINE/VERSION`.
fn of_other_gpus_and_stacks(
    mut paths: Vec<&str>,
    answers: &Answers,
) -> Result<Vec<(String, String)>, Vec<MissingAnswer>> {
    let layout = Layout::AiConfigurator;
    let names = |paths: &[&str], of: fn(Layout, &str) -> Option<&str>| -> BTreeSet<String> {
        let found = paths.iter().filter_map(|path| of(layout, path));
        found.map(str::to_owned).collect()
    };
    let ask = |what: &str, found: &BTreeSet<String>| {
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let last = found.last().copied().unwrap_or_default();
        let found = found.join(", ");
        let meaning = format!("which {what}: the tree has {found}; as in --folder {last}");
        Err(vec![MissingAnswer::new("--folder", meaning)])
    };
    let mut foreign = Vec::new();
    let gpus = names(&paths, gpu_folder);
    if gpus.len() > 1 {
        let gpu = answers.gpu.as_ref().map(|gpu| gpu.gpu().name.as_str());
        let folders = gpus.iter().map(String::as_str).collect();
        let Some(meant) = meant(&folders, gpu) else {
            return ask("files are of this GPU", &gpus);
        };
        paths.retain(|path| match gpu_folder(layout, path) {
            Some(folder) if folder != meant => {
                foreign.push(((*path).to_owned(), format!("of another GPU (folder {folder})")));
                false
            }
            _ => true,
        });
    }
    // A table may be of another version than the others, but not of several.
    let mut of_table = BTreeMap::<&str, BTreeSet<&str>>::new();
    for path in &paths {
        let (_, table) = path.rsplit_once('/').unwrap_or_default();
        of_table.entry(table).or_default().extend(stack(layout, path));
    }
    if of_table.values().any(|stacks| stacks.len() > 1) {
        ask("engine stack", &names(&paths, stack))
    } else {
        Ok(foreign)
    }
}

/// Returns the folders that name the engine and its version: `vllm/0.24.0`.
fn stack(_: Layout, path: &str) -> Option<&str> {
    let (_, stack) = split_at_stack(path)?;
    Some(stack)
}

/// Returns the folders above those of the engine and its version, and these.
fn split_at_stack(path: &str) -> Option<(&str, &str)> {
    let (folders, _) = path.rsplit_once('/')?;
    let (above, version) = folders.rsplit_once('/')?;
    let is_version = version.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let start = above.rfind('/').map_or(0, |slash| slash + 1);
    folders.split_at_checked(start).filter(|_| is_version)
}

/// Returns the folder that names the GPU of the file at `path`.
fn gpu_folder(layout: Layout, path: &str) -> Option<&str> {
    let (folders, _) = path.rsplit_once('/')?;
    let mut folders = folders.rsplit('/').peekable();
    match layout {
        Layout::InferSim | Layout::Blis => folders.next().filter(|name| !is_kind(name)),
        Layout::Vidur => loop {
            let folder = folders.next()?;
            if matches!(folders.peek(), Some(&"compute" | &"network")) {
                return Some(folder);
            }
        },
        Layout::AiConfigurator => {
            let (above, _) = split_at_stack(path)?;
            let mut folders = above.split('/').rev().filter(|folder| !folder.is_empty());
            folders.find(|folder| !matches!(*folder, "gemm" | "attention" | "moe" | "comm"))
        }
    }
}

/// Whether a folder of InferSim's tree names an operation, not a GPU.
fn is_kind(folder: &str) -> bool {
    matches!(folder, "gemm" | "grouped_gemm" | "mha" | "mla" | "prefill" | "decode" | "bench_data")
}

/// Returns the part of the tree that a file is in. Vidur names folders by GPU for kernels, and by node for
/// collectives.
fn group(layout: Layout, path: &str) -> &'static str {
    let has = |name: &str| path.split('/').any(|folder| folder == name);
    match layout {
        Layout::Vidur if has("network") => "network/",
        Layout::Vidur => "compute/",
        _ => "the tree",
    }
}

/// Returns the folder with the name of the GPU, or else the only one whose name contains it.
fn meant<'f>(folders: &BTreeSet<&'f str>, gpu: Option<&str>) -> Option<&'f str> {
    let gpu = gpu?;
    let same = folders.iter().find(|folder| folder.eq_ignore_ascii_case(gpu));
    let mut alike = folders.iter().filter(|folder| folder.to_ascii_lowercase().contains(gpu));
    let alone = match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    same.or(alone).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::MeasuredGpu;
    use crate::defects::made_up::GPU;

    fn answers(gpu: &'static str, folders: &[&str]) -> Answers {
        let mut named = GPU.clone();
        named.name = gpu.into();
        Answers {
            gpu: Some(MeasuredGpu::Known(named)),
            folders: folders.iter().map(|&folder| folder.to_owned()).collect(),
            ..Answers::default()
        }
    }

    const TREE: [&str; 3] = ["gemm/h20/data.csv", "gemm/h100/data.csv", "mha/decode/h100/8-8-128.csv"];

    #[test]
    fn only_the_folder_of_the_gpu_is_read() {
        let found = foreign_files(Layout::Blis, &TREE, &answers("h100", &[])).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["gemm/h20/data.csv"]);
        let found = foreign_files(Layout::Blis, &TREE, &answers("h100", &["h20"])).unwrap();
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_tree_of_other_gpus_needs_an_answer() {
        let missing = foreign_files(Layout::Blis, &TREE, &answers("a100", &[])).unwrap_err();
        assert_eq!(missing.len(), 1);
        assert!(missing[0].meaning.ends_with("the tree has h100, h20"), "{missing:?}");
        let one = foreign_files(Layout::InferSim, &TREE[..1], &answers("h100", &[]));
        assert!(one.is_err());
        assert_eq!(foreign_files(Layout::InferSim, &TREE, &Answers::default()), Ok(BTreeMap::new()));
    }

    #[test]
    fn nodes_are_found_by_the_gpu_in_their_names() {
        let tree = [
            "compute/a100/m/mlp.csv",
            "compute/a40/m/mlp.csv",
            "network/a100_dgx/all_reduce.csv",
            "network/h100_dgx/all_reduce.csv",
        ];
        let found = foreign_files(Layout::Vidur, &tree, &answers("a100", &[])).unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [tree[1], tree[3]]);
    }

    #[test]
    fn a_folder_is_named_for_each_group() {
        let tree = [
            "compute/a100/m/mlp.csv",
            "compute/a40/m/mlp.csv",
            "network/a100_dgx/all_reduce.csv",
            "network/a100_pair/all_reduce.csv",
        ];
        let missing = foreign_files(Layout::Vidur, &tree, &answers("a100", &[])).unwrap_err();
        let meanings: Vec<&str> = missing.iter().map(|missing| missing.meaning.as_str()).collect();
        assert_eq!(meanings, ["which files are of this GPU: network/ has a100_dgx, a100_pair"]);
        // The other group is still that of the GPU.
        let found = foreign_files(Layout::Vidur, &tree, &answers("a100", &["a100_dgx"])).unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [tree[1], tree[3]]);
        let none = foreign_files(Layout::Vidur, &tree, &answers("a100", &["h100"])).unwrap();
        assert_eq!(none.len(), 4);
    }

    #[test]
    fn the_folder_of_the_gpu_is_found() {
        assert_eq!(gpu_folder(Layout::Blis, "mha/decode/h100/1-1-128.csv"), Some("h100"));
        assert_eq!(gpu_folder(Layout::Blis, "gemm/data.csv"), None);
        let vidur = "profiling/compute/a40/org/model/mlp.csv";
        assert_eq!(gpu_folder(Layout::Vidur, vidur), Some("a40"));
        assert_eq!(gpu_folder(Layout::Vidur, "mlp.csv"), None);
    }
}
