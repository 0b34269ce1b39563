//! What is compiled in is what `bench_data/fingerprints.csv` says: nothing was lost on the way from
//! the CSV files into the binary. (The code generator's tests compare that file with the data.)

use std::fmt::Debug;

use rooflut::table::{Curve, Grid, KernelTable, TableSet, sets};

const COMMITTED: &str = include_str!("../bench_data/fingerprints.csv");

/// Collects a table's points in ascending order, as the fingerprint takes them.
struct Points {
    hash: u64,
    latencies: Vec<f32>,
}

impl Points {
    fn new() -> Points {
        Points {
            hash: 0xcbf2_9ce4_8422_2325,
            latencies: Vec::new(),
        }
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
        format!(
            "{set},{table},{rows},{bytes},{min},{max},{:016x}",
            self.hash
        )
    }
}

fn curves<S: Debug>(set: &str, file: &str, table: &KernelTable<S, Curve<'static>>) -> String {
    let mut points = Points::new();
    for entry in table.entries {
        points.feed(format!("{:?}", entry.shape).as_bytes());
        let axis = entry.points.axis().values();
        for (value, latency_us) in axis.iter().zip(entry.points.latency_us()) {
            points.point(*value, 1, *latency_us);
        }
    }
    points.line(set, file, 1)
}

fn grids<S: Debug>(set: &str, file: &str, table: &KernelTable<S, Grid<'static>>) -> String {
    let mut points = Points::new();
    for entry in table.entries {
        points.feed(format!("{:?}", entry.shape).as_bytes());
        let grid = &entry.points;
        for (row, batch) in grid.batch().values().iter().enumerate() {
            for (column, length) in grid.length().values().iter().enumerate() {
                if let Some(latency_us) = grid.latency_us(row, column) {
                    points.point(*batch, *length, latency_us);
                }
            }
        }
    }
    points.line(set, file, 2)
}

fn lines(set: &TableSet) -> Vec<String> {
    let name = set.name;
    let lines = [
        set.gemm
            .as_ref()
            .map(|table| curves(name, "gemm.csv", table)),
        set.prefill
            .as_ref()
            .map(|table| grids(name, "attention_prefill.csv", table)),
        set.decode
            .as_ref()
            .map(|table| grids(name, "attention_decode.csv", table)),
        set.allreduce
            .as_ref()
            .map(|table| curves(name, "allreduce.csv", table)),
        set.moe.as_ref().map(|table| curves(name, "moe.csv", table)),
    ];
    lines.into_iter().flatten().collect()
}

#[test]
fn the_compiled_tables_have_the_committed_fingerprints() {
    for set in sets::ALL {
        let committed: Vec<_> = COMMITTED
            .lines()
            .filter(|line| line.split(',').next() == Some(set.name))
            .collect();
        assert_eq!(lines(set), committed);
    }
}

#[test]
fn every_shape_is_found_by_its_key() {
    for set in sets::ALL {
        if let Some(table) = &set.gemm {
            for entry in table.entries {
                assert_eq!(table.find(&entry.shape).unwrap().shape, entry.shape);
            }
        }
        for table in [&set.prefill, &set.decode].into_iter().flatten() {
            for entry in table.entries {
                assert_eq!(table.find(&entry.shape).unwrap().shape, entry.shape);
            }
        }
        if let Some(table) = &set.moe {
            for entry in table.entries {
                assert_eq!(table.find(&entry.shape).unwrap().shape, entry.shape);
            }
        }
        if let Some(table) = &set.allreduce {
            for entry in table.entries {
                assert_eq!(table.find(&entry.shape).unwrap().shape, entry.shape);
            }
        }
    }
}
