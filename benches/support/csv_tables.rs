//! The predecessors' method as a baseline: rows in a `Vec`, tables in a `HashMap` by a string key that is
//! built for every lookup, rows collected and sorted per call, linear scans.

use std::collections::HashMap;

/// One row of a table: coordinates and MFU.
#[derive(Clone)]
struct Row {
    x: u32,
    y: u32,
    mfu: f64,
}

/// Tables as the predecessors hold them in memory; their file reads are not measured.
pub struct CsvTables {
    gemm: Vec<(u32, u32, Row)>,
    decode: HashMap<String, Vec<Row>>,
}

const PEAK: f64 = 989.5e12;

impl CsvTables {
    /// Reads the CSVs of the h100 set.
    pub fn read() -> CsvTables {
        let mut gemm = Vec::new();
        for fields in rows("bench_data/h100/gemm.csv") {
            if let [dtype, k, n, m, latency_us] = fields.as_slice()
                && dtype == "bf16"
            {
                let [k, n, m]: [u32; 3] = [k, n, m].map(|field| field.parse().expect("a number"));
                let seconds = latency_us.parse::<f64>().expect("a number") * 1e-6;
                let flops = 2.0 * f64::from(m) * f64::from(k) * f64::from(n);
                gemm.push((k, n, Row { x: m, y: 0, mfu: flops / seconds / PEAK }));
            }
        }
        let mut decode: HashMap<String, Vec<Row>> = HashMap::new();
        for fields in rows("bench_data/h100/attention_decode.csv") {
            if let [_, kv_dtype, q, kv, dim, _, batch, kv_len, latency_us] = fields.as_slice()
                && kv_dtype == "bf16"
            {
                let [batch, kv_len, heads]: [u32; 3] = [batch, kv_len, q].map(|field| field.parse().expect("a number"));
                let seconds = latency_us.parse::<f64>().expect("a number") * 1e-6;
                let mfu = decode_flops(heads, batch, f64::from(kv_len)) / seconds / PEAK;
                let key = format!("{q}-{kv}-{dim}");
                decode.entry(key).or_default().push(Row { x: batch, y: kv_len, mfu });
            }
        }
        CsvTables { gemm, decode }
    }

    /// Seconds of a GEMM by MFU, linear in m, at the nearest (k, n) that covers.
    pub fn gemm_seconds(&self, m: u32, k: u32, n: u32) -> f64 {
        let mut pairs: Vec<(u32, u32)> = self.gemm.iter().map(|row| (row.0, row.1)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let distance = |pair: &&(u32, u32)| (pair.0 - k).pow(2) + (pair.1 - n).pow(2);
        let covering = pairs.iter().filter(|pair| pair.0 >= k && pair.1 >= n);
        let pair = covering.min_by_key(distance).expect("a pair");
        let mut rows: Vec<Row> = self.gemm.iter().filter(|r| (r.0, r.1) == *pair).map(|r| r.2.clone()).collect();
        rows.sort_by_key(|row| row.x);
        let low = rows.iter().rev().find(|row| row.x <= m).unwrap_or(&rows[0]);
        let high = rows.iter().find(|row| row.x >= m).unwrap_or(&rows[rows.len() - 1]);
        let weight = if high.x > low.x { f64::from(m - low.x) / f64::from(high.x - low.x) } else { 0.0 };
        let mfu = low.mfu + (high.mfu - low.mfu) * weight;
        2.0 * f64::from(m) * f64::from(k) * f64::from(n) / (PEAK * mfu)
    }

    /// Seconds of decode attention of one request of a batch, 32 query and 8 KV heads, by MFU that is
    /// bilinear in (batch, KV length): axes collected and sorted, corners searched row by row.
    pub fn decode_seconds(&self, batch: u32, kv_len: u32) -> f64 {
        let key = format!("{}-{}-{}", 32, 8, 128);
        let rows = self.decode.get(&key).expect("measured");
        let axis = |pick: fn(&Row) -> u32| {
            let mut values: Vec<u32> = rows.iter().map(pick).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let around = |axis: &[u32], at: u32| {
            let low = *axis.iter().rev().find(|&&v| v <= at).unwrap_or(&axis[0]);
            let high = *axis.iter().find(|&&v| v >= at).unwrap_or(&axis[axis.len() - 1]);
            let span = f64::from(high.abs_diff(low)).max(1.0);
            (low, high, f64::from(at.abs_diff(low)) / span)
        };
        let (x0, x1, u) = around(&axis(|row| row.x), batch);
        let (y0, y1, v) = around(&axis(|row| row.y), kv_len);
        let corner = |x, y| {
            let row = rows.iter().find(|row| row.x == x && row.y == y);
            row.map_or(0.0, |row| row.mfu)
        };
        let low = corner(x0, y0) * (1.0 - v) + corner(x0, y1) * v;
        let high = corner(x1, y0) * (1.0 - v) + corner(x1, y1) * v;
        let mfu = (low * (1.0 - u) + high * u).max(1e-4);
        decode_flops(32, 1, f64::from(kv_len)) / (PEAK * mfu)
    }
}

fn decode_flops(heads: u32, batch: u32, kv_len: f64) -> f64 {
    4.0 * f64::from(heads) * 128.0 * f64::from(batch) * kv_len
}

fn rows(file: &str) -> Vec<Vec<String>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(path).expect("bench_data is here");
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}
