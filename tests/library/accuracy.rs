//! The figures of accuracy in README.md and docs/trust.md are those of docs/accuracy.md, which a test of the command
//! line compares with what `rooflut-lab validate` says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn page(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// Returns the cells of the table below `title`, without its two lines of header.
fn table<'p>(page: &'p str, title: &str) -> Vec<Vec<&'p str>> {
    let (_, below) = page.split_once(&format!("## {title}\n")).unwrap();
    let below = below.split("\n## ").next().unwrap();
    let lines = below.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Two digits, or whole percents.
fn shown(percent: f64) -> String {
    if percent < 10.0 { format!("{percent:.1}") } else { format!("{:.0}", percent.round()) }
}

/// Median, mean and largest of absolute errors.
fn summary(mut errors: Vec<f64>) -> [f64; 3] {
    errors.sort_by(f64::total_cmp);
    let n = errors.len();
    let median = (errors[(n - 1) / 2] + errors[n / 2]) / 2.0;
    [median, errors.iter().sum::<f64>() / n as f64, errors[n - 1]]
}

#[test]
fn the_figures_of_readme_and_guide_are_those_of_the_validation() {
    let accuracy = page("docs/accuracy.md");
    let by_metric = table(&accuracy, "Errors by metric");
    // Number of rows, and median, mean and largest error.
    let on = |gpu: &str, file: &str, metric: &str| {
        let mut lines = by_metric.iter();
        let line = lines.find(|line| line[..3] == [file, gpu, metric]);
        let [n, median, mean, _, max] = line.unwrap()[3..8] else {
            panic!("{file} {metric}");
        };
        (n, [median, mean, max].map(|cell| cell.parse().unwrap()))
    };
    let on_h100 = |file, metric| on("h100", file, metric);
    let stages = table(&accuracy, "experiments.csv, stage by stage");
    let other_gpus: Vec<_> = stages.iter().filter(|stage| stage[3] != "h100").collect();
    let error = |column: usize| {
        let cells = other_gpus.iter().map(|stage| stage[column]);
        summary(cells.map(|cell| cell.parse::<f64>().unwrap().abs()).collect())
    };
    let of_stages = |column: usize| -> BTreeSet<&str> {
        let on_h100 = stages.iter().filter(|stage| stage[3] == "h100");
        on_h100.map(|stage| stage[column]).collect()
    };
    let (models, tps) = (of_stages(2), of_stages(4));
    let (fewest, most) = (tps.first().unwrap(), tps.last().unwrap());
    let line = |about: String, rows: &str, errors: [[f64; 3]; 3]| {
        let errors = errors.map(|errors| errors.map(shown).join(" / "));
        format!("| {about} | {rows} | {} |", errors.join(" | "))
    };
    let metrics = ["TTFT", "TPOT", "E2E"];
    let h100 = |about: String, file| {
        let found = metrics.map(|metric| on_h100(file, metric));
        line(about, found[0].0, found.map(|(_, errors)| errors))
    };
    let load = format!("H100 load stages, {} models, tp {fewest}-{most}", models.len());
    let replays = "H100 replays, request by request".to_owned();
    let others = "A100 and L40S load stages".to_owned();
    let median_mean = |file, metric| {
        let (_, [median, mean, _]) = on_h100(file, metric);
        format!("{median:.1} / {mean:.1}")
    };
    let (_, [.., kv_blocks]) = on_h100("kv_blocks.csv", "KV blocks");
    let single = format!(
        "single decode steps {}, prompts alone {}, TPOT of requests alone {}; KV blocks within \
         {kv_blocks:.1} %",
        median_mean("decode_steps.csv", "step"),
        median_mean("solo_requests.csv", "prefill"),
        median_mean("solo_requests.csv", "TPOT"),
    );
    let guide = words("docs/trust.md");
    for expected in [
        h100(load, "experiments.csv"),
        h100(replays, "requests.csv"),
        line(others, &other_gpus.len().to_string(), [8, 11, 14].map(error)),
        single,
    ] {
        assert!(guide.contains(&expected), "docs/trust.md lacks: {expected}");
    }

    let median = |gpu, file, metric| shown(on(gpu, file, metric).1[0]);
    let (loads, loops) = ("experiments.csv", "servers_steady_state.csv");
    let of_loops = |gpu| {
        let [tpot, ttft] = ["TPOT", "TTFT"].map(|metric| median(gpu, loops, metric));
        format!("{tpot} and {ttft} % for {} on {}", on(gpu, loops, "TPOT").0, gpu.to_uppercase())
    };
    let readme = words("README.md");
    for expected in [
        format!(
            "TPOT {} % and TTFT {} % for {} loads on H100",
            median("h100", loads, "TPOT"),
            median("h100", loads, "TTFT"),
            on("h100", loads, "TPOT").0
        ),
        of_loops("h200"),
        of_loops("b200"),
    ] {
        assert!(readme.contains(&expected), "README.md lacks: {expected}");
    }
}

/// Returns a page in one line.
fn words(file: &str) -> String {
    let page = page(file);
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}
