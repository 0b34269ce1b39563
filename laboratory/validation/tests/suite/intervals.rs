//! Intervals of predictions, and their coverage.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use rooflut::interval::Coverage;
use rooflut_validation::{Kind, LeftOut, Metric, Predictor, coverage, embedded, read, validate};

#[test]
fn every_prediction_of_a_time_lies_within_its_interval_which_grows_with_coverage() {
    let predictor = Predictor {
        longest_stage_s: 20.0,
        coverages: &[0.8, 0.95].map(|share| Coverage::try_new(share).unwrap()),
        ..Predictor::default()
    };
    for mut dataset in embedded().unwrap() {
        dataset.rows.truncate(2);
        let cases = validate(&dataset, &predictor).cases;
        for found in cases.iter().flat_map(|case| &case.comparisons) {
            match found.intervals[..] {
                [] => assert!(matches!(dataset.kind, Kind::KvBlocks | Kind::Memory)),
                [[low, high], [lower, higher]] => {
                    assert!(low < found.predicted && found.predicted < high, "{found:?}");
                    assert!(lower < low && high < higher, "{found:?}");
                }
                _ => panic!("{found:?}"),
            }
        }
    }
}

#[test]
fn load_stages_on_h100_are_compared_without_their_model_family() {
    let left_out = LeftOut::embedded().unwrap();
    let stages = embedded().unwrap().remove(0);
    for row in &stages.rows {
        let on_h100 = row.server.gpu.eq_ignore_ascii_case("h100");
        let found = left_out.ln_ratio(&row.label, Metric::Tpot);
        assert_eq!(found.is_some(), on_h100, "{:?}", row.label);
    }
    // A measurement that is the prediction, but for what its family changes.
    let (id, stage) = ("20260217-155451-llama-2-7b-tp1-codegen", 0);
    let header = "id,stage,gpu,model,tp,arrival,rate_rps,duration_s,prompt_tokens,output_tokens,tpot_mean_ms";
    let row = format!("{id},{stage},h100,llama-2-7b,1,constant,1,5,500,100");
    let dataset = |tpot_ms: f64| read("a.csv", format!("{header}\n{row},{tpot_ms}\n")).unwrap();
    let case = validate(&dataset(7.0), &Predictor::default()).cases.remove(0);
    let predicted = case.comparison(Metric::Tpot).unwrap().predicted;
    let covered = |left_out: &LeftOut| {
        let narrow = Coverage::try_new(0.01).unwrap();
        coverage(&dataset(predicted), &Predictor::default(), left_out, &[narrow])
    };
    assert_eq!(covered(&LeftOut::default())[0].covered, [100.0]);
    assert_eq!(covered(&left_out)[0].covered, [0.0]);
}
