#![allow(clippy::all, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod support;
use rooflut::engine::StepConstants;
use rooflut::step::{LatencyModel, Part};
use support::models::{self, DEFAULT};
use support::random::Random;
use support::steps::Batch;
#[test]
fn explore() {
    let all = models::all(DEFAULT);
    let mut random = Random(1);
    let mut worst = [(0.0_f64, String::new()), (0.0, String::new()), (0.0, String::new()), (0.0, String::new())];
    for turn in 0..200_000 {
        let (sharded, model) = &all[turn % all.len()];
        let batch = Batch::random(&mut random);
        let t = |b: &Batch| model.step_time(&b.as_step());
        let before = t(&batch);
        let about = || format!("{} tp{} {:?} {batch:?}", sharded.name, sharded.tp, sharded.kv_dtype);
        if !batch.decode.is_empty() {
            let mut b = batch.clone();
            b.decode[0].kv_tokens += 1;
            let kv = batch.as_step().decode_kv_tokens() as f64;
            let rel = ((t(&b).total().0 / before.total().0).ln() * kv).abs();
            if t(&b).total() < before.total() { println!("kv decreases {}", about()); }
            if rel > worst[0].0 { worst[0] = (rel, about()); }
        }
        if !batch.prefill.is_empty() && batch.as_step().tokens() > 256 {
            let m = batch.as_step().tokens() as f64;
            let mut b = batch.clone();
            b.prefill[0].new += 1;
            let rel = (t(&b).total().0 / before.total().0).ln() * batch.prefill[0].new as f64;
            if rel.abs() > worst[1].0 { worst[1] = (rel.abs(), about()); }
            let rel = (t(&b).total().0 / before.total().0).ln() * m;
            if rel.abs() > worst[2].0 { worst[2] = (rel.abs(), about()); }
            let mut b = batch.clone();
            b.prefill[0].context += 1;
            let rel = (t(&b).total().0 / before.total().0).ln() * (batch.prefill[0].new+ batch.prefill[0].context) as f64;
            if rel.abs() > worst[3].0 { worst[3] = (rel.abs(), about()); }
        }
    }
    for w in worst { println!("{} {}", w.0, w.1); }
    // monotone in requests
    for (name, constants) in [("default", DEFAULT), ("none", StepConstants::NONE)] {
        let mut w = (0.0_f64, String::new());
        let mut w256 = (0.0_f64, String::new());
        let mut parts = std::collections::BTreeMap::new();
        for (sharded, model) in models::all(constants) {
            for each in [100, 1000, 10000] {
                let mut best = 0.0_f64;
                let mut prev: Option<rooflut::step::StepTime> = None;
                for r in 1..=1024 {
                    let t = model.step_time(&Batch::decoding(r, each).as_step());
                    let drop = (best / t.total().0).ln();
                    best = best.max(t.total().0);
                    if drop > w.0 { w = (drop, format!("{} tp{} r{r} x{each}", sharded.name, sharded.tp)); }
                    if r <= 256 && drop > w256.0 { w256 = (drop, format!("{} tp{} r{r} x{each}", sharded.name, sharded.tp)); }
                    if let Some(p) = prev {
                        for part in Part::ALL {
                            let d = (p.part(part).0 / t.part(part).0).ln();
                            if d > 1e-12 {
                                let e = parts.entry(part.name()).or_insert((0.0, String::new()));
                                if d > e.0 { *e = (d, format!("{} tp{} r{r} x{each}", sharded.name, sharded.tp)); }
                            }
                        }
                    }
                    prev = Some(t);
                }
            }
        }
        println!("{name}: {w:?} {w256:?}");
        for (p, e) in parts { println!("  {p} {e:?}"); }
    }
}
