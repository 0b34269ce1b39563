//! Parts of traces, and their speed.

use rooflut_traces::{Extent, Format, Options};

use crate::support::{Trace, collect, named, replayed};

const OWN: &str = "arrival_ms,prompt_tokens,output_tokens\n100,1,1\n400,2,1\n250,3,1\n1000,4,1\n";
const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
                     2023-11-16 18:15:46.0000000,1,1\n\
                     2023-11-16 18:15:46.5000000,2,1\n\
                     2023-11-16 18:15:47.0000000,3,1\n";

fn part(text: &str, requests: Option<u64>, duration_ms: Option<u64>) -> Result<Trace, String> {
    let extent = Extent { requests, duration_ns: duration_ms.map(|ms| ms * 1_000_000) };
    named(collect(text.as_bytes(), &Options { extent, ..Options::default() }))
}

fn prompts(trace: &Trace) -> Vec<u32> {
    trace.requests.iter().map(|request| request.prompt_tokens).collect()
}

#[test]
fn a_part_has_the_first_requests_of_the_file_that_arrive_within_its_time() {
    for (requests, duration_ms, expected) in [
        (None, None, &[1, 2, 3, 4][..]),
        (Some(3), None, &[1, 2, 3]),
        (Some(9), None, &[1, 2, 3, 4]),
        // From the start of the simulation, which is the 0 of this format.
        (None, Some(400), &[1, 3]),
        (None, Some(401), &[1, 2, 3]),
        (Some(2), Some(400), &[1]),
    ] {
        assert_eq!(prompts(&part(OWN, requests, duration_ms).unwrap()), expected);
    }
    // From the first arrival.
    let azure = part(AZURE, None, Some(501)).unwrap();
    assert_eq!((azure.format, prompts(&azure)), (Format::Azure, vec![1, 2]));
    let error = part(OWN, None, Some(100)).unwrap_err();
    assert!(error.contains("no request arrives within"), "{error}");
}

#[test]
fn requests_arrive_after_a_fraction_of_their_time_at_a_higher_speed() {
    let trace = rooflut_traces::read(OWN.as_bytes(), &Options::default()).unwrap();
    assert_eq!(trace.rate(), Some(4.0));
    let twice = trace.at_speed(2.0).unwrap();
    assert_eq!((twice.speed(), twice.rate()), (2.0, Some(8.0)));
    let arrivals = |speed| {
        let requests = replayed(&trace.at_speed(speed).unwrap());
        requests.into_iter().map(|request| request.arrival_ns).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(1.0), [100_000_000, 400_000_000, 250_000_000, 1_000_000_000]);
    assert_eq!(arrivals(2.0), [50_000_000, 200_000_000, 125_000_000, 500_000_000]);
    // To the nanosecond: 100 ms / 3.
    assert_eq!(arrivals(3.0), [33_333_333, 133_333_333, 83_333_333, 333_333_333]);
    assert_eq!(arrivals(0.5), [200_000_000, 800_000_000, 500_000_000, 2_000_000_000]);
    assert!(trace.at_speed(0.0).is_err() && trace.at_speed(f64::NAN).is_err());
    assert!(trace.at_speed(1e-12).unwrap_err().to_string().contains("292 years"));
}
