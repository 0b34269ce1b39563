//! Prints `laboratory/validation/calibration_slopes.csv`: ln(predicted / measured) of closed loops and its derivatives by
//! constants of the engines; an empty cell is none. A name with `+` is an addition in seconds, the others are logarithms.
//! From the repository root:
//!
//! `cargo run --release -p rooflut-fit --example sensitivities > slopes.csv && mv slopes.csv
//! laboratory/validation/calibration_slopes.csv`

use rooflut::engine::{EngineStack, stacks};
use rooflut::units::Seconds;
use rooflut_validation::{Dataset, Kind, Metric, Moved, Predictor, embedded, validate};

type Field = fn(&mut EngineStack) -> &mut f64;

enum Change {
    /// ln of a constant.
    Ratio(Field),
    /// ln of a constant of at least 1.
    Factor(Field),
    /// Addition to constants, in seconds.
    Add(f64, fn(&mut EngineStack, f64)),
    /// Others, by a ratio or an addition.
    Server(f64, fn(f64) -> Moved),
}

const RATIO: f64 = -0.05;
const UP: f64 = 0.06;

const CHANGES: [(&str, Change); 23] = [
    ("sustained_math", Change::Ratio(|stack| &mut stack.constants.sustained_math)),
    ("blackwell_sustained_math", Change::Ratio(|stack| &mut stack.constants.blackwell_sustained_math)),
    ("sustained_reads", Change::Ratio(|stack| &mut stack.constants.sustained_reads)),
    ("layer", Change::Ratio(|stack| &mut stack.constants.layer.0)),
    ("moe_layer", Change::Ratio(|stack| &mut stack.constants.moe_layer.0)),
    ("blackwell_moe_layer", Change::Ratio(|stack| &mut stack.constants.blackwell_moe_layer.0)),
    ("tuned_experts", Change::Ratio(|stack| &mut stack.constants.tuned_experts)),
    ("expert_bandwidth", Change::Ratio(|stack| &mut stack.constants.expert_bandwidth)),
    ("fp8_block_expert_bandwidth", Change::Ratio(|stack| &mut stack.constants.fp8_block_expert_bandwidth)),
    ("blackwell_fp8_block_experts", Change::Factor(|stack| &mut stack.constants.blackwell_fp8_block_experts)),
    ("all_reduce_wait", Change::Ratio(|stack| &mut stack.constants.all_reduce_wait.0)),
    ("fused_all_reduce", Change::Ratio(|stack| &mut stack.constants.fused_all_reduce.0)),
    ("prompt_layer", Change::Ratio(|stack| &mut stack.constants.prompt_layer.0)),
    ("blackwell_prompt_layer", Change::Ratio(|stack| &mut stack.constants.blackwell_prompt_layer.0)),
    ("prompt_moe_layer", Change::Ratio(|stack| &mut stack.constants.prompt_moe_layer.0)),
    ("host", Change::Ratio(|stack| &mut stack.constants.host.0)),
    ("host_request", Change::Ratio(|stack| &mut stack.constants.host_request.0)),
    ("api_server", Change::Ratio(|stack| &mut stack.api_server.0)),
    ("+host", Change::Add(100e-6, |stack, by| stack.constants.host += Seconds(by))),
    ("+host_request", Change::Add(2e-6, |stack, by| stack.constants.host_request += Seconds(by))),
    (
        "+prompt_layer",
        Change::Add(20e-6, |stack, by| {
            stack.constants.prompt_layer += Seconds(by);
            stack.constants.blackwell_prompt_layer += Seconds(by);
        }),
    ),
    ("+request", Change::Server(2e-3, |by| Moved { request: Seconds(by), ..Moved::NONE })),
    ("+token", Change::Server(1e-6, |by| Moved { token: Seconds(by), ..Moved::NONE })),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let of_servers = |dataset: &Dataset| dataset.kind == Kind::ClosedLoops && !dataset.file.starts_with("fleets");
    let datasets: Vec<Dataset> = embedded()?.into_iter().filter(of_servers).collect();
    let predicted = |change: Option<&Change>| {
        let stack = |stack: &'static EngineStack| {
            let mut stack = *stack;
            match change {
                Some(Change::Ratio(field)) => *field(&mut stack) *= RATIO.exp(),
                Some(Change::Factor(field)) => *field(&mut stack) *= UP.exp(),
                Some(Change::Add(by, add)) => add(&mut stack, *by),
                _ => (),
            }
            stack
        };
        let own: Vec<EngineStack> = stacks::ALL.into_iter().map(stack).collect();
        let engines: Vec<&EngineStack> = own.iter().collect();
        let moved = match change {
            Some(Change::Server(by, server)) => server(*by),
            _ => Moved::NONE,
        };
        let predictor = Predictor { engines: &engines, moved, ..Predictor::default() };
        let mut rows = Vec::new();
        for dataset in &datasets {
            for case in validate(dataset, &predictor).cases {
                for metric in [Metric::Tpot, Metric::Ttft] {
                    if let Some(comparison) = case.comparison(metric) {
                        let label = format!("{},{},{}", dataset.file, case.label.line, metric.name());
                        rows.push((label, comparison.predicted, comparison.actual));
                    }
                }
            }
        }
        rows
    };
    let now = predicted(None);
    let moved: Vec<_> = CHANGES.iter().map(|(_, change)| predicted(Some(change))).collect();
    print!("file,line,metric,error");
    for (name, _) in &CHANGES {
        print!(",{name}");
    }
    println!();
    for (place, (label, predicted, actual)) in now.iter().enumerate() {
        print!("{label},{:.4e}", (predicted / actual).ln());
        for ((_, change), moved) in CHANGES.iter().zip(&moved) {
            let (of, moved, _) = moved.get(place).ok_or("a change of a constant loses rows")?;
            assert_eq!(of, label);
            let by = match change {
                Change::Ratio(_) => RATIO,
                Change::Factor(_) => UP,
                Change::Add(by, _) | Change::Server(by, _) => *by,
            };
            let slope = (moved / predicted).ln() / by;
            if slope.abs() > 0.0 {
                print!(",{slope:.3e}");
            } else {
                print!(",");
            }
        }
        println!();
    }
    Ok(())
}
