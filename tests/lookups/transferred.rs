//! A GPU with the tables of another: their efficiency at its own rates, as transferred. Shapes that were not measured.

use rooflut::hardware::{AttentionShape, Dtype, Gpu};
use rooflut::op::{
    AllReduce, DecodeAttention, DeltaDecode, Estimate, Gemm, MlaDecode, MlaPrefill, Moe, PrefillAttention,
};
use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel};
use rooflut::table::sets::{A100, B200, B300, H100, L40S};
use rooflut::table::{Class, Strictness, TableSet};
use rooflut::{Deployment, model};

use crate::support::tolerances::STORED_LN_F32;

/// Asserts that `ask` answers for B300 as for B200, but transferred, and no faster than its rates allow.
fn assert_transferred(ask: impl Fn(&TableSet) -> Estimate) -> f64 {
    let [measured, other] = [&B200, &B300].map(ask);
    assert_eq!(measured.provenance, Class::Measured.inside());
    assert_eq!(other.provenance, Class::Transferred.inside());
    let rates = |gpu: &Gpu| [gpu.fp4_flops_per_s.unwrap(), gpu.mem_bw_bytes_per_s];
    let [b200, b300] = [&B200, &B300].map(|set| rates(set.gpu()));
    let fastest = (b200[0] / b300[0]).min(b200[1] / b300[1]);
    let ratio = other.time.0 / measured.time.0;
    assert!((fastest - STORED_LN_F32..=1.0 + STORED_LN_F32).contains(&ratio), "{measured:?} {other:?}");
    ratio
}

#[test]
fn rows_of_b200_answer_for_b300_at_its_rates() {
    let first = |axis: rooflut::table::Axis<'_>| axis.values()[0];
    let mut fastest = 1.0_f64;
    for entry in B200.gemm().unwrap().entries() {
        let m = first(entry.points.axis());
        let ask = |set: &TableSet| Gemm::resolve(set, entry.shape).unwrap().at(m);
        fastest = fastest.min(assert_transferred(ask));
    }
    // GEMMs of one token read their weights.
    let bandwidth = |set: &TableSet| set.gpu().mem_bw_bytes_per_s;
    assert!((fastest * bandwidth(&B300) / bandwidth(&B200) - 1.0).abs() < 0.01);
    for entry in B200.moe().unwrap().entries() {
        let tokens = first(entry.points.axis());
        assert_transferred(|set| Moe::resolve(set, entry.shape).unwrap().at(tokens));
    }
    for entry in B200.decode().unwrap().entries() {
        let [batch, length] = [entry.points.batch(), entry.points.length()].map(first);
        let ask = |set: &TableSet| DecodeAttention::resolve(set, entry.shape).unwrap();
        assert_transferred(|set| ask(set).at(batch, u64::from(batch * length)));
    }
    for entry in B200.prefill().unwrap().entries() {
        let [batch, length] = [entry.points.batch(), entry.points.length()].map(first);
        let ask = |set: &TableSet| PrefillAttention::resolve(set, entry.shape).unwrap();
        assert_transferred(|set| ask(set).at(batch, length));
    }
    let decode = [B200.mla_decode(), B200.dsa_decode()].into_iter().flatten();
    for entry in decode.flat_map(|table| table.entries()) {
        let [batch, length] = [entry.points.batch(), entry.points.length()].map(first);
        let ask = |set: &TableSet| MlaDecode::resolve(set, entry.shape).unwrap();
        assert_transferred(|set| ask(set).at(batch, u64::from(batch * length)));
    }
    let prefill = [B200.mla_prefill(), B200.dsa_prefill()].into_iter().flatten();
    for entry in prefill.flat_map(|table| table.entries()) {
        let [batches, lengths] = [entry.points.batch(), entry.points.length()];
        let batch = first(batches);
        let mut places = (0..lengths.values().len()).zip(lengths.values());
        let (_, &length) = places.find(|(place, _)| entry.points.latency_us(0, *place).is_some()).unwrap();
        let ask = |set: &TableSet| MlaPrefill::resolve(set, entry.shape).unwrap();
        assert_transferred(|set| ask(set).at(batch, length));
    }
    for entry in B200.delta_decode().unwrap().entries() {
        let batch = first(entry.points.axis());
        let ask = |set: &TableSet| DeltaDecode::resolve(set, entry.shape).unwrap();
        assert_transferred(|set| ask(set).at(batch));
    }
    for entry in B200.all_reduce().unwrap().entries() {
        let bytes = u64::from(first(entry.points.axis()));
        assert_transferred(|set| AllReduce::resolve(set, entry.shape).unwrap().at(bytes));
    }
}

#[test]
fn steps_on_b300_are_transferred_and_shorter_than_on_b200() {
    let llama = model::find("llama-3.1-8b").unwrap();
    let chunk = [Chunk::prompt(512).unwrap()];
    let group = [DecodeGroup::uniform(64, 4000).unwrap()];
    let batch = StepBatch { prefill: &chunk, decode: &group };
    let [b200, b300] = [&B200, &B300].map(|set| {
        let deployment = Deployment::builder(llama.spec, set).build().unwrap();
        deployment.step_model().step_time(&batch)
    });
    assert!(b300.total() < b200.total() && b300.total().0 > 0.96 * b200.total().0);
    let sources = b300.parts().map(|part| part.source.to_string());
    for source in sources.filter(|source| !source.contains("fitted")) {
        assert!(source.starts_with("transferred"), "{source}");
    }
    let strict = Strictness::at_worst(Class::Smoothed);
    let refused = Deployment::builder(llama.spec, &B300).strictness(strict).build().unwrap_err().to_string();
    assert!(refused.contains("b300") && refused.contains("transferred"), "{refused}");
}

#[test]
fn b300_is_a_set_of_its_own_with_the_tables_of_b200() {
    assert_ne!(B300, B200);
    assert_eq!((B300.name(), B300.gpu().mem_bytes), ("b300", 288_000_000_000));
    assert_eq!(B300.measured_on(), B200.gpu());
    assert_eq!(B300.tables().count(), B200.tables().count());
    let scaled = B300.with_scaled(&[]);
    assert_eq!((scaled.name(), scaled.measured_on()), ("b300", B200.gpu()));
}

/// The time of decode attention with these heads on one rank, microseconds.
fn decode_us(set: &TableSet, [q_heads, kv_heads]: [u32; 2], requests: u32, length: u32) -> f64 {
    let shape = AttentionShape { dtype: Dtype::Bf16, kv_dtype: Dtype::Bf16, q_heads, kv_heads, head_dim: 128, tp: 1 };
    let decode = DecodeAttention::resolve(set, shape).unwrap();
    decode.at(requests, u64::from(requests) * u64::from(length)).time.us()
}

#[test]
fn rows_that_do_not_split_kv_entries_answer_for_no_grouped_heads() {
    for set in [&A100, &L40S] {
        for (grouped, measured) in [([2, 1], [4, 1]), ([8, 4], [16, 4]), ([16, 8], [16, 8])] {
            for requests in [1, 2, 4, 8, 32] {
                for length in [16_384, 32_768, 65_536] {
                    let [found, like] = [grouped, measured].map(|heads| decode_us(set, heads, requests, length));
                    let ratio = found / like;
                    assert!((0.97..1.03).contains(&ratio), "{} {grouped:?} {requests} x {length}: {ratio}", set.name());
                }
            }
        }
        // Each ungrouped head is a block: 16 heads of one request take as long as 8 of two.
        for length in [4096, 65_536] {
            let [found, like] =
                [([16, 16], 1), ([8, 8], 2)].map(|(heads, requests)| decode_us(set, heads, requests, length));
            assert!((found / like - 1.0).abs() < 0.05, "{}: {found} {like}", set.name());
        }
    }
    // Kernels of Hopper split both.
    assert_eq!(decode_us(&H100, [2, 1], 1, 65_536).round(), 32.0);
}

#[test]
fn decode_attention_takes_no_less_time_with_a_longer_context() {
    for set in [&A100, &L40S] {
        for heads in [[1, 1], [2, 1], [3, 1], [4, 2], [6, 2], [8, 4], [12, 4], [16, 16], [24, 8], [32, 32]] {
            for requests in [1, 2, 4, 8, 16, 64] {
                let lengths = [2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
                let times = lengths.map(|length| decode_us(set, heads, requests, length));
                for (pair, length) in times.windows(2).zip(lengths) {
                    assert!(pair[1] >= 0.9 * pair[0], "{} {heads:?} {requests} x {length}: {times:?}", set.name());
                }
            }
        }
    }
}
