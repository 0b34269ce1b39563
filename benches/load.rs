//! Reading a set at run time: the 4,000 rows of h100 from their folder.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros; benches may panic

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use rooflut::table::TableSet;

fn load(c: &mut Criterion) {
    // Renamed, because the compiled set has the name already.
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench_data/h100");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("h100-copy");
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap().replacen("name = \"h100\"", "name = \"h100-copy\"", 1);
        fs::write(copy.join(path.file_name().unwrap()), text).unwrap();
    }
    let mut group = c.benchmark_group("load");
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    group.bench_function("h100", |b| {
        b.iter(|| TableSet::try_load(black_box(&copy)).unwrap());
    });
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
