//! Rows whose prediction can be computed by hand from the step model.
#![allow(
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use crate::support::report;
use rooflut::engine::{self, EngineStack, Scheduling, stacks};
use rooflut::model::{self, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::step::{Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::sets;
use rooflut::units::Seconds;
use rooflut_validation::{FileReport, Metric, Predictor, read, validate};

/// Predictions of the rows of `metric`, in order.
fn predicted(report: &FileReport, metric: Metric) -> Vec<f64> {
    let cases = report.cases.iter();
    cases.map(|case| case.comparison(metric).unwrap().predicted).collect()
}

fn llama() -> ModelSpec {
    model::find("llama-3.1-8b").unwrap().spec
}

/// The steps of llama-3.1-8b on one h100.
struct Steps(RooflineModel);

impl Steps {
    fn of(engine: &EngineStack) -> Steps {
        let options = StepOptions::for_engine(engine);
        let model = RooflineModel::try_new(&llama(), &sets::H100, Parallelism::SINGLE, options);
        Steps(model.unwrap())
    }

    fn prefill_ms(&self, new: u32, context: u32, samples: u32) -> f64 {
        let chunk = match samples {
            0 => Chunk::partial(new, context + new).unwrap(),
            _ => Chunk::last(new, context + new).unwrap(),
        };
        let batch = StepBatch { prefill: &[chunk], decode: &[] };
        self.0.step_time(&batch).total().ms()
    }

    fn decode_ms(&self, requests: u32, kv_tokens: u64) -> f64 {
        let group = DecodeGroup::from_sum(requests, kv_tokens).unwrap();
        let batch = StepBatch { prefill: &[], decode: &[group] };
        self.0.step_time(&batch).total().ms()
    }
}

/// Allows for the simulator's clock, which rounds each step to a nanosecond.
fn assert_close(found: f64, expected_ms: f64) {
    assert!((found - expected_ms).abs() < 1e-5, "{found} for {expected_ms}");
}

const STAGE: &str = "id,gpu,model,tp,engine,arrival,rate_rps,duration_s,prompt_tokens,\
                     cached_prompt_tokens,output_tokens,ttft_mean_ms,tpot_mean_ms,e2e_mean_ms\n";

#[test]
fn a_stage_of_requests_that_never_overlap_is_their_steps_and_the_api_server() {
    // A request every 10 s: each is alone, with 100 - 64 tokens to compute and three to decode.
    let row = "a,h100,llama-3.1-8b,1,vllm-0.15.1,constant,0.1,40,100,70,4,30,7,50\n";
    let report = report(&format!("{STAGE}{row}"));
    let steps = Steps::of(&stacks::VLLM_0_15_1);
    let prefill = steps.prefill_ms(36, 64, 1);
    let decodes: f64 = (101..=103).map(|kv| steps.decode_ms(1, kv)).sum();
    let engine = &stacks::VLLM_0_15_1;
    let api = (engine.api_server + engine.api_output).ms();
    assert!(api > 1.0);
    assert_close(predicted(&report, Metric::Ttft)[0], api + prefill);
    assert_close(predicted(&report, Metric::Tpot)[0], decodes / 3.0);
    assert_close(predicted(&report, Metric::E2e)[0], api + prefill + decodes);
    let ttft = report.cases[0].comparison(Metric::Ttft).unwrap();
    assert_eq!(ttft.actual, 30.0);
    assert_close(ttft.signed(), 100.0 * (api + prefill - 30.0) / 30.0);
}

#[test]
fn a_stage_has_rate_times_duration_requests_and_can_be_cut() {
    // At 50 requests per second they overlap, so the mean depends on their number.
    let text = |duration: u32| {
        let row = "a,h100,llama-3.1-8b,1,vllm-0.15.1,constant,50,";
        format!("{STAGE}{row}{duration},600,0,100,30,7,50\n")
    };
    let ttft = |duration, longest_stage_s| {
        let dataset = read("stage.csv", text(duration)).unwrap();
        let predictor = Predictor { longest_stage_s, ..Predictor::default() };
        predicted(&validate(&dataset, &predictor), Metric::Ttft)[0]
    };
    let whole = f64::INFINITY;
    assert_close(ttft(10, 2.0), ttft(2, whole));
    assert_ne!(ttft(10, whole).to_bits(), ttft(2, whole).to_bits());
}

#[test]
fn poisson_arrivals_differ_from_equal_gaps() {
    let stage = |arrival: &str| {
        let row = format!("a,h100,llama-3.1-8b,1,vllm-0.15.1,{arrival},20,10,500,0,50,30,7,50\n");
        predicted(&report(&format!("{STAGE}{row}")), Metric::Ttft)[0]
    };
    assert!(stage("Poisson") > stage("constant"));
}

const REQUESTS: &str = "experiment,gpu,model,dtype,tp,engine,max_num_seqs,shared_prefix_tokens,\
                        arrival_ms,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n";

#[test]
fn a_replay_is_its_steps_and_only_the_first_request_computes_the_shared_prefix() {
    let at = |arrival_ms: &str, output, measured| {
        format!("r,h100,llama-3.1-8b,bf16,1,vllm-0.11.0,64,64,{arrival_ms},300,{output},{measured}\n")
    };
    // The first row of the file arrives second, a second later.
    let rows = at("1500.5", 2, "20,5,30") + &at("500", 1, "20,,20");
    let report = report(&format!("{REQUESTS}{rows}"));
    let ttft = predicted(&report, Metric::Ttft);
    let steps = Steps::of(&stacks::VLLM_0_11_0);
    assert_close(ttft[0], steps.prefill_ms(236, 64, 1));
    assert_close(ttft[1], steps.prefill_ms(300, 0, 1));
    let [later, first] = &report.cases[..] else {
        panic!("{report:?}");
    };
    assert_close(later.comparison(Metric::Tpot).unwrap().predicted, steps.decode_ms(1, 301));
    assert!(first.comparison(Metric::Tpot).is_none());
    assert_close(first.comparison(Metric::E2e).unwrap().predicted, ttft[1]);
}

#[test]
fn a_replay_waits_for_the_running_step_as_its_engine_does() {
    // The second request arrives while the first decodes. The engines differ in the schedule only.
    let ttft = |scheduling| {
        let mut engine = stacks::VLLM_0_15_1;
        engine.rules.scheduling = scheduling;
        let common = "r,h100,llama-3.1-8b,,1,vllm-0.15.1,,0";
        let rows = format!("{common},0,30,200,20,5,30\n{common},100,30,2,20,5,30\n");
        let dataset = read("requests.csv", format!("{REQUESTS}{rows}")).unwrap();
        let predictor = Predictor { engines: &[&engine], ..Predictor::default() };
        predicted(&validate(&dataset, &predictor), Metric::Ttft)[1]
    };
    let step = Steps::of(&stacks::VLLM_0_15_1).decode_ms(1, 40);
    let [synchronous, ahead] = [Scheduling::Synchronous, Scheduling::OneStepAhead].map(ttft);
    assert!((ahead - synchronous - step).abs() < 0.2 * step, "{ahead} {synchronous} {step}");
}

#[test]
fn runs_on_different_servers_do_not_overlap() {
    let row =
        |seqs: u32, arrival: u32| format!("r,h100,llama-3.1-8b,,1,vllm-0.11.0,{seqs},0,{arrival},30,500,20,5,30\n");
    let alone = report(&format!("{REQUESTS}{}", row(64, 0)));
    let both = report(&format!("{REQUESTS}{}{}", row(64, 0), row(65, 1)));
    let met = report(&format!("{REQUESTS}{}{}", row(64, 0), row(64, 1)));
    let e2e = |report| predicted(report, Metric::E2e)[0];
    assert_eq!(e2e(&both).to_bits(), e2e(&alone).to_bits());
    assert_ne!(e2e(&met).to_bits(), e2e(&alone).to_bits());
}

#[test]
fn a_solo_request_is_the_sum_of_its_chunks_and_a_decode_step() {
    let text = "experiment,gpu,model,tp,max_num_batched_tokens,prompt_tokens,cached_prompt_tokens,\
                prefill_steps,prefill_ms,tpot_ms,mean_context_tokens\n\
                s,h100,llama-3.1-8b,1,512,1300,64,1,50,7,1400.5\n\
                s,h100,llama-3.1-8b,1,,1300,,1,50,,1400.5\n";
    let report = report(text);
    let prefill = predicted(&report, Metric::Prefill);
    let steps = Steps::of(&engine::DEFAULT);
    let chunks = [(512, 64, 0), (512, 576, 0), (212, 1088, 1)]
        .map(|(new, context, samples)| steps.prefill_ms(new, context, samples));
    assert_close(prefill[0], chunks.iter().sum());
    assert_close(prefill[1], steps.prefill_ms(1300, 0, 1));
    let [first, second] = &report.cases[..] else {
        panic!("{report:?}");
    };
    assert_close(first.comparison(Metric::Tpot).unwrap().predicted, steps.decode_ms(1, 1401));
    assert!(second.comparison(Metric::Tpot).is_none());
}

#[test]
fn a_decode_step_has_every_request_at_the_mean_context() {
    let text = "experiment,gpu,model,tp,decode_requests,mean_context_tokens,step_ms\n\
                d,h100,llama-3.1-8b,1,48,700.25,8\n";
    assert_close(predicted(&report(text), Metric::Step)[0], Steps::of(&engine::DEFAULT).decode_ms(48, 33_612));
}

#[test]
fn kv_blocks_come_from_the_memory_plan() {
    let text = "gpu,model,tp,engine,max_num_batched_tokens,kv_blocks_16_tokens\n\
                h100,llama-3.1-8b,2,vllm-0.15.1,4096,60000\n";
    let report = report(text);
    let limits = stacks::VLLM_0_15_1.memory_limits(MemoryLimits::default().with_max_num_batched_tokens(4096));
    let plan = MemoryPlan::try_new(&llama(), sets::H100.gpu(), 2, limits).unwrap();
    assert_eq!(predicted(&report, Metric::KvBlocks), [f64::from(plan.kv_blocks)]);
    assert_eq!(report.cases[0].label.id, "llama-3.1-8b tp2 vllm-0.15.1");
}

#[test]
fn fp8_weights_are_faster_and_leave_more_room() {
    let text = |dtype| format!("gpu,model,dtype,tp,kv_blocks_16_tokens\nh100,llama-3.1-8b,{dtype},1,20000\n");
    let blocks = |dtype| predicted(&report(&text(dtype)), Metric::KvBlocks)[0];
    assert!(blocks("fp8") > blocks("bf16"));
    let text = |dtype| {
        format!(
            "experiment,gpu,model,dtype,tp,decode_requests,mean_context_tokens,step_ms\n\
             d,h100,llama-3.1-8b,{dtype},1,4,700,8\n"
        )
    };
    let step = |dtype| predicted(&report(&text(dtype)), Metric::Step)[0];
    assert!(step("fp8") < 0.8 * step("bf16"));
}

#[test]
fn an_8_bit_kv_cache_has_more_blocks_and_is_read_faster() {
    let blocks = |column: &str, dtype: &str| {
        let text = format!("gpu,model,{column},tp,kv_blocks_16_tokens\nh100,llama-3.1-8b,{dtype},1,20000\n");
        predicted(&report(&text), Metric::KvBlocks)[0]
    };
    let bf16 = blocks("kv_dtype", "auto");
    for column in ["kv_dtype", "kv_cache_dtype"] {
        assert_eq!(blocks(column, ""), bf16);
        for fp8 in ["fp8", "fp8_e4m3", "fp8_e5m2"] {
            assert!((blocks(column, fp8) - 2.0 * bf16).abs() <= 1.0, "{fp8}");
        }
    }
    let step = |dtype: &str| {
        let text = format!(
            "experiment,gpu,model,kv_cache_dtype,tp,decode_requests,mean_context_tokens,step_ms\n\
             d,h100,llama-3.1-8b,{dtype},1,64,4000,20\n"
        );
        report(&text)
    };
    let ms = |dtype| predicted(&step(dtype), Metric::Step)[0];
    assert!(ms("fp8") < 0.8 * ms(""));
    let reason = &step("int8").skipped[0].text;
    assert!(reason.starts_with("unknown KV dtype \"int8\" ("), "{reason}");
}

#[test]
fn changed_engine_constants_are_used() {
    let text = "experiment,gpu,model,tp,engine,decode_requests,mean_context_tokens,step_ms\n\
                d,h100,llama-3.1-8b,1,vllm-0.15.1,48,700,8\n";
    let dataset = read("steps.csv", text).unwrap();
    let mut slower: EngineStack = stacks::VLLM_0_15_1;
    slower.constants.layer += Seconds::from_us(10.0);
    let predictor = Predictor { engines: &[&slower], ..Predictor::default() };
    let usual = predicted(&report(text), Metric::Step)[0];
    let found = predicted(&validate(&dataset, &predictor), Metric::Step)[0];
    assert_close(found - usual, 32.0 * 0.01);
}
