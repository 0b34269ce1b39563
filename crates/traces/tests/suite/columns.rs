//! Files in no known format, whose columns or keys the user names.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use std::fmt::Write;

use rooflut::sim::{Content, Request};
use rooflut_traces::{ColumnNames, Condition, Format, Options, read};

use crate::support::{Trace, collect, named, trace};

fn trace_by(columns: &str, text: &str) -> Result<Trace, String> {
    let columns: ColumnNames = columns.parse().unwrap();
    named(collect(text.as_bytes(), &Options { columns: Some(&columns), ..Options::default() }))
}

/// Returns the arrivals in microseconds.
fn arrivals_us(columns: &str, text: &str) -> Vec<u64> {
    let trace = trace_by(columns, text).unwrap();
    // A number of seconds since 1970 is read to 0.2 us.
    trace.requests.iter().map(|request| (request.arrival_ns + 500) / 1000).collect()
}

const NAMES: &str = "arrival=sent,prompt=in,output=out";

#[test]
fn each_field_comes_from_the_column_of_its_name() {
    let text = "user,out,sent,in,hit,class,model\nann,7,1.5,100,64,2,big\nbob,8,2.5,200,0,0,big\n";
    let all = "arrival=sent,prompt=in,output=out,cached=hit,priority=class,session=user";
    let trace = trace_by(all, text).unwrap();
    assert_eq!((trace.format, trace.ignored.as_slice()), (Format::Columns, &["model".to_owned()][..]));
    let [first, second] = trace.requests[..] else {
        panic!("{trace:?}");
    };
    let expected = Request::new(100, 7).with_cached_prompt_tokens(64).with_priority(2);
    assert_eq!(first.with_content(Content::Unique), expected);
    assert_eq!(second.with_content(Content::Unique), Request::new(200, 8).at_ns(1_000_000_000));
    assert_ne!(first.content, second.content, "sessions");
    assert!(trace_by(NAMES, text).unwrap().requests.iter().all(|request| request.content == Content::Unique));
}

#[test]
fn prefixes_are_read_as_those_of_the_own_csv() {
    let rows = "0,100,5,system,40\n1,100,5,,0\n";
    let own = trace(&format!("arrival_ms,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n{rows}")).unwrap();
    let columns = "arrival=t:ms,prompt=in,output=out,prefix=text,prefix_tokens=shared";
    let named = trace_by(columns, &format!("t,in,out,text,shared\n{rows}")).unwrap();
    assert_eq!(own.requests, named.requests);
}

#[test]
fn arrivals_are_in_the_unit_that_is_given_or_that_of_the_name_or_seconds() {
    for (column, number, us) in [
        ("sent", "2.5", 2_500_000),
        ("sent:s", "2.5", 2_500_000),
        ("sent:ms", "2.5", 2_500),
        ("sent:us", "2.4", 2),
        ("sent:ns", "2400", 2),
        ("sent_ms", "2.5", 2_500),
        ("Sent_US", "2", 2),
        ("sent_ms:s", "2.5", 2_500_000),
    ] {
        let name = column.split(':').next().unwrap();
        let text = format!("{name},in,out\n0,1,1\n{number},1,1\n");
        assert_eq!(arrivals_us(&format!("arrival={column},prompt=in,output=out"), &text), [0, us], "{column}");
    }
}

#[test]
fn unix_times_and_dates_count_from_the_earliest() {
    let times = [
        ("sent", ["1741600001.25", "1741600000"]),
        ("sent:ms", ["1741600001250", "1741600000000"]),
        ("sent:us", ["1741600001250000", "1741600000000000"]),
        ("sent:ns", ["1741600001250000000", "1741600000000000000"]),
        ("sent", ["2025-03-10T09:46:41.25Z", "2025-03-10T10:46:40+01:00"]),
        ("sent", ["2025-03-10 09:46:41.250", "2025-03-10 09:46:40"]),
    ];
    for (column, [late, early]) in times {
        let columns = format!("arrival={column},prompt=in,output=out");
        let csv = format!("sent,in,out\n{late},1,1\n{early},1,1\n");
        assert_eq!(arrivals_us(&columns, &csv), [1_250_000, 0], "{column} {late}");
        let mut json = String::new();
        for time in [late, early] {
            let time = if time.contains('-') { format!("\"{time}\"") } else { time.to_owned() };
            writeln!(json, "{{\"sent\": {time}, \"in\": 1, \"out\": 1}}").unwrap();
        }
        assert_eq!(arrivals_us(&columns, &json), [1_250_000, 0], "{column} {late}");
    }
}

#[test]
fn a_date_is_no_number_of_the_given_unit_and_an_unknown_unit_is_a_part_of_the_name() {
    let dates = "sent,in,out\n2025-03-10 09:46:40,1,1\n";
    let message = trace_by("arrival=sent:s,prompt=in,output=out", dates).unwrap_err();
    assert!(message.starts_with("line 2: sent: expected seconds"), "{message}");
    let message = trace_by("arrival=sent:min,prompt=in,output=out", dates).unwrap_err();
    assert!(message.starts_with("columns: no column sent:min (nearest: sent, in)"), "{message}");
}

#[test]
fn keys_of_json_are_read_as_columns_are() {
    let csv = "sent,in,out,hit\n3,100,7,64\n1,50,8,0\n";
    let lines = "{\"sent\": 3, \"in\": 100, \"use\": {\"out\": 7}, \"hit\": 64}\n\
                 {\"use\": {\"out\": \"8\"}, \"in\": 50, \"sent\": 1, \"hit\": null}\n";
    let list = format!("[{}]", lines.trim().replace('\n', ","));
    let expected = trace_by(&format!("{NAMES},cached=hit"), csv).unwrap().requests;
    for json in [lines, &list] {
        let trace = trace_by("arrival=sent,prompt=in,output=use.out,cached=hit", json).unwrap();
        assert_eq!((trace.format, trace.requests), (Format::Keys, expected.clone()));
    }
}

#[test]
fn rows_are_selected_by_columns_of_any_name() {
    let text = "sent,in,out,model\n0,1,1,big\n1,2,1,small\n2,3,1,big\n";
    let columns: ColumnNames = NAMES.parse().unwrap();
    let conditions: [Condition; 1] = ["model=big".parse().unwrap()];
    let options = Options { columns: Some(&columns), conditions: &conditions, ..Options::default() };
    assert_eq!(collect(text.as_bytes(), &options).unwrap().requests.len(), 2);
}

#[test]
fn a_file_in_a_known_format_is_read_by_the_given_names() {
    let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n";
    let trace = trace_by("arrival=TIMESTAMP,prompt=GeneratedTokens,output=ContextTokens", text).unwrap();
    assert_eq!(trace.requests, [Request::new(44, 374)]);
}

#[test]
fn a_format_and_names_exclude_each_other() {
    let columns: ColumnNames = NAMES.parse().unwrap();
    let both = Options { columns: Some(&columns), format: Some(Format::Own), ..Options::default() };
    let neither = Options { format: Some(Format::Keys), ..Options::default() };
    for options in [both, neither] {
        let error = read("sent,in,out\n0,1,1\n".as_bytes(), &options).unwrap_err();
        assert!(error.keys().contains(&"columns"), "{error}");
    }
}
