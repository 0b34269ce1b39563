//! Points of a sweep.

use rooflut_cli::SweepUnits;

use super::{check_message, is_line};

const MAX_POINTS: u64 = 100;

/// Reads the lines of `--points`, of which one sweep has at most [`MAX_POINTS`].
pub(super) fn points(bytes: &[u8]) {
    let arguments = ["rooflut".into(), "sweep".into(), format!("--max-points={MAX_POINTS}").into()];
    match SweepUnits::try_new(arguments, Some(bytes)) {
        Ok(units) => {
            let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            let is_open = bytes.last().is_some_and(|last| *last != b'\n');
            assert_eq!(units.points(), ends + u64::from(is_open));
            assert!(units.points() <= MAX_POINTS);
            units.check_size(MAX_POINTS, 1).unwrap();
            check_message(str::from_utf8(&units.csv_header()).unwrap().trim_end());
        }
        Err(error) => {
            let error = error.to_string();
            check_message(&error);
            // `points:3: …`, as a file is named.
            let line = error.strip_prefix("points:").and_then(|rest| rest.split(':').next()?.parse().ok());
            assert!(line.is_none_or(|line| is_line(bytes, line)), "{error}");
        }
    }
}
