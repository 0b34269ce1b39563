//! BurstGPT traces.

use crate::support::{message, requests, shapes, trace};
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
    assert_eq!(
        shapes(&trace),
        [(0, 472, 18), (113_500, 417, 276), (113_500, 0, 9)]
    );
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
    assert_eq!(
        message,
        ": no row meets every --where; column Model has ChatGPT, GPT-4"
    );
}

#[test]
fn quotes_change_nothing() {
    let plain = trace(SAMPLE);
    assert_eq!(
        trace(&SAMPLE.replace("Conversation log", "\"Conversation, \"\"log\"\"\"")),
        plain
    );
}

#[test]
fn mistakes_are_named() {
    assert_eq!(
        message(&SAMPLE.replace("118.5", "soon")),
        ":4: Timestamp: expected seconds, 0 or more, found \"soon\"; correct this line"
    );
    assert_eq!(
        message(&SAMPLE.replace("118.5", "1e300")),
        ":4: Timestamp: expected at most 9223372036 seconds, found \"1e300\"; correct this line"
    );
    assert!(message(&SAMPLE.replace("45,", "-45,")).starts_with(":3: Timestamp: "));
    assert_eq!(
        message(&SAMPLE.replace("276", "many")),
        ":4: Response tokens: expected a whole number of tokens, found \"many\"; correct this line"
    );
    assert_eq!(
        message(&SAMPLE.replace("Response tokens", "response")),
        ":1: no column Response tokens; rename response?"
    );
    let failures = "Timestamp,Request tokens,Response tokens\n1,5,0\n2,5,0\n";
    assert_eq!(
        message(failures),
        ": expected a request that was served, found none: 2 failed, 0 response tokens; use another \
         file"
    );
}
