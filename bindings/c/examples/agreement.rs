//! The program of `bindings/agreement` on the library itself, without a border.

use std::error::Error;
use std::io::{BufWriter, Write, stdout};

use rooflut::model;
use rooflut::sim::{Request, Server, ServerEvent};
use rooflut::step::{Binding, Chunk, DecodeGroup, Part, StepBatch, StepModel};
use rooflut::table::{Class, Extent, sets};
use rooflut_report::outcome_name;
use rooflut_scenario::{Model, Resources, Run, ScenarioFile, no_others};

const STEPS: u64 = 10_000;
const REQUESTS: u64 = 100;
const SEEDS: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected the path of scenarios.txt")?;
    let text = std::fs::read_to_string(path)?;
    let runs: Vec<Run> = text.split("---\n").map(open).collect::<Result<_, _>>()?;
    let mut out = BufWriter::new(stdout().lock());
    for (index, run) in (0..STEPS).zip(runs.iter().cycle()) {
        step(&mut out, index, run)?;
    }
    for run in &runs {
        drive(&mut out, run)?;
    }
    for (index, run) in runs.iter().enumerate() {
        for seed in 0..SEEDS {
            let run = run.with_seed(seed)?;
            let report = run.run(&mut ())?.report().to_json()?;
            write!(out, "run {index} {seed}\n{report}")?;
        }
    }
    Ok(out.flush()?)
}

fn open(toml: &str) -> Result<Run, Box<dyn Error>> {
    let scenario = ScenarioFile::read(toml.as_bytes())?.scenario().clone();
    let found = model::find(scenario.target.model()).ok_or("expected a built-in model")?;
    let mut sets = sets::ALL.into_iter();
    let tables = sets.find(|set| set.name() == scenario.target.gpu());
    let resources = Resources {
        model: Model::new(found.name, found.spec),
        draft_model: None,
        tables: tables.ok_or("expected a built-in set")?.clone(),
        find: &no_others,
        read: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    Ok(Run::try_new(scenario, resources)?)
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn draw(&mut self, modulus: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % modulus
    }

    fn draw32(&mut self, modulus: u32) -> u32 {
        self.draw(modulus.into()) as u32
    }
}

fn step(out: &mut impl Write, index: u64, run: &Run) -> Result<(), Box<dyn Error>> {
    let mut random = Random(index);
    let mut prefill = Vec::new();
    for _ in 0..random.draw(4) {
        let new = 1 + random.draw32(2_048);
        let kv_len = new + random.draw32(8_192);
        prefill.push(match random.draw(2) {
            0 => Chunk::partial(new, kv_len)?,
            _ => Chunk::last(new, kv_len)?,
        });
    }
    let mut decode = Vec::new();
    for _ in 0..random.draw(4) {
        let requests = 1 + random.draw32(64);
        let drafted = random.draw32(3);
        let kv_len = 1 + random.draw32(8_192) + drafted;
        let kv_tokens = u64::from(requests) * u64::from(kv_len);
        decode.push(DecodeGroup::from_sum(requests, kv_tokens)?.with_drafted(drafted)?);
    }
    let batch = StepBatch { prefill: &prefill, decode: &decode };
    let time = run.deployment().step_model().step_time(&batch);
    let total = time.total();
    writeln!(out, "step {index} {:016x} {}", total.0.to_bits(), total.to_nanos())?;
    if index.is_multiple_of(10) {
        for part in time.parts() {
            let provenance = part.source.provenance();
            writeln!(
                out,
                "part {} {:016x} {} {} {}",
                place(Part::ALL, part.part),
                part.time.0.to_bits(),
                place(Binding::ALL, part.binding),
                // After the classes of tables comes what was fitted.
                provenance.map_or(Class::ALL.len(), |it| place(Class::ALL, it.class)),
                u8::from(provenance.is_some_and(|it| it.extent == Extent::Outside)),
            )?;
        }
    }
    Ok(())
}

fn place<T: PartialEq, const N: usize>(all: [T; N], one: T) -> usize {
    all.into_iter().take_while(|other| *other != one).count()
}

fn drive(out: &mut impl Write, run: &Run) -> Result<(), Box<dyn Error>> {
    let mut server = Server::try_new(run.deployment().served_model(), *run.config())?;
    for index in 0..REQUESTS {
        let mut random = Random(index);
        let arrival_ns = random.draw(2_000_000_000);
        let prompt = 1 + random.draw32(1_000);
        let output = 1 + random.draw32(100);
        server.push(Request::new(prompt, output).at_ns(arrival_ns))?;
    }
    while let Some(at_ns) = server.next_event_ns() {
        server.advance_to(at_ns)?;
        let events: Vec<ServerEvent> = server.drain_events().collect();
        for event in events {
            let (id, at_ns, outcome) = match event {
                ServerEvent::FirstToken { id, at_ns } => (id, at_ns, "none"),
                ServerEvent::Finished { id, at_ns, record } => (id, at_ns, outcome_name(&record.outcome)),
                _ => return Err("expected a known event".into()),
            };
            writeln!(out, "event {} {} {outcome} {at_ns}", id.index(), event.name())?;
            // One of five is cancelled after its first token, if that is not its last.
            if outcome == "none" && id.index() % 5 == 0 {
                writeln!(out, "cancel {}", u8::from(server.cancel(id).is_ok()))?;
            }
        }
    }
    let totals = server.totals();
    let (steps, busy_ns) = (totals.steps, totals.busy_ns);
    writeln!(out, "totals {steps} {busy_ns} {}", totals.output_tokens)?;
    Ok(())
}
