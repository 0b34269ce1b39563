//! Calibrates servers on some of their closed loops and predicts the others.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};
use rooflut_calibrate::{CONSTANTS, Metric, Posterior, Priors, Residual, Vector, learn};

const RELATIVE: usize = 17;
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

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&args[0]).unwrap();
    let each: bool = args.get(1).is_some_and(|a| a == "each");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let names: Vec<String> = header[4 + RELATIVE..].iter().map(|s| (*s).to_owned()).collect();
    let rows: Vec<Row> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |at: usize| cells.get(at).map_or(0.0, |c| c.parse::<f64>().unwrap());
            Row {
                family: cells[0].to_owned(),
                row: cells[1].to_owned(),
                metric: if cells[2] == "tpot" { Metric::Tpot } else { Metric::Ttft },
                error: number(3),
                relative: DVector::from_fn(RELATIVE, |i, _| number(4 + i)),
                slopes: Vector::from_fn(|i, _| number(4 + RELATIVE + i)),
            }
        })
        .collect();
    let mut families: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        families.entry(&row.family).or_default().push(row);
    }
    let list: Vec<&str> = families.keys().copied().collect();
    let of_prompts = ["+prompt_layer", "+request", "+token", "prefill_attention", "prompts", "+least", "lv1"];
    let mut flags = [false; CONSTANTS];
    let mut spread = Vector::repeat(0.1);
    for (i, name) in names.iter().enumerate() {
        flags[i] = of_prompts.iter().any(|p| name.starts_with(p));
    }
    for i in names.len()..CONSTANTS {
        spread[i] = 1e-6;
    }
    let first = Priors::new(spread, flags, [0.04, 0.1]);
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
    let learned = learn(&first, &servers, 40);
    println!("evidence {:.1} {:?} noise {:?}", learned.evidence, start.elapsed(), learned.priors.noise);
    for (i, name) in names.iter().enumerate() {
        print!("{name} {:.4}  ", learned.priors.spreads[i]);
    }
    println!();
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
        let priors = if each {
            let others: Vec<&[Residual]> =
                without.iter().filter(|(f, _)| *f != family).map(|(_, r)| r.as_slice()).collect();
            learn(&learned.priors, &others, 6).priors
        } else {
            learned.priors.clone()
        };
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
}
