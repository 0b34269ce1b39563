//! Prints errors of closed loops and their derivatives by constants, as CSV.

use rooflut::step::Part;
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

const fn part(of: fn(Part) -> f64) -> Moved {
    Moved { part: of, ..Moved::NONE }
}
macro_rules! parts {
    ($($part:ident)|+) => {
        Change::Server(UP, |_| part(|part| if matches!(part, $(Part::$part)|+) { 1.061_836_546_545_359_6 } else { 1.0 }))
    };
}

const CHANGES: [(&str, Change); 35] = [
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
    ("api_output", Change::Ratio(|stack| &mut stack.api_output.0)),
    ("+host", Change::Add(100e-6, |stack, by| stack.constants.host += Seconds(by))),
    ("+host_request", Change::Add(2e-6, |stack, by| stack.constants.host_request += Seconds(by))),
    (
        "+prompt_layer",
        Change::Add(20e-6, |stack, by| {
            stack.constants.prompt_layer += Seconds(by);
            stack.constants.blackwell_prompt_layer += Seconds(by);
        }),
    ),
    ("+api_output", Change::Add(10e-6, |stack, by| stack.api_output += Seconds(by))),
    ("+request", Change::Server(2e-3, |by| Moved { request: Seconds(by), ..Moved::NONE })),
    ("+token", Change::Server(1e-6, |by| Moved { token: Seconds(by), ..Moved::NONE })),
    ("+least1", Change::Server(0.25e-3, |by| Moved { least_prompts: Seconds(by), ..Moved::NONE })),
    ("+least2", Change::Server(0.5e-3, |by| Moved { least_prompts: Seconds(by), ..Moved::NONE })),
    ("+least3", Change::Server(1e-3, |by| Moved { least_prompts: Seconds(by), ..Moved::NONE })),
    ("gemms", parts!(Qkv | OProj | GateUp | Down | Router | LmHead)),
    ("prefill_attention", parts!(PrefillAttention)),
    ("decode_attention", parts!(DecodeAttention)),
    ("small", parts!(SmallKernels | Sampling)),
    ("experts", parts!(Moe)),
    ("collectives", parts!(AllReduce | Exchange)),
    ("prompts", Change::Server(UP, |by| Moved { prompts: by.exp(), ..Moved::NONE })),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let only: Vec<String> = std::env::args().skip(1).collect();
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
    let start = std::time::Instant::now();
    let now = predicted(None);
    eprintln!("files {:?}", start.elapsed());
    let chosen: Vec<&(&str, Change)> =
        CHANGES.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|only| only == name)).collect();
    let moved: Vec<_> = chosen
        .iter()
        .map(|(name, change)| {
            let start = std::time::Instant::now();
            let rows = predicted(Some(change));
            eprintln!("{name} {:?}", start.elapsed());
            rows
        })
        .collect();
    print!("file,line,metric,predicted,actual");
    for (name, _) in &chosen {
        print!(",{name}");
    }
    println!();
    for (place, (label, predicted, actual)) in now.iter().enumerate() {
        print!("{label},{predicted},{actual}");
        for ((_, change), moved) in chosen.iter().zip(&moved) {
            let (of, moved, _) = &moved[place];
            assert_eq!(of, label);
            let by = match change {
                Change::Ratio(_) => RATIO,
                Change::Factor(_) => UP,
                Change::Add(by, _) | Change::Server(by, _) => *by,
            };
            print!(",{:.6}", (moved / predicted).ln() / by);
        }
        println!();
    }
    Ok(())
}
