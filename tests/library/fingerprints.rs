//! The compiled tables match `bench_data/fingerprints.csv`: nothing was lost between the CSV files and
//! the binary. (The code generator's tests compare that file with the data.)

use rooflut::hardware::OperationKind;
use rooflut::table::{Curve, Grid, TableSet, sets};
use rooflut_roofline::operation::Codes;
use rooflut_roofline::operation::Operation;

const COMMITTED: &str = include_str!("../../bench_data/fingerprints.csv");

/// Collects the points of a table in the ascending order of the fingerprint.
struct Points {
    hash: u64,
    latencies: Vec<f32>,
}

impl Points {
    fn new() -> Points {
        Points { hash: 0xcbf2_9ce4_8422_2325, latencies: Vec::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn point(&mut self, first: u32, second: u32, latency_us: f32) {
        self.feed(&first.to_le_bytes());
        self.feed(&second.to_le_bytes());
        self.feed(&latency_us.to_le_bytes());
        self.latencies.push(latency_us);
    }

    fn line(&self, set: &str, table: &str, axes: usize) -> String {
        let rows = self.latencies.len();
        let min = self.latencies.iter().copied().fold(f32::INFINITY, f32::min);
        let max = self.latencies.iter().copied().fold(0.0, f32::max);
        let bytes = 4 * rows * (axes + 2);
        format!("{set},{table},{rows},{bytes},{min},{max},{:016x}", self.hash)
    }
}

/// Displays a shape by its type.
struct Shown(&'static Operation, Codes);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0.debug)(&self.1, f)
    }
}

fn points(set: &TableSet, operation: OperationKind) -> Points {
    let mut points = Points::new();
    let table = set.table(operation).unwrap();
    let shown = |shape| Shown(operation.declared(), shape).to_string();
    if operation.declared().axes.len() == 1 {
        for entry in table.typed::<Codes, Curve<'_>>().entries() {
            points.feed(shown(entry.shape).as_bytes());
            let axis = entry.points.axis().values();
            for (value, latency_us) in axis.iter().zip(entry.points.latency_us()) {
                points.point(*value, 1, *latency_us);
            }
        }
        return points;
    }
    for entry in table.typed::<Codes, Grid<'_>>().entries() {
        points.feed(shown(entry.shape).as_bytes());
        let grid = entry.points;
        for (row, batch) in grid.batch().values().iter().enumerate() {
            for (column, length) in grid.length().values().iter().enumerate() {
                if let Some(latency_us) = grid.latency_us(row, column) {
                    points.point(*batch, *length, latency_us);
                }
            }
        }
    }
    points
}

fn lines(set: &TableSet) -> Vec<String> {
    let operations = set.tables().map(|table| table.operation());
    let line = |operation: OperationKind| {
        let (file, axes) = (operation.declared().file, operation.declared().axes.len());
        points(set, operation).line(set.name(), file, axes)
    };
    operations.map(line).collect()
}

#[test]
fn the_compiled_tables_have_the_committed_fingerprints() {
    for set in sets::ALL {
        let committed: Vec<_> = COMMITTED.lines().filter(|line| line.split(',').next() == Some(set.name())).collect();
        assert_eq!(lines(set), committed);
    }
}
