//! Calibrates servers on some of their closed loops, by first-order changes, and prints how well it predicts the others:
//! `cargo run --release -p rooflut-fit --example calibration`. With `priors` it prints `crates/calibrate/priors.csv`.
//!
//! A family is a GPU, engine, model, precision, tp and dp; those with eight loops or more are calibrated. What a family is
//! predicted by, its own loops apart, comes from all others: the constants of the engines, fitted again by a step of first
//! order, and the priors. Draws are fixed by a seed.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};
use rooflut_calibrate::{Constant, Metric, Posterior, Priors, Residual, Vector, learn};
use rooflut_validation::{Dataset, Kind, Server, embedded};

const SLOPES: &str = include_str!("../../validation/calibration_slopes.csv");

const RELATIVE: usize = 17;
/// The constants that are fitted again without the family, as in `left_out_servers`.
const REFITTED: [&str; RELATIVE] = [
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
/// Rounds by which the priors of all servers become those without a family.
const ROUNDS: usize = 4;
const OPEN: f64 = 0.3;
const DRAWS: usize = 20;

struct Row {
    family: String,
    row: String,
    metric: Metric,
    error: f64,
    relative: DVector<f64>,
    slopes: Vector,
}

fn step_to<'r>(rows: impl Iterator<Item = &'r Row>) -> DVector<f64> {
    let mut normal = DMatrix::identity(RELATIVE, RELATIVE) / (OPEN * OPEN);
    let mut gradient = DVector::zeros(RELATIVE);
    for row in rows {
        let scale = match row.metric {
            Metric::Tpot => 0.05,
            Metric::Ttft => 0.15,
        };
        let weight = 1.0 / (scale * scale * (1.0 + row.error.abs() / scale));
        normal += weight * &row.relative * row.relative.transpose();
        gradient += weight * row.error * &row.relative;
    }
    -normal.cholesky().map_or_else(|| DVector::zeros(RELATIVE), |normal| normal.solve(&gradient))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 { f64::NAN } else { 0.5 * (values[(n - 1) / 2] + values[n / 2]) }
}

fn ape(error: f64) -> f64 {
    100.0 * (error.exp() - 1.0).abs()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prints_priors = std::env::args().nth(1).is_some_and(|arg| arg == "priors");
    let of_servers = |dataset: &Dataset| dataset.kind == Kind::ClosedLoops && !dataset.file.starts_with("fleets");
    let mut family_of = BTreeMap::new();
    for dataset in embedded()?.into_iter().filter(of_servers) {
        for row in dataset.rows {
            let Server { gpu, model, tp, .. } = &row.server;
            let id = row.label.id.trim_end_matches(" ep");
            family_of.insert(format!("{}:{}", dataset.file, row.label.line), format!("{gpu} {model} tp {tp} {id}"));
        }
    }
    let mut lines = SLOPES.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').skip(3).collect();
    let mut rows = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [file, number, metric, values @ ..] = &cells[..] else { continue };
        let value = |name: &str| -> f64 {
            let at = header.iter().position(|column| *column == name);
            at.and_then(|at| values.get(at)?.parse().ok()).unwrap_or(0.0)
        };
        let row = format!("{file}:{number}");
        let sum = |names: &[&str]| names.iter().map(|name| value(name)).sum::<f64>();
        rows.push(Row {
            family: family_of.get(&row).cloned().unwrap_or_default(),
            row,
            metric: if *metric == "tpot" { Metric::Tpot } else { Metric::Ttft },
            error: value("error"),
            relative: DVector::from_iterator(RELATIVE, REFITTED.into_iter().map(value)),
            slopes: Vector::from_iterator(Constant::ALL.iter().map(|constant| {
                let slope = match constant.name {
                    "sustained_math" => sum(&["sustained_math", "blackwell_sustained_math"]),
                    "moe_layer" => sum(&["moe_layer", "blackwell_moe_layer"]),
                    "expert_bandwidth" => {
                        sum(&["expert_bandwidth", "fp8_block_expert_bandwidth"]) - value("tuned_experts")
                    }
                    "all_reduce_wait" => sum(&["all_reduce_wait", "fused_all_reduce"]),
                    "layer" => value("layer"),
                    "api_server" => value("+request"),
                    "api_token" => value("+token"),
                    name => value(&format!("+{name}")),
                };
                slope * constant.unit()
            })),
        });
    }
    let mut families: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        families.entry(&row.family).or_default().push(row);
    }
    let list: Vec<&str> = families.keys().copied().collect();
    let moved = |left_out: &str| -> BTreeMap<&str, Vec<Residual>> {
        let step = step_to(rows.iter().filter(|row| row.family != left_out));
        families
            .iter()
            .map(|(family, rows)| {
                let residual = |row: &&Row| Residual {
                    metric: row.metric,
                    error: row.error + row.relative.dot(&step),
                    slopes: row.slopes,
                };
                (*family, rows.iter().map(residual).collect())
            })
            .collect()
    };
    let start = std::time::Instant::now();
    let all = moved("");
    let servers: Vec<&[Residual]> = all.values().map(Vec::as_slice).collect();
    let learned = learn(&Priors::guess(), &servers, 60);
    if prints_priors {
        print!("{}", learned.priors.to_csv());
        return Ok(());
    }
    let mut totals: BTreeMap<(usize, u8), Vec<[f64; 6]>> = BTreeMap::new();
    for (place, family) in list.iter().enumerate() {
        let own = &families[family];
        let mut ids: Vec<&str> = own.iter().map(|row| row.row.as_str()).collect();
        ids.dedup();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() < 8 {
            continue;
        }
        let without = moved(family);
        let others: Vec<&[Residual]> =
            without.iter().filter(|(other, _)| *other != family).map(|(_, rows)| rows.as_slice()).collect();
        let priors = learn(&learned.priors, &others, ROUNDS).priors;
        let residuals = &without[family];
        let mut whole = [Vec::new(), Vec::new()];
        for r in residuals {
            whole[usize::from(r.metric == Metric::Ttft)].push(ape(r.error));
        }
        let whole = whole.map(|mut v| median(&mut v));
        let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ (place as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        for points in [1, 2, 3, 6] {
            let mut sums = [[0.0; 6]; 2];
            for _ in 0..DRAWS {
                let mut order: Vec<usize> = (0..ids.len()).collect();
                for i in 0..points {
                    let j = i + random(order.len() - i);
                    order.swap(i, j);
                }
                let chosen: Vec<&str> = order[..points].iter().map(|i| ids[*i]).collect();
                let is_chosen = |row: &Row| chosen.contains(&row.row.as_str());
                let train: Vec<Residual> =
                    own.iter().zip(residuals).filter(|(row, _)| is_chosen(row)).map(|(_, r)| *r).collect();
                let posterior = Posterior::new(&priors, &train);
                let mut errors = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
                let mut covered = [[0.0; 2]; 2];
                for (_, r) in own.iter().zip(residuals).filter(|(row, _)| !is_chosen(row)) {
                    let m = usize::from(r.metric == Metric::Ttft);
                    let expected = posterior.expect(r.metric, &r.slopes);
                    errors[m][0].push(ape(r.error));
                    errors[m][1].push(ape(r.error - expected.mean));
                    let p = expected.probability(r.error);
                    covered[m][0] += f64::from(u8::from((0.1..=0.9).contains(&p)));
                    covered[m][1] += 1.0;
                }
                for m in 0..2 {
                    let [before, after] = &mut errors[m];
                    let n = before.len().max(1) as f64;
                    let means = [before.iter().sum::<f64>() / n, after.iter().sum::<f64>() / n];
                    let of_draw =
                        [median(before), median(after), means[0], means[1], covered[m][0] / covered[m][1], whole[m]];
                    for (sum, value) in sums[m].iter_mut().zip(of_draw) {
                        *sum += value / DRAWS as f64;
                    }
                }
            }
            for m in 0..2 {
                totals.entry((points, m as u8)).or_default().push(sums[m]);
            }
        }
    }
    for ((points, m), families) in &totals {
        let limit = if *m == 0 { 4.0 } else { 10.0 };
        let mean = |of: &dyn Fn(&[f64; 6]) -> f64, far: bool| {
            let chosen: Vec<f64> =
                families.iter().filter(|f| !far || f[5] > limit).map(of).filter(|v| v.is_finite()).collect();
            chosen.iter().sum::<f64>() / chosen.len().max(1) as f64
        };
        let far = families.iter().filter(|f| f[5] > limit).count();
        let (b, a) = (mean(&|f| f[0], true), mean(&|f| f[1], true));
        let (bm, am) = (mean(&|f| f[2], true), mean(&|f| f[3], true));
        println!(
            "{points} {} far({far}) median {b:.2} -> {a:.2} = {:.2}  mean {bm:.2} -> {am:.2} = {:.2} | all median {:.2} -> {:.2}  mean {:.2} -> {:.2} | worst median {:+.2} mean {:+.2}, {} and {} over 0.3 | coverage {:.1}",
            if *m == 0 { "TPOT" } else { "TTFT" },
            a / b,
            am / bm,
            mean(&|f| f[0], false),
            mean(&|f| f[1], false),
            mean(&|f| f[2], false),
            mean(&|f| f[3], false),
            families.iter().map(|f| f[1] - f[0]).fold(f64::MIN, f64::max),
            families.iter().map(|f| f[3] - f[2]).fold(f64::MIN, f64::max),
            families.iter().filter(|f| f[1] - f[0] > 0.3).count(),
            families.iter().filter(|f| f[3] - f[2] > 0.3).count(),
            100.0 * mean(&|f| f[4], false),
        );
    }
    println!("{:?}", start.elapsed());
    Ok(())
}
