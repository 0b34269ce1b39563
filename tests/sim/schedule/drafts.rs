//! Drafts at the limits of a request.

use super::{chunk, config, run};
use crate::support::{Linear, request};
use rooflut::engine::PadSpecDecode;
use rooflut::engine::Scheduling::Synchronous;
use rooflut::sim::{Content, SimConfig, Speculation};

#[test]
fn drafts_end_before_max_model_len_and_at_the_threshold() {
    let drafted = |config: SimConfig| -> Vec<_> {
        let model = Linear::mixed();
        run(&model, config, &[request(0, 36, 4)]);
        let batches = model.batches.borrow();
        let decodes = batches.iter().flat_map(|batch| &batch.decode);
        decodes.map(|group| (group.drafted(), group.kv_tokens())).collect()
    };
    let mut config = config(Synchronous, 100, 100);
    config.rules.pad_spec_decode = PadSpecDecode::Never;
    config.speculation = Speculation::try_new(3, 0.0, 0).ok();
    assert_eq!(drafted(config), [(3, 40), (3, 41), (3, 42)]);
    config.max_model_len = 40;
    assert_eq!(drafted(config), [(2, 39), (1, 39), (0, 39)]);
    config.max_model_len = 4_096;
    config.long_prefill_token_threshold = Some(2);
    assert_eq!(drafted(config), [(1, 38), (1, 39), (1, 40)]);
}

#[test]
fn a_draft_model_drafts_after_a_part_of_a_prompt_up_to_0_15() {
    for (chunk_drafts, last) in [(true, 13), (false, 10)] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 20, 100);
        config.rules.chunk_drafts = chunk_drafts;
        let speculation = Speculation::try_new(3, 1.0, 0).unwrap();
        config.speculation = Some(speculation.with_draft_model());
        run(&model, config, &[request(0, 30, 1)]);
        let batches = model.batches.take();
        let chunks: Vec<_> = batches.into_iter().map(|batch| batch.prefill).collect();
        assert_eq!(chunks, [vec![chunk(20, 0, 0)], vec![chunk(last, 20, 1)]]);
    }
}

#[test]
fn an_mtp_layer_computes_the_last_block_of_a_prefix_hit_again() {
    let text = Content::Texts { prefix: 1, prefix_tokens: 64, own: 1 };
    let mut second = request(10_000, 80, 1);
    second.content = Content::Texts { prefix: 1, prefix_tokens: 64, own: 2 };
    let mut first = request(0, 80, 1);
    first.content = text;
    let drafts = Speculation::try_new(1, 1.0, 0).unwrap();
    for (drafts, drops, context) in
        [(drafts.with_mtp(), true, 48), (drafts.with_mtp(), false, 64), (drafts.with_draft_model(), true, 64)]
    {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 100, 100).with_speculation(drafts);
        config.rules.mtp_drops_block = drops;
        run(&model, config, &[first, second]);
        let batches = model.batches.borrow();
        assert_eq!(batches[1].prefill, [chunk(80 - context, context, 1)]);
    }
}
