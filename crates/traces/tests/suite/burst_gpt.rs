//! BurstGPT traces.

use crate::support::{requests, shapes, trace};
use rooflut_traces::{Format, LeftOut};

pub(crate) const SAMPLE: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                      5,ChatGPT,472,18,490,Conversation log\n\
                      45,ChatGPT,1087,0,1087,Conversation log\n\
                      118.5,GPT-4,417,276,693,API log\n\
                      118.5,GPT-4,0,9,9,API log\n";

#[test]
fn failures_are_left_out_and_counted() {
    let trace = trace(SAMPLE).unwrap();
    assert_eq!(trace.format, Format::BurstGpt);
    assert_eq!(shapes(&trace), [(0, 472, 18), (113_500, 417, 276), (113_500, 0, 9)]);
    assert_eq!(trace.left_out, [(LeftOut::NoResponse, 1)]);
}

#[test]
fn a_failure_does_not_start_the_clock() {
    let text = SAMPLE.replace(",18,", ",0,");
    let trace = trace(&text).unwrap();
    assert_eq!((trace.requests[0].arrival_ns, trace.left_out[0].1), (0, 2));
}

#[test]
fn conditions_pick_models() {
    assert_eq!(requests(SAMPLE, &["Model=GPT-4"]).unwrap().len(), 2);
    let message = requests(SAMPLE, &["Model=GPT-5"]).unwrap_err();
    assert_eq!(message, "no row meets every where; column Model has ChatGPT, GPT-4");
}

#[test]
fn quotes_change_nothing() {
    let plain = trace(SAMPLE);
    assert_eq!(trace(&SAMPLE.replace("Conversation log", "\"Conversation, \"\"log\"\"\"")), plain);
}
