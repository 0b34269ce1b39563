//! Azure LLM inference traces.

use crate::support::{requests, shapes, trace, trace_as};
use rooflut_traces::{ArrivalSource, Format};

pub(crate) const OF_2023: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
                       2023-11-16 18:15:46.6800000,374,44\n\
                       2023-11-16 18:15:50.9950000,396,109\n\
                       2023-11-16 18:15:50.9950000,0,0\n";
const OF_2024: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
                       2024-05-10 00:00:00.009000+00:00,2162,5\n\
                       2024-05-10 00:00:01+00:00,2399,6\n\
                       2024-05-09 23:00:00.010000-01:00,1,1\n";

#[test]
fn times_of_both_years_count_from_the_earliest() {
    let trace = trace(OF_2023).unwrap();
    assert_eq!((trace.format, trace.arrivals), (Format::Azure, ArrivalSource::Recorded));
    assert_eq!(shapes(&trace), [(0, 374, 44), (4315, 396, 109), (4315, 0, 0)]);
    assert!(trace.left_out.is_empty() && trace.ignored.is_empty());
    let trace = crate::support::trace(OF_2024).unwrap();
    assert_eq!(shapes(&trace), [(0, 2162, 5), (991, 2399, 6), (1, 1, 1)]);
}

#[test]
fn rows_need_not_ascend() {
    let text = "GeneratedTokens,TIMESTAMP,ContextTokens\n\
                1,2024-05-10T00:00:02Z,10\n\
                2,2024-05-10 00:00:01,20\n";
    let trace = trace_as(Format::Azure, text).unwrap();
    assert_eq!(shapes(&trace), [(1000, 10, 1), (0, 20, 2)]);
}

#[test]
fn a_tenth_of_a_microsecond_counts() {
    let text = OF_2023.replace("50.9950000", "46.6805901");
    assert_eq!(trace(&text).unwrap().requests[1].arrival_ns, 590_100);
}

#[test]
fn quotes_change_nothing() {
    let plain = trace(OF_2023);
    let quoted = OF_2023.replace(",374,", "\" ,\"374\",");
    assert_eq!(trace(&quoted.replace("2023-11-16 18:15:46", "\"2023-11-16 18:15:46")), plain);
}

#[test]
fn conditions_pick_rows_and_the_earliest_of_them_is_zero() {
    let requests = requests(OF_2023, &["ContextTokens=396"]).unwrap();
    assert_eq!((requests.len(), requests[0].arrival_ns), (1, 0));
}
