//! Groups of rows.

use std::collections::BTreeMap;

use rooflut_validation::{Case, FileReport, Setting};

/// Rows with a common key.
pub(super) struct Group<'r> {
    /// The key, as text.
    pub(super) key: Vec<String>,
    /// The rows, in the order of the file.
    pub(super) cases: Vec<&'r Case>,
}

/// Upper bounds of the classes of batches.
const BATCHES: [f64; 5] = [8.0, 16.0, 32.0, 64.0, 128.0];

/// Groups rows by run and served model, in the order in which the runs begin.
pub(super) fn by_run(report: &FileReport) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for case in &report.cases {
        let key = vec![case.label.id.clone(), case.model.to_owned(), case.gpu.to_owned(), case.tp.to_string()];
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.cases.push(case),
            None => groups.push(Group { key, cases: vec![case] }),
        }
    }
    groups
}

/// Groups closed loops and engine steps by servers, and all together: rows that constants are fitted to, the others, and both.
pub(super) fn by_servers(report: &FileReport) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<[&str; 2], Vec<&Case>> = BTreeMap::new();
    for case in &report.cases {
        let Some((servers, is_fitted)) = case.setting.servers() else {
            continue;
        };
        let rows = if is_fitted { "fitted" } else { "others" };
        for key in [[servers, rows], [servers, "both"], ["all", rows], ["all", "both"]] {
            groups.entry(key).or_default().push(case);
        }
    }
    let group = |(key, cases): ([&str; 2], _)| Group { key: key.map(str::to_owned).into(), cases };
    groups.into_iter().map(group).collect()
}

/// Groups rows by GPU and model.
pub(super) fn by_model(report: &FileReport) -> Vec<Group<'_>> {
    grouped(report, |case| Some((case.gpu.clone(), case.model)), |(gpu, model)| vec![gpu, model.to_owned()])
}

/// Groups rows by GPU and tensor parallelism.
pub(super) fn by_tp(report: &FileReport) -> Vec<Group<'_>> {
    grouped(report, |case| Some((case.gpu.clone(), case.tp)), |(gpu, tp)| vec![gpu, tp.to_string()])
}

/// Groups rows by GPU and class of the mean number of requests in the server, if known.
pub(super) fn by_batch(report: &FileReport) -> Vec<Group<'_>> {
    grouped(report, |case| Some((case.gpu.clone(), batch_class(case)?)), |(gpu, class)| vec![gpu, batch_range(class)])
}

/// Returns the class of batches of a load stage.
fn batch_class(case: &Case) -> Option<usize> {
    match case.setting {
        Setting::Load { mean_batch: Some(batch), .. } => Some(BATCHES.partition_point(|end| *end <= batch)),
        _ => None,
    }
}

fn batch_range(class: usize) -> String {
    let above = class.checked_sub(1).and_then(|below| BATCHES.get(below));
    match (above, BATCHES.get(class)) {
        (None, Some(end)) => format!("below {end}"),
        (Some(start), Some(end)) => format!("{start} to {end}"),
        (Some(start), None) => format!("{start} and more"),
        (None, None) => String::new(),
    }
}

/// Groups the rows that have a key, in the order of the keys.
fn grouped<K: Ord>(
    report: &FileReport,
    key: impl Fn(&Case) -> Option<K>,
    words: impl Fn(K) -> Vec<String>,
) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<K, Vec<&Case>> = BTreeMap::new();
    for case in &report.cases {
        if let Some(key) = key(case) {
            groups.entry(key).or_default().push(case);
        }
    }
    let group = |(key, cases): (K, _)| Group { key: words(key), cases };
    groups.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_batches_meet_without_a_gap() {
        let ranges: Vec<String> = (0..=BATCHES.len()).map(batch_range).collect();
        let expected = ["below 8", "8 to 16", "16 to 32", "32 to 64", "64 to 128", "128 and more"];
        assert_eq!(ranges, expected);
    }
}
