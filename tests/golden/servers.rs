//! Simulated servers: short runs of equal requests at a constant rate.

use rooflut::engine::Scheduling;
use rooflut::engine::{EngineStack, stacks};
use rooflut::hardware::Dtype;
use rooflut::model::{self, MemoryLimits, MemoryPlan, ModelSpec, Sampler};
use rooflut::sim::figures::{Stats, Summary};
use rooflut::sim::load::Arrivals;
use rooflut::sim::{Request, SimConfig, Simulator, Speculation};
use rooflut::step::{Drafting, Parallelism, RooflineModel, StepOptions};
use rooflut::table::{TableSet, sets};

use super::comparison::{Golden, Line};
use super::placed::{Placed, llama_8b, own};

pub(crate) const GOLDEN: Golden =
    Golden { file: "servers.csv", header: "model,set,tp,kv_dtype,engine,load,metric,mean_ms", unit: "ms", decimals: 3 };

/// Number of requests in each run.
const REQUESTS: usize = 60;
const PROMPT_TOKENS: u32 = 700;
const OUTPUT_TOKENS: u32 = 100;

/// A server and the rate of its requests.
struct Server {
    /// The model and its ranks.
    placed: Placed,
    set: &'static TableSet,
    kv_dtype: Dtype,
    engine: &'static EngineStack,
    requests_per_s: u32,
    /// Number of KV blocks, fewer than fit the memory.
    kv_blocks: Option<u32>,
    /// Draft model of three tokens, each accepted with probability 0.7 after an accepted one.
    draft: Option<&'static str>,
}

/// The model on H100 behind vLLM 0.15.1, with 16-bit KV entries.
const fn on_h100(placed: Placed, requests_per_s: u32) -> Server {
    Server {
        placed,
        set: &sets::H100,
        kv_dtype: Dtype::Bf16,
        engine: &stacks::VLLM_0_15_1,
        requests_per_s,
        kv_blocks: None,
        draft: None,
    }
}

const fn llama(requests_per_s: u32) -> Server {
    on_h100(own("llama-3.1-8b", &[1]), requests_per_s)
}

const fn qwen(set: &'static TableSet, requests_per_s: u32) -> Server {
    Server { set, ..on_h100(own("qwen3-14b", &[1]), requests_per_s) }
}

const SERVERS: [Server; 9] = [
    llama(20),
    Server { engine: &stacks::VLLM_0_11_0, ..llama(20) },
    // A request begins with 44 blocks and ends with 50.
    Server { kv_blocks: Some(520), ..llama(20) },
    Server { draft: Some("llama-3.2-1b"), ..llama(10) },
    Server { kv_dtype: Dtype::Fp8, ..on_h100(llama_8b(Dtype::Fp8), 20) },
    on_h100(own("llama-3.1-70b", &[4]), 6),
    on_h100(own("mixtral-8x7b-v0.1", &[2]), 10),
    qwen(&sets::A100, 4),
    qwen(&sets::L40S, 2),
];

/// Returns three lines for each server.
pub(crate) fn predict() -> Vec<Line> {
    SERVERS.iter().flat_map(Server::lines).collect()
}

impl Server {
    fn lines(&self) -> [Line; 3] {
        let summary = self.run();
        [("TTFT", summary.ttft), ("TPOT", summary.tpot), ("E2E", summary.e2e)].map(|(metric, stats)| Line {
            name: format!("{},{metric}", self.name()),
            value: stats.map(|stats| stats.mean.ms()),
        })
    }

    fn name(&self) -> String {
        let (model, _) = self.placed.spec();
        let (set, tp, kv_dtype) = (self.set.name(), self.tp(), self.kv_dtype);
        let kv_blocks = self.kv_blocks.map(|blocks| format!(" in {blocks} KV blocks"));
        let draft = self.draft.map(|draft| format!("; 3 tokens by {draft}")).unwrap_or_default();
        format!(
            "{model},{set},{tp},{kv_dtype},{},{REQUESTS} requests of {PROMPT_TOKENS}+{OUTPUT_TOKENS} \
             at {}/s{}{draft}",
            self.engine.name,
            self.requests_per_s,
            kv_blocks.unwrap_or_default()
        )
    }

    fn tp(&self) -> u32 {
        self.placed.tps[0]
    }

    fn run(&self) -> Summary {
        let (_, spec) = self.placed.spec();
        let options = StepOptions::for_engine(self.engine).with_kv_dtype(self.kv_dtype);
        let ranks = Parallelism::tensor(self.tp());
        let on = |spec: &ModelSpec| RooflineModel::try_new(spec, self.set, ranks, options).expect("a step model");
        let (model, config, requests) = (on(&spec), self.config(&spec), self.requests());
        match self.draft {
            None => {
                let simulator = Simulator::try_new(model, config).expect("sound limits");
                simulator.run(&requests).unwrap().summary
            }
            Some(draft) => {
                let draft = model::find(draft).expect("a known model").spec.with_sampler(Sampler::Plain);
                let model = Drafting::new(model, on(&draft), 3);
                let simulator = Simulator::try_new(model, config).expect("sound limits");
                simulator.run(&requests).unwrap().summary
            }
        }
    }

    fn config(&self, spec: &ModelSpec) -> SimConfig {
        let limits = MemoryLimits::default().with_kv_dtype(self.kv_dtype);
        let plan = MemoryPlan::try_new(spec, self.set.gpu(), self.tp(), limits).expect("it fits");
        let kv_blocks = self.kv_blocks.unwrap_or(plan.kv_blocks);
        let mut config = SimConfig::new(spec.max_model_len, kv_blocks).with_engine(self.engine);
        if self.draft.is_some() {
            config.rules.scheduling = Scheduling::Synchronous;
            config.speculation = Speculation::try_new(3, 0.7, 0).ok();
        }
        config
    }

    fn requests(&self) -> Vec<Request> {
        let arrivals = Arrivals::try_constant(self.requests_per_s.into()).expect("a rate");
        let request = |arrival_ns| Request::new(PROMPT_TOKENS, OUTPUT_TOKENS).at_ns(arrival_ns);
        arrivals.take(REQUESTS).map(request).collect()
    }
}

#[test]
fn servers_complete_all_requests_and_preempt_with_few_blocks() {
    for server in &SERVERS {
        let (name, summary) = (server.name(), server.run());
        assert_eq!(summary.completed, REQUESTS as u64, "{name}");
        let tight = server.kv_blocks.is_some();
        assert_eq!(summary.preemptions > 0, tight, "{name}: {}", summary.preemptions);
        let ms = |stats: Option<Stats>| stats.expect("completed").mean.ms();
        let (ttft, tpot, e2e) = (ms(summary.ttft), ms(summary.tpot), ms(summary.e2e));
        // Requests in the server on average.
        let together = f64::from(server.requests_per_s) * e2e / 1e3;
        assert!(together > 2.0, "{name}: {together}");
        // All outputs have one length.
        let sum = ttft + f64::from(OUTPUT_TOKENS - 1) * tpot;
        assert!((sum / e2e - 1.0).abs() < 1e-6, "{name}: {sum} {e2e}");
    }
}

#[test]
fn hosts_few_blocks_and_wide_weights_cost_time() {
    let [plain, host, tight, narrow, ..] = &SERVERS;
    let e2e = |server: &Server| server.run().e2e.expect("completed").mean;
    assert!(e2e(narrow) < e2e(plain));
    assert!(e2e(plain) < e2e(host) && e2e(plain) < e2e(tight));
}
