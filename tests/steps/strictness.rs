//! Models whose kernels are less certain than the caller accepts.

use crate::support::apart;
use crate::support::models::{self, dense, heads, moe, refused, try_new, with};
use crate::support::steps::Batch;
use crate::support::tolerances::ROUNDING;
use rooflut::ErrorKind;
use rooflut::model::ModelSpec;
use rooflut::step::{Binding, Part, StepModel, StepOptions, StepTime, TimeSource, TimeSources};
use rooflut::table::{Class, Strictness, sets};
use rooflut::units::Seconds;

fn strictly(worst: Class) -> StepOptions {
    StepOptions::default().with_strictness(Strictness::at_worst(worst))
}

/// A made-up model: every kernel of one rank of six was measured or lies inside the rectangle, except the
/// all-reduce of six.
fn six_ranks() -> ModelSpec {
    ModelSpec::builder()
        .hidden(4096)
        .layers(2)
        .q_heads(24)
        .kv_heads(6)
        .head_dim(128)
        .vocab(6 * 4096)
        .intermediate(6 * 2048)
        .max_model_len(4096)
        .build()
        .unwrap()
}

/// A made-up model: every kernel on one GPU was measured or lies inside the rectangle.
fn all_known() -> ModelSpec {
    with(six_ranks(), |spec| {
        heads(spec).q_heads = 32;
        heads(spec).kv_heads = 8;
        spec.layers[0].ffn = dense(2048);
    })
}

#[test]
fn strictness_refuses_the_first_kernel_of_a_worse_class_by_name() {
    let refusal = |spec: &ModelSpec, tp, worst, expected: &str, found: Class| {
        let (error, text) = refused(spec, &sets::H100, tp, strictly(worst));
        let ErrorKind::TooUncertain { part, .. } = error.kind() else {
            panic!("{text}");
        };
        assert_eq!(part.name(), expected);
        let accepted = match worst {
            Class::Measured => "measured".to_owned(),
            worst => format!("{worst} or better"),
        };
        assert_eq!(
            text,
            format!("{expected}: table set h100: expected {accepted}, found {found}; accept {found} answers")
        );
    };
    use Class::{Interpolated, Measured, Smoothed, Transferred};
    let known = all_known();
    refusal(&known, 1, Measured, "qkv", Smoothed);
    refusal(&known, 1, Interpolated, "qkv", Smoothed);
    // 20 query heads were measured in neither table, 16 and 16 in prefill only.
    let unseen_heads = with(known, |spec| heads(spec).q_heads = 24);
    refusal(&unseen_heads, 1, Smoothed, "prefill_attention", Transferred);
    let multi_head = with(known, |spec| {
        heads(spec).q_heads = 16;
        heads(spec).kv_heads = 16;
    });
    refusal(&multi_head, 1, Smoothed, "decode_attention", Transferred);
    refusal(&six_ranks(), 6, Smoothed, "all_reduce", Transferred);
    for (spec, tp) in [(known, 1), (multi_head, 1), (six_ranks(), 6)] {
        assert!(try_new(&spec, &sets::H100, tp, strictly(Transferred)).is_ok());
    }
}

#[test]
fn experts_are_checked_where_their_table_contributes_to_their_time() {
    let unseen_experts = with(all_known(), |spec| spec.layers[0].ffn = moe(1024, 8, 768, 0));
    let mut options = strictly(Class::Smoothed);
    options.constants.moe_layer = Seconds::from_us(300.0);
    let model = try_new(&unseen_experts, &sets::H100, 1, options).unwrap();
    let experts = |batch: Batch| {
        let time = model.step_time(&batch.as_step());
        let experts = time.parts().find(|part| part.part == Part::Moe).unwrap();
        (time, experts.source)
    };
    // With few tokens, launches and reads take longer than the table's kernel, whose routing reaches fewer experts.
    let (few, source) = experts(Batch::decoding(256, 4096));
    assert_eq!(source, TimeSource::FITTED);
    assert_eq!(few.provenance(), Some(Class::Smoothed.inside()));
    // With many tokens math takes over, and the table answers for other experts.
    let shares = [8_192, 16_384, 1 << 20].map(|tokens| {
        let (many, source) = experts(Batch::chunk(tokens, 0));
        assert_eq!(source.provenance().unwrap().class, Class::Transferred);
        let fitted = many.parts().map(|part| part.time.0 * part.source.fitted_share());
        let share = fitted.sum::<f64>() / many.total().0;
        assert!(apart(many.fitted_share(), share) < ROUNDING);
        source.fitted_share()
    });
    assert!(shares[0] > shares[1] && shares[1] > 0.0, "{shares:?}");
    assert!(shares[2] < ROUNDING, "{shares:?}");
}

#[test]
fn the_answer_of_a_step_has_its_extent() {
    // No batch is known at construction, so "inside" rejects nothing there.
    let mut options = strictly(Class::Smoothed);
    options.strictness = options.strictness.inside();
    let model = try_new(&all_known(), &sets::H100, 1, options).unwrap();
    let provenance = |batch: Batch| model.step_time(&batch.as_step()).provenance().unwrap();
    assert_eq!(provenance(Batch::decoding(64, 4096)), Class::Smoothed.inside());
    let long = provenance(Batch::decoding(1, 200_000));
    assert_eq!(long, Class::Smoothed.outside());
    let long = model.step_time(&Batch::decoding(1, 200_000).as_step());
    let refused = long.check(options.strictness).unwrap_err();
    assert_eq!(refused.part, Part::DecodeAttention);
    assert_eq!(long.check(strictly(Class::Smoothed).strictness), Ok(()));
    let mut all = TimeSources::default();
    all.add(&model.step_time(&Batch::decoding(64, 4096).as_step()));
    assert_eq!(all.check(options.strictness), Ok(()));
    all.add(&long);
    assert_eq!(all.check(options.strictness), Err(refused));
    // Context was not measured for any shape.
    assert_eq!(provenance(Batch::chunk(512, 512)), Class::Transferred.inside());
}

#[test]
fn a_step_reports_smoothed_and_fitted_parts() {
    let time = models::llama(models::FITTED).step_time(&Batch::decoding(64, 1024).as_step());
    let source = |part| time.parts().find(|found| found.part == part).unwrap().source;
    let smoothed = Class::Smoothed.inside().into();
    for part in [Part::Qkv, Part::DecodeAttention, Part::Down] {
        assert_eq!(source(part), smoothed, "{part}");
    }
    // No measured n is as large as the vocabulary.
    assert_eq!(source(Part::LmHead), Class::Transferred.inside().into());
    for part in [Part::SmallKernels, Part::Sampling] {
        assert_eq!(source(part), TimeSource::FITTED, "{part}");
    }
    let fitted = [Part::SmallKernels, Part::Sampling].map(|part| time.part(part).0);
    let share = fitted.iter().sum::<f64>() / time.total().0;
    assert!(apart(time.fitted_share(), share) < ROUNDING);
    assert!(share > 0.1 && share < 0.3, "{share}");
    let mut sources = TimeSources::default();
    sources.add_times(&time, 3);
    assert!(apart(sources.fitted_share(), share) < ROUNDING);
    let looked_up: f64 = sources.class_shares().iter().sum();
    assert!(apart(looked_up, 1.0 - share) < ROUNDING);
}

#[test]
fn the_least_certain_part_is_reported_so_that_its_advice_suffices() {
    let mut step = StepTime::ZERO;
    let parts = [
        (Part::Qkv, Class::Interpolated.inside()),
        (Part::LmHead, Class::Transferred.inside()),
        (Part::Down, Class::Smoothed.outside()),
    ];
    for (part, provenance) in parts {
        step.add(part, Seconds(1e-3), Binding::Memory, provenance.into());
    }
    let strictness = Strictness::at_worst(Class::Measured);
    let error = step.check(strictness).unwrap_err();
    assert_eq!(error.part, Part::LmHead);
    let advised = strictness.or(error.error.found);
    assert!(step.check(Strictness::at_worst(advised.worst().class)).is_ok());
}
