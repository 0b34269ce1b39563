//! Calibrates servers on some of their closed loops, by first-order changes, and prints how well it predicts the others:
//! `cargo run --release -p rooflut-fit --example calibration`. With `priors` it prints `crates/calibrate/priors.csv`.
//!
//! A family is a GPU, engine, model, precision, tp and dp; those with eight loops or more are calibrated. What a family is
//! predicted by, its own loops apart, comes from all others: the constants of the engines, fitted again by a step of first
//! order, and the priors. Draws are fixed by a seed.
#![allow(clippy::indexing_slicing, reason = "an example that stops at a wrong index is as good as one that says so")]

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::{DMatrix, DVector};
use rooflut_calibrate::{Constant, EIGHTY, Metric, Posterior, Priors, Residual, Vector, learn};
use rooflut_validation::{Dataset, Kind, Server, embedded};

/// Derivatives by the constants, which the example `sensitivities` prints.
const SLOPES: &str = include_str!("../../validation/calibration_slopes.csv");
/// The constants that are fitted again without the family, as in `left_out_servers`.
const REFITTED: [&str; 17] = [
    "api_server",
    "sustained_math",
    "blackwell_sustained_math",
    "sustained_reads",
    "moe_layer",
    "blackwell_moe_layer",
    "tuned_experts",
    "expert_bandwidth",
    "fp8_block_expert_bandwidth",
    "blackwell_fp8_block_experts",
    "all_reduce_wait",
    "fused_all_reduce",
    "prompt_layer",
    "blackwell_prompt_layer",
    "prompt_moe_layer",
    "host",
    "host_request",
];
/// Standard deviation of the logarithms of these constants before they are fitted.
const OPEN: f64 = 0.3;
/// Rounds by which priors are learned.
const ROUNDS: usize = 60;
const DRAWS: usize = 20;
/// Loops that a family is calibrated on; all but one at most.
const POINTS: [usize; 5] = [1, 2, 3, 6, ALL_BUT_ONE];
const ALL_BUT_ONE: usize = usize::MAX;
/// Fewest loops of a family that is calibrated.
const LOOPS: usize = 8;
const METRICS: [(Metric, &str, f64); 2] = [(Metric::Tpot, "TPOT", 4.0), (Metric::Ttft, "TTFT", 10.0)];

/// A figure of a closed loop.
struct Row {
    family: String,
    row: String,
    residual: Residual,
    /// Derivatives by the logarithms of [`REFITTED`].
    refitted: DVector<f64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = rows()?;
    let mut families: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        families.entry(&row.family).or_default().push(row);
    }
    let all = without(&rows, &families, "");
    let servers: Vec<&[Residual]> = all.values().map(Vec::as_slice).collect();
    if std::env::args().nth(1).is_some_and(|arg| arg == "priors") {
        print!("{}", learn(&Priors::guess(), &servers, ROUNDS).to_csv());
        return Ok(());
    }
    let mut figures: BTreeMap<(usize, usize), Vec<Figures>> = BTreeMap::new();
    let large = families.iter().enumerate().filter(|(_, (_, own))| loops(own).len() >= LOOPS);
    for (place, (family, own)) in large {
        let residuals = without(&rows, &families, family);
        let others: Vec<&[Residual]> =
            residuals.iter().filter(|(other, _)| *other != family).map(|(_, rows)| rows.as_slice()).collect();
        let priors = learn(&Priors::guess(), &others, ROUNDS);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (place as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9));
        for points in POINTS {
            for (metric, figures_of) in calibrated(own, &residuals[family], &priors, points, &mut random) {
                figures.entry((metric, points)).or_default().push(figures_of);
            }
        }
    }
    println!("| metric | runs | before, all | after, all | before, above 4 or 10 % | after | ratio | coverage |");
    println!("|---|---|---|---|---|---|---|---|");
    for ((metric, points), figures) in &figures {
        let (_, name, limit) = METRICS[*metric];
        let mean = |of: fn(&Figures) -> f64, far: bool| {
            let chosen = figures.iter().filter(|figures| !far || figures.whole > limit).map(of);
            let chosen: Vec<f64> = chosen.filter(|value| value.is_finite()).collect();
            chosen.iter().sum::<f64>() / chosen.len() as f64
        };
        let [before, after] = [mean(|of| of.before, true), mean(|of| of.after, true)];
        let points = if *points == ALL_BUT_ONE { "all but one".to_owned() } else { points.to_string() };
        println!(
            "| {name} | {points} | {:.2} | {:.2} | {before:.2} | {after:.2} | {:.2} | {:.1} % |",
            mean(|of| of.before, false),
            mean(|of| of.after, false),
            after / before,
            100.0 * mean(|of| of.covered, false)
        );
    }
    Ok(())
}

/// Means over the draws of a family, of medians in percent.
#[derive(Default)]
struct Figures {
    before: f64,
    after: f64,
    /// Share of loops within the 80 % interval.
    covered: f64,
    /// The median error of the whole family before.
    whole: f64,
}

/// Calibrates a family on draws of its loops, and judges the predictions of the others by metric.
fn calibrated(
    own: &[&Row],
    residuals: &[Residual],
    priors: &Priors,
    points: usize,
    random: &mut Random,
) -> Vec<(usize, Figures)> {
    let loops: Vec<&str> = loops(own).into_iter().collect();
    let points = points.min(loops.len() - 1);
    let mut all = [Figures::default(), Figures::default()];
    for _ in 0..DRAWS {
        let chosen = random.choose(&loops, points);
        let is_chosen = |row: &Row| chosen.contains(&row.row.as_str());
        let (train, others): (Vec<_>, Vec<_>) = own.iter().zip(residuals).partition(|(row, _)| is_chosen(row));
        let train: Vec<Residual> = train.into_iter().map(|(_, residual)| *residual).collect();
        let posterior = Posterior::new(priors, &train);
        let change = posterior.change(priors);
        for ((metric, ..), figures) in METRICS.iter().zip(&mut all) {
            let half_width = EIGHTY * posterior.deviation_of(*metric, &train, &change);
            let of_metric = others.iter().map(|(_, residual)| *residual).filter(|row| row.metric == *metric);
            let errors: Vec<[f64; 2]> = of_metric.map(|row| [row.error, row.error + row.slopes.dot(&change)]).collect();
            let share = 1.0 / DRAWS as f64;
            figures.before += share * median(errors.iter().map(|[before, _]| percent(*before)));
            figures.after += share * median(errors.iter().map(|[_, after]| percent(*after)));
            let covered = errors.iter().filter(|[_, after]| after.abs() <= half_width).count();
            figures.covered += share * covered as f64 / errors.len() as f64;
        }
    }
    for ((metric, ..), figures) in METRICS.iter().zip(&mut all) {
        figures.whole = median(residuals.iter().filter(|row| row.metric == *metric).map(|row| percent(row.error)));
    }
    all.into_iter().enumerate().filter(|(_, figures)| figures.before.is_finite()).collect()
}

fn loops<'r>(rows: &[&'r Row]) -> BTreeSet<&'r str> {
    rows.iter().map(|row| row.row.as_str()).collect()
}

/// Returns the residuals of all families with constants that were fitted without one.
fn without<'r>(
    rows: &'r [Row],
    families: &BTreeMap<&'r str, Vec<&'r Row>>,
    left_out: &str,
) -> BTreeMap<&'r str, Vec<Residual>> {
    let count = REFITTED.len();
    let mut normal = DMatrix::identity(count, count) / (OPEN * OPEN);
    let mut gradient = DVector::zeros(count);
    for Row { residual, refitted, .. } in rows.iter().filter(|row| row.family != left_out) {
        let scale = match residual.metric {
            Metric::Tpot => 0.05,
            Metric::Ttft => 0.15,
        };
        let weight = 1.0 / (scale * scale * (1.0 + residual.error.abs() / scale));
        normal += weight * refitted * refitted.transpose();
        gradient += weight * residual.error * refitted;
    }
    let step = -normal.cholesky().map_or_else(|| DVector::zeros(count), |normal| normal.solve(&gradient));
    let moved = |row: &&Row| Residual { error: row.residual.error + row.refitted.dot(&step), ..row.residual };
    families.iter().map(|(family, rows)| (*family, rows.iter().map(moved).collect())).collect()
}

/// Reads the derivatives of all closed loops.
fn rows() -> Result<Vec<Row>, Box<dyn std::error::Error>> {
    let is_of_servers = |dataset: &Dataset| dataset.kind == Kind::ClosedLoops && !dataset.file.starts_with("fleets");
    let mut family_of = BTreeMap::new();
    for dataset in embedded()?.into_iter().filter(is_of_servers) {
        for row in dataset.rows {
            let Server { gpu, model, tp, .. } = &row.server;
            let id = row.label.id.trim_end_matches(" ep");
            family_of.insert(format!("{}:{}", dataset.file, row.label.line), format!("{gpu} {model} tp {tp} {id}"));
        }
    }
    let mut lines = SLOPES.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let value = |name: &str| -> f64 {
            let column = header.iter().position(|column| *column == name);
            column.and_then(|column| cells.get(column)?.parse().ok()).unwrap_or(0.0)
        };
        let row = format!("{}:{}", cells[0], cells[1]);
        let slopes = Constant::ALL.iter().map(|constant| constant.unit() * slope(constant, &value));
        let metric = if cells[2] == "tpot" { Metric::Tpot } else { Metric::Ttft };
        Row {
            family: family_of.get(&row).cloned().unwrap_or_default(),
            row,
            residual: Residual { metric, error: value("error"), slopes: Vector::from_iterator(slopes) },
            refitted: DVector::from_iterator(REFITTED.len(), REFITTED.into_iter().map(value)),
        }
    };
    Ok(lines.map(row).collect())
}

/// Returns the derivative by a constant: by seconds of a time, by the logarithm of others.
fn slope(constant: &Constant, value: &dyn Fn(&str) -> f64) -> f64 {
    let of_fields = || constant.fields.iter().map(|field| value(field.name));
    match constant.name {
        "api_server" => value("+request"),
        "api_token" => value("+token"),
        "host" | "host_request" | "prompt_layer" => value(&format!("+{}", constant.name)),
        "expert_bandwidth" => of_fields().sum::<f64>() - 2.0 * value("tuned_experts"),
        _ => of_fields().sum(),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let count = values.len();
    if count == 0 { f64::NAN } else { 0.5 * (values[(count - 1) / 2] + values[count / 2]) }
}

/// Returns the error of a prediction in percent.
fn percent(error: f64) -> f64 {
    100.0 * (error.exp() - 1.0).abs()
}

/// Random draws (xorshift).
struct Random(u64);

impl Random {
    fn choose<'s>(&mut self, from: &[&'s str], count: usize) -> Vec<&'s str> {
        let mut left = from.to_vec();
        (0..count.min(left.len())).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }
}
