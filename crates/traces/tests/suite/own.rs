//! rooflut's own CSV.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use crate::support::{message, requests, trace};
use rooflut::sim::{Content, Request};
use rooflut_error::Kind;
use rooflut_traces::{Condition, Format, Options, read};

#[test]
fn columns_are_found_by_name_and_others_ignored() {
    let text = "output_tokens,user,arrival_ms, prompt_tokens\n7,a, 1.5,100\n";
    let expected = Request::new(100, 7).at_ns(1_500_000);
    assert_eq!(requests(text, &[]), Ok(vec![expected]));
    let text = "arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens,priority\n0,100,7,64,7\n";
    let request = requests(text, &[]).unwrap()[0];
    assert_eq!((request.cached_prompt_tokens, request.priority), (64, 7));
}

pub(crate) const QUOTED: &str = "note,arrival_ms,prompt_tokens,output_tokens\n\"a, \"\"b\"\"\nc\",\"0\",1,2\nd,5,3,4\n";

#[test]
fn quotes_change_nothing() {
    let plain = trace(QUOTED).unwrap();
    assert_eq!(plain.format, Format::Own);
    assert_eq!(plain.requests.len(), 2);
}

#[test]
fn one_experiment_is_picked() {
    let text = "experiment,arrival_ms,prompt_tokens,output_tokens\na,0,1,1\nb,0,2,1\na,1,3,1\n";
    assert_eq!(requests(text, &["experiment=a"]).unwrap().len(), 2);
}

#[test]
fn arrivals_stay_as_they_are() {
    let text = "arrival_ms,prompt_tokens,output_tokens\n30,1,1\n10,0,1\n10,1,0\n";
    let requests = requests(text, &[]).unwrap();
    let arrivals: Vec<u64> = requests.iter().map(|request| request.arrival_ns).collect();
    assert_eq!(arrivals, [30_000_000, 10_000_000, 10_000_000]);
}

const TEXTS: &str = "arrival_ms,prompt_tokens,output_tokens,prefix_id,prefix_tokens,session_id";

fn contents(rows: &[&str]) -> Vec<Content> {
    let requests = requests(&format!("{TEXTS}\n{}\n", rows.join("\n")), &[]).unwrap();
    requests.iter().map(|request| request.content).collect()
}

#[test]
fn prefixes_and_sessions_say_what_is_shared() {
    let rows = ["0,100,5,system,40,", "0,100,5,system,40,", "0,100,5,other,40,ann", "0,100,5,,,ann", "0,100,5,,0,"];
    let texts = contents(&rows).into_iter().map(|content| match content {
        Content::Texts { prefix, prefix_tokens, own } => Some((prefix, prefix_tokens, own)),
        _ => None,
    });
    let texts: Vec<Option<(u64, u32, u64)>> = texts.collect();
    let [Some(first), Some(second), Some(third), Some(fourth), None] = texts[..] else {
        panic!("{texts:?}");
    };
    assert_eq!((first.0, first.1), (second.0, second.1));
    assert_ne!(first.2, second.2, "without a session the rest is unique");
    assert_ne!(first.0, third.0);
    assert_eq!(third.2, fourth.2, "one session");
    assert_eq!(fourth.1, 0);
    assert_eq!(contents(&rows), contents(&rows));
}

#[test]
fn bytes_that_are_no_text_are_named_by_their_line() {
    let mut bytes = b"arrival_ms,prompt_tokens,output_tokens\n0,1,1\n0,\xff,1\n".to_vec();
    let message = |bytes: &[u8]| {
        let error = read(bytes, &Options::default()).unwrap_err();
        error.to_string()
    };
    let expected = "line 3: expected UTF-8 text, found other bytes; correct this line";
    assert_eq!(message(&bytes), expected);
    bytes.truncate(48);
    assert_eq!(message(&bytes), "line 3: expected 3 fields, found 2; correct this line");
}

#[test]
fn a_message_stays_on_one_line_and_short() {
    let cell = "x".repeat(1000);
    let text = format!("arrival_ms,prompt_tokens,output_tokens\n0,\"a\n{cell}\",1\n");
    let message = message(&text);
    assert!(message.contains(r"a\nxxx") && message.contains("xxx...\";"), "{message}");
    assert!(message.len() < 200 && !message.contains('\n'), "{message}");
}

#[test]
fn an_error_says_what_kind_of_thing_is_wrong() {
    let rows = "experiment,arrival_ms,prompt_tokens,output_tokens\na,0,1,1\n";
    let json = r#"{"timestamp": 1, "input_length": 2, "output_length": 3}"#;
    for (text, condition, kind, keys) in [
        ("a,b\n1,2\n", "a=1", Kind::Contents, &[][..]),
        (rows, "experiment=c", Kind::Contents, &["where"]),
        (rows, "experment=a", Kind::UnknownName, &["where"]),
        (json, "a=1", Kind::Contents, &["where"]),
    ] {
        let conditions = [condition.parse().unwrap()];
        let error = read(text.as_bytes(), &Options { conditions: &conditions, ..Options::default() }).unwrap_err();
        assert_eq!((error.kind(), &*error.keys()), (kind, keys), "{error}");
    }
    assert_eq!("rows".parse::<Condition>().unwrap_err().kind(), Kind::Value);
    assert_eq!("csv".parse::<Format>().unwrap_err().kind(), Kind::UnknownName);
}
