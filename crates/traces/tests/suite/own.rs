//! rooflut's own CSV.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use crate::support::{message, requests, trace};
use rooflut::sim::{Content, Request};
use rooflut_traces::{Format, Options, read};

#[test]
fn columns_are_found_by_name_and_others_ignored() {
    let text = "output_tokens,user,arrival_ms, prompt_tokens\n7,a, 1.5,100\n";
    let expected = Request::new(100, 7).at_ns(1_500_000);
    assert_eq!(requests(text, &[]), Ok(vec![expected]));
    let text = "arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens\n0,100,7,64\n";
    assert_eq!(requests(text, &[]).unwrap()[0].cached_prompt_tokens, 64);
}

#[test]
fn bad_lines_are_named_by_their_number() {
    let message = |line: &str| {
        let text = format!("arrival_ms,prompt_tokens,output_tokens\n0,1,1\n{line}\n");
        requests(&text, &[]).unwrap_err()
    };
    assert_eq!(
        message("1,x,3"),
        ":3: prompt_tokens: expected a whole number of tokens, found \"x\"; correct this line"
    );
    for line in [
        "-1,2,3", "NaN,2,3", "inf,2,3", "1,-2,3", "1,2,3.5", "1,,3", "1,2", "1,2,3,4",
    ] {
        assert!(message(line).starts_with(":3: "), "{}", message(line));
    }
}

#[test]
fn one_experiment_is_picked() {
    let text = "experiment,arrival_ms,prompt_tokens,output_tokens\na,0,1,1\nb,0,2,1\na,1,3,1\n";
    let message = requests(text, &[]).unwrap_err();
    assert!(message.contains("2 values (a, b)"), "{message}");
    assert_eq!(requests(text, &["experiment=a"]).unwrap().len(), 2);
    let message = requests(text, &["experiment=c"]).unwrap_err();
    assert!(message.ends_with("column experiment has a, b"), "{message}");
    let message = requests(text, &["experment=a"]).unwrap_err();
    assert!(
        message.ends_with(
            "no column experment (nearest: experiment); use one of experiment, arrival_ms, \
             prompt_tokens, output_tokens"
        ),
        "{message}"
    );
}

const HEADER: &str = "arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens";

#[test]
fn blank_lines_count_in_line_numbers() {
    for [end, line] in [["\n", "5"], ["\r\n", "5"], ["\r", "5"]] {
        for row in ["10,100", "10,x,5,0"] {
            let lines = [HEADER, "0,100,5,0", "", "", row];
            let message = requests(&lines.join(end), &[]).unwrap_err();
            assert!(message.starts_with(&format!(":{line}: ")), "{message}");
        }
    }
    let message = requests("\n\nfirst,second\n1,2\n", &[]).unwrap_err();
    assert!(message.starts_with(":3: no column"), "{message}");
    let quoted = "note,arrival_ms,prompt_tokens,output_tokens\n\"a\nb\",0,1,1\n\nc,0,x,1\n";
    let message = requests(quoted, &[]).unwrap_err();
    assert!(message.starts_with(":5: prompt_tokens"), "{message}");
}

#[test]
fn a_missing_column_is_not_one_that_is_needed_for_something_else() {
    let message = requests("arrival_ms,prompt_tokens\n0,1\n", &[]).unwrap_err();
    assert_eq!(
        message,
        ":1: no column output_tokens, found arrival_ms, prompt_tokens; expected arrival_ms, \
         prompt_tokens, output_tokens[, cached_prompt_tokens]"
    );
    let message = requests("arrival_ms,prompt_tokens,output\n0,1,1\n", &[]).unwrap_err();
    assert_eq!(message, ":1: no column output_tokens; rename output?");
}

#[test]
fn a_file_without_a_header_or_rows_is_refused() {
    let rowless = format!("{HEADER}\n");
    assert!(requests(&rowless, &[]).unwrap_err().contains("no rows"));
    for empty in ["", "\n\r\n", " \n", "\u{feff}"] {
        let message = requests(empty, &[]).unwrap_err();
        assert!(message.starts_with(": the file is empty"), "{message}");
    }
}

#[test]
fn other_separators_are_named() {
    for (separator, name) in [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")] {
        let text = format!("{HEADER}\n0,1,1,0\n").replace(',', separator);
        let message = requests(&text, &[]).unwrap_err();
        let expected = format!(":1: expected columns separated by commas, found {name}");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[test]
fn a_column_that_occurs_twice_is_refused() {
    let message = requests(&format!("{HEADER},arrival_ms\n0,1,1,0,5\n"), &[]).unwrap_err();
    assert!(
        message.starts_with(":1: expected one column arrival_ms, found several"),
        "{message}"
    );
    let nameless = requests(&format!("{HEADER},,\n0,1,1,0,,\n"), &[]);
    assert_eq!(nameless.map(|requests| requests.len()), Ok(1));
}

#[test]
fn more_cached_than_there_is_and_arrivals_beyond_the_clock_are_refused() {
    let message = |row: &str| requests(&format!("{HEADER}\n{row}\n"), &[]).unwrap_err();
    assert_eq!(
        message("0,100,5,101"),
        ":2: cached_prompt_tokens: expected at most prompt_tokens (100), found \"101\"; correct \
         this line"
    );
    for arrival in ["9223372036855", "1e300"] {
        assert_eq!(
            message(&format!("{arrival},100,5,0")),
            format!(
                ":2: arrival_ms: expected at most 9223372036854 milliseconds, found \
                 \"{arrival}\"; correct this line"
            )
        );
    }
    let most = format!("{HEADER}\n9223372036854,100,5,100\n");
    assert!(requests(&most, &[]).is_ok());
}

pub(crate) const QUOTED: &str =
    "note,arrival_ms,prompt_tokens,output_tokens\n\"a, \"\"b\"\"\nc\",\"0\",1,2\nd,5,3,4\n";

#[test]
fn quotes_change_nothing() {
    let plain = trace(QUOTED).unwrap();
    assert_eq!(plain.format, Format::Own);
    assert_eq!(plain.requests.len(), 2);
}

#[test]
fn arrivals_stay_as_they_are() {
    let text = "arrival_ms,prompt_tokens,output_tokens\n30,1,1\n10,0,1\n10,1,0\n";
    let requests = requests(text, &[]).unwrap();
    let arrivals: Vec<u64> = requests.iter().map(|request| request.arrival_ns).collect();
    assert_eq!(arrivals, [30_000_000, 10_000_000, 10_000_000]);
}

#[test]
fn priorities_are_whole_numbers() {
    let with = |priority: &str| {
        let header = "arrival_ms,prompt_tokens,output_tokens,priority";
        requests(&format!("{header}\n0,1,1,{priority}\n"), &[])
    };
    assert_eq!(with("7").unwrap()[0].priority, 7);
    for wrong in ["-1", "1.5", "high", ""] {
        assert_eq!(
            with(wrong).unwrap_err(),
            format!(
                ":2: priority: expected a whole number, 0 or more, found \"{wrong}\"; correct this line"
            )
        );
    }
}

const TEXTS: &str = "arrival_ms,prompt_tokens,output_tokens,prefix_id,prefix_tokens,session_id";

fn contents(rows: &[&str]) -> Vec<Content> {
    let requests = requests(&format!("{TEXTS}\n{}\n", rows.join("\n")), &[]).unwrap();
    requests.iter().map(|request| request.content).collect()
}

#[test]
fn prefixes_and_sessions_say_what_is_shared() {
    let rows = [
        "0,100,5,system,40,",
        "0,100,5,system,40,",
        "0,100,5,other,40,ann",
        "0,100,5,,,ann",
        "0,100,5,,0,",
    ];
    let texts = contents(&rows).into_iter().map(|content| match content {
        Content::Texts {
            prefix,
            prefix_tokens,
            own,
        } => Some((prefix, prefix_tokens, own)),
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
fn prefixes_that_make_no_sense_are_refused() {
    let refused = |row: &str| requests(&format!("{TEXTS}\n{row}\n"), &[]).unwrap_err();
    assert_eq!(
        refused("0,100,5,system,101,"),
        ":2: prefix_tokens: expected at most prompt_tokens (100), found \"101\"; correct this line"
    );
    assert_eq!(
        refused("0,100,5,,7,"),
        ":2: prefix_tokens: expected 0 or nothing without a prefix_id, found \"7\"; correct this line"
    );
    assert!(refused("0,100,5,system,,").contains("prefix_tokens: expected a whole number"));
    let text = "arrival_ms,prompt_tokens,output_tokens,prefix_id\n0,1,1,a\n";
    assert!(message(text).starts_with(":1: no column prefix_tokens, found arrival_ms"));
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
    assert_eq!(
        message(&bytes),
        "line 3: expected 3 fields, found 2; correct this line"
    );
}

#[test]
fn a_message_stays_on_one_line_and_short() {
    let cell = "x".repeat(1000);
    let text = format!("arrival_ms,prompt_tokens,output_tokens\n0,\"a\n{cell}\",1\n");
    let message = message(&text);
    assert!(
        message.contains(r"a\nxxx") && message.contains("xxx...\";"),
        "{message}"
    );
    assert!(message.len() < 200 && !message.contains('\n'), "{message}");
}
