//! Calibration of servers that are made up.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::convert::Infallible;

use rooflut::engine::{EngineStack, stacks};
use rooflut_calibrate::{
    Calibration, Constant, Metric, Posterior, Priors, Residual, Row, Scales, Times, Vector, calibrate,
};

const USERS: [f64; 3] = [4.0, 16.0, 64.0];

/// A server whose steps wait for the host and launch 36 layers with experts.
fn server(stack: &EngineStack, run: usize) -> Times {
    let users = USERS[run];
    let constants = &stack.constants;
    let step = constants.host.0
        + users * constants.host_request.0
        + 36.0 * (constants.layer.0 + constants.moe_layer.0)
        + 1e-3 / constants.expert_bandwidth
        + 5e-5 * users;
    let prompt = 36.0 * constants.prompt_layer.0 + 0.01 / constants.sustained_math + step;
    Times { tpot: Some(step), ttft: Some(stack.api_server.0 + 1_000.0 * stack.api_token.0 + prompt) }
}

fn calibrated(truth: &EngineStack, runs: usize) -> Calibration {
    let measured: Vec<Times> = (0..runs).map(|run| server(truth, run)).collect();
    let predict = |stack: &EngineStack| Ok::<_, Infallible>((0..runs).map(|run| server(stack, run)).collect());
    let Ok(calibration) = calibrate(&stacks::VLLM_0_18_0, &measured, &Priors::shipped().unwrap(), predict);
    calibration
}

#[test]
fn a_host_that_is_slow_per_request_is_found_and_the_error_falls() {
    let mut truth = stacks::VLLM_0_18_0;
    truth.constants.host_request.0 += 3e-5;
    let calibration = calibrated(&truth, 3);
    let squares = |error: fn(&Row) -> f64| calibration.rows.iter().map(|row| error(row).powi(2)).sum::<f64>();
    assert!(squares(|row| row.after) < 0.2 * squares(|row| row.before), "{:?}", calibration.rows);
    let host = calibration.constants[1];
    assert_eq!(host.name, "host_request");
    assert!(host.is_determined() && host.value > 1e-5, "{host:?}");
    let all_reduce = calibration.constants[9];
    assert!(
        !all_reduce.is_determined() && all_reduce.value.to_bits() == all_reduce.shipped.to_bits(),
        "{all_reduce:?}"
    );
}

#[test]
fn a_server_that_is_as_predicted_stays_as_it_is() {
    let calibration = calibrated(&stacks::VLLM_0_18_0, 2);
    for constant in &calibration.constants {
        assert!((constant.value - constant.shipped).abs() <= 1e-9 * constant.shipped.abs(), "{constant:?}");
    }
}

#[test]
fn without_rows_the_posterior_is_the_prior() {
    let priors = Priors::shipped().unwrap();
    let posterior = Posterior::new(&priors, &[]);
    assert!(posterior.mean().norm() < 1e-12);
    let deviation = posterior.deviation().component_div(&priors.spreads);
    for (ratio, constant) in deviation.iter().zip(&Constant::ALL) {
        let multiple =
            |(scales, weight): (Scales, &f64)| weight * if constant.of_prompts { scales.prompts } else { scales.steps };
        let expected: f64 = Priors::scales().zip(&priors.weights).map(multiple).sum();
        assert!((ratio * ratio / expected - 1.0).abs() < 1e-3, "{}", constant.name);
    }
}

#[test]
fn one_row_far_off_among_others_moves_little() {
    let priors = Priors::shipped().unwrap();
    let row = |error| Residual { metric: Metric::Ttft, error, slopes: Vector::repeat(0.5) };
    let alike = [row(0.02), row(0.02), row(0.02), row(0.02), row(0.02)];
    let mut with_one = alike;
    with_one[4].error = 1.2;
    let expected = |rows: &[Residual]| Posterior::new(&priors, rows).expect(Metric::Ttft, &row(0.0).slopes).mean;
    let mean = (4.0 * 0.02 + 1.2) / 5.0;
    assert!(expected(&alike) < expected(&with_one) && expected(&with_one) < 0.5 * mean);
}
