//! Small files: engines, fleets, data sheets, lengths, prices.

use std::fs;
use std::path::Path;

use rooflut::table::Class;
use rooflut_calibrate::Record;
use rooflut_codegen::{Gpus, own_gpu};
use rooflut_scenario::{
    EngineFile, FileLengths, Fleet, GpuPrice, LengthRange, Output, Prices, ScenarioFile, Target, tables_of, unmeasured,
};
use rooflut_traces::Input;

use super::{check_error, check_message, folder, open};

/// Reads the file of an engine, as `rooflut calibrate` writes it; what is read is written and read again.
pub(super) fn engine(bytes: &[u8]) {
    match EngineFile::read(bytes) {
        Ok(file) => {
            let written = file.to_toml().unwrap();
            assert_eq!(EngineFile::read(written.as_bytes()).unwrap().to_toml().unwrap(), written);
            file.calibration.into_iter().for_each(calibration);
        }
        Err(error) => check_error(bytes, &error),
    }
    let mut target = Target::default();
    target.engine = Some("engine.toml".to_owned());
    match target.find_engine(&|_| Ok(Input::from(bytes))) {
        Ok(engine) => {
            engine.stack.check().unwrap();
            // Names in it are shown as a border shows them.
            assert!(engine.mismatch(&target).is_none_or(|remark| !remark.is_empty()));
        }
        Err(error) => check_error(bytes, &error),
    }
    target.engine = Some(String::from_utf8_lossy(bytes).into_owned());
    if target.engine_file().is_none() {
        match target.find_engine(&open) {
            Ok(engine) => engine.stack.check().unwrap(),
            Err(error) => check_message(&error.to_string()),
        }
    }
}

/// Reads the runs of a calibration, which are written and read again.
fn calibration(table: toml::Table) {
    if let Ok(record) = table.try_into::<Record>() {
        let written = toml::Table::try_from(&record).unwrap();
        assert_eq!(written.try_into::<Record>().unwrap().is_finite(), record.is_finite());
        let mut rows = record.residuals().into_iter();
        assert!(!record.is_finite() || rows.all(|row| row.slopes.iter().all(|slope| slope.is_finite())));
    }
}

/// Reads a fleet of servers.
pub(super) fn fleet(bytes: &[u8]) {
    match Fleet::read(bytes) {
        Ok(fleet) => {
            assert!(fleet.servers() > 0);
            let written = serde_json::to_value(&fleet).unwrap();
            assert_eq!(serde_json::from_value::<Fleet>(written).unwrap(), fleet);
        }
        Err(error) => check_error(bytes, &error),
    }
    // At a path of its own.
    let path = folder("fleet").join("fleet.toml");
    fs::write(&path, bytes).unwrap();
    match Fleet::open(path.to_str().unwrap()) {
        Ok(fleet) => assert_eq!(fleet.path(), Some(path.as_path())),
        Err(error) => check_error(bytes, &error),
    }
    // As a part of a scenario.
    if let Err(error) = ScenarioFile::read(bytes) {
        check_error(bytes, &error);
    }
}

/// Reads the data sheet of a GPU, and as the GPU of a table set.
pub(super) fn gpu(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let one = own_gpu("set.toml", &text).map(|gpu| drop([gpu].into_iter().collect::<Gpus>()));
    let others = [one, Gpus::parse(&text).map(drop)];
    others.into_iter().filter_map(Result::err).for_each(|error| check_message(&error.to_string()));
    for base in [None, Some("none"), Some("h200"), Some("h20")] {
        match tables_of(Path::new("gpu.toml"), bytes, base) {
            Ok(tables) => {
                let gpu = tables.gpu();
                let speeds = [gpu.bf16_flops_per_s, gpu.mem_bw_bytes_per_s, gpu.link_bytes_per_s];
                assert!(speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0), "{gpu:?}");
                assert_ne!(tables.class(), Class::Measured);
                let mut target = Target::default();
                (target.base, target.gpu) = (base.map(str::to_owned), Some("gpu.toml".to_owned()));
                assert_eq!(target.sheet(), Some(Path::new("gpu.toml")));
                check_message(&unmeasured(&tables, &target).unwrap());
            }
            Err(error) => check_error(bytes, &error),
        }
    }
}

/// Reads lengths of requests.
pub(super) fn lengths(bytes: &[u8]) {
    match FileLengths::read(bytes, LengthRange::ANY) {
        Ok(read) => {
            assert!(read.values > 0 && 1 <= read.shortest && read.shortest <= read.longest);
            // The mean is a sum of rounded numbers.
            let rounded = 1e-9 * read.mean;
            let (shortest, longest) = (f64::from(read.shortest), f64::from(read.longest));
            assert!((shortest - rounded..=longest + rounded).contains(&read.mean), "{read:?}");
        }
        Err(error) => check_error(bytes, &error),
    }
}

/// Reads prices of GPUs, and its first lines as prices beside a file.
pub(super) fn prices(bytes: &[u8]) {
    let mut output = Output::default();
    let text = String::from_utf8_lossy(bytes);
    let given: Vec<GpuPrice> = text.lines().take(3).filter_map(|line| line.parse().ok()).collect();
    (output.prices, output.price) = (Some("prices.toml".into()), Some(given).filter(|given| !given.is_empty()));
    if let Err(error) = Prices::try_open(&output, &["mine"], &|_| Ok(Input::from(bytes))) {
        check_message(&error.to_string());
    }
    match Prices::read(bytes, &["mine"]) {
        Ok(prices) => {
            let prices = Prices::try_built_in().unwrap().replaced_by(prices);
            for price in ["h100", "h200", "mine"].iter().filter_map(|gpu| prices.of(gpu)) {
                assert!((0.0001..=1e6).contains(&price.usd_per_gpu_hour));
                [&price.source, &price.date].into_iter().flatten().for_each(|text| check_message(text));
            }
        }
        Err(error) => check_error(bytes, &error),
    }
}
