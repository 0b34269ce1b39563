//! Reading files: recognition of their kind, and errors.
#![allow(
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use crate::support::{HEADER, ROW, file, report, tallies};
use rooflut_error::Kind as ErrorKind;
use rooflut_validation::{FileReport, Kind, Metric, Predictor, Stage, embedded, read, validate};

fn refused(text: &str) -> String {
    let error = read("dir/f.csv", text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contents);
    error.to_string()
}

#[test]
fn the_embedded_files_are_read_and_every_row_is_predicted() {
    let datasets = embedded().unwrap();
    let (first, more) = datasets.split_at(Kind::ALL.len());
    assert!(first.iter().map(|dataset| dataset.kind).eq(Kind::ALL));
    assert!(first.iter().all(|dataset| dataset.file == dataset.kind.file()));
    assert!(
        more.iter().map(|dataset| dataset.file.as_str()).eq(["servers_inferencex.csv", "fleets_llama70b_h100.csv"])
    );
    for dataset in datasets {
        let predictor = Predictor { longest_stage_s: 2.0, ..Predictor::default() };
        let report = validate(&dataset, &predictor);
        // Their own tests count the rows of models and formats that are not known.
        if matches!(dataset.kind, Kind::ClosedLoops | Kind::EngineSteps | Kind::Memory) {
            continue;
        }
        assert_eq!(report.cases.len(), report.rows, "{}", report.file);
        assert!(report.skipped.is_empty() && report.notes.is_empty(), "{report:?}");
    }
}

#[test]
fn columns_come_in_any_order_and_others_are_ignored() {
    let mut columns: Vec<&str> = HEADER.split(',').collect();
    let mut cells: Vec<&str> = ROW.split(',').collect();
    columns.reverse();
    cells.reverse();
    columns.insert(2, "note");
    cells.insert(2, "x");
    let turned = format!("{}\n{}\n", columns.join(","), cells.join(","));
    assert_eq!(report(&turned), report(&file(&[ROW])));
}

#[test]
fn line_ends_a_byte_order_mark_and_spaces_do_not_matter() {
    let plain = report(&file(&[ROW, ROW]));
    assert_eq!(report(&file(&[ROW, ROW]).replace('\n', "\r\n")), plain);
    assert_eq!(report(&file(&[ROW, ROW]).replace(',', " , ")), plain);
    assert_eq!(report(&format!("\u{feff}{}", file(&[ROW, ROW]))), plain);
    assert_eq!(report(file(&[ROW, ROW]).trim_end()), plain);
}

#[test]
fn empty_lines_and_lines_of_commas_are_skipped() {
    let plain = report(&file(&[ROW, ROW]));
    for empty in ["", "\r", ",,,,,,,", " , ,,,,,,", ",,,"] {
        let mut found = report(&file(&[ROW, empty, ROW, empty]));
        let lines: Vec<u64> = found.cases.iter().map(|case| case.label.line).collect();
        assert_eq!(lines, [2, 4], "{empty}");
        found.cases[1].label.line = 3;
        assert_eq!(found, plain, "{empty}");
    }
    assert!(refused(&file(&[",,,,,,,"])).starts_with("dir/f.csv: no rows"));
}

#[test]
fn cells_with_a_missing_value_are_empty() {
    let header = HEADER.replace("tp,", "tp,dtype,");
    let with = |engine: &str, dtype: &str, step: &str| {
        let row = format!("d,h100,llama-3.1-8b,1,{dtype},{engine},48,700,{step}");
        report(&format!("{header}\n{row}\n"))
    };
    for missing in ["nan", "NaN", "NA", "null"] {
        let empty = with("", "", "8");
        assert_eq!(with(missing, missing, "8"), empty, "{missing}");
        assert_eq!(empty.cases.len(), 1);
        let skipped = with("", "", missing).skipped;
        assert_eq!(tallies(&skipped), [("nothing was measured", 1)]);
    }
}

#[test]
fn optional_cells_may_be_empty_and_whole_numbers_may_have_a_point() {
    let header = "id,stage,gpu,model,dtype,tp,engine,max_model_len,max_num_seqs,\
                  max_num_batched_tokens,gpu_memory_utilization,kv_blocks,prefix_caching,arrival,\
                  rate_rps,duration_s,prompt_tokens,cached_prompt_tokens,output_tokens,ttft_mean_ms,\
                  tpot_mean_ms,e2e_mean_ms";
    let stage = |limits: &str, measured: &str| {
        let row = format!("a,1,h100,llama-3.1-8b,,1,vllm-0.15.1,{limits},constant,2,5,100,,10");
        report(&format!("{header}\n{row},{measured}\n"))
    };
    let empty = stage(",,,,,", "30,,300");
    let spelled = stage("131072,128.0,2048,0.9,,1", "30,,300");
    assert_eq!(empty, spelled);
    let [case] = &empty.cases[..] else {
        panic!("{empty:?}");
    };
    assert_eq!(case.label.stage, Stage::Number(1));
    let metrics: Vec<Metric> = case.comparisons.iter().map(|c| c.metric).collect();
    assert_eq!(metrics, [Metric::Ttft, Metric::E2e]);
    assert_eq!(tallies(&stage(",,,,,", ",,").skipped), [("nothing was measured", 1)]);
    // A KV cache too small for a request is taken at its word.
    assert_eq!(
        tallies(&stage(",,,,3,", "30,,300").skipped),
        [("llama-3.1-8b on h100, tp 1: prompt and output are longer than max_model_len (48)", 1)]
    );
}

#[test]
fn the_order_of_the_rows_does_not_show_in_the_summaries() {
    let rows: Vec<String> = (1..40)
        .map(|i| format!("d,h100,llama-3.1-8b,1,vllm-0.15.1,{i},700,{}", 7.3 + 0.1 * f64::from(i % 7)))
        .collect();
    let mut rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let before = report(&file(&rows));
    rows.reverse();
    rows.swap(3, 20);
    let after = report(&file(&rows));
    assert_eq!(after.summaries, before.summaries);
    let key = |report: &FileReport| {
        let cases = report.cases.iter();
        let mut all: Vec<String> = cases.map(|c| format!("{:?} {:?}", c.setting, c.comparisons)).collect();
        all.sort();
        all
    };
    assert_eq!(key(&after), key(&before));
}

#[test]
fn requests_of_a_run_may_be_in_any_order() {
    let header = "experiment,gpu,model,tp,engine,shared_prefix_tokens,arrival_ms,prompt_tokens,\
                  output_tokens,ttft_ms,tpot_ms,e2e_ms";
    let mut rows: Vec<String> = (0..20)
        .map(|i| format!("r,h100,llama-3.1-8b,1,vllm-0.11.0,128,{},{},30,20,5,300", i * 15, 200 + i * 40))
        .collect();
    let predictions = |rows: &[String]| {
        let report = report(&format!("{header}\n{}\n", rows.join("\n")));
        let cases = report.cases.iter();
        let mut all: Vec<String> = cases.map(|c| format!("{:?} {:?}", c.setting, c.comparisons)).collect();
        all.sort();
        (all, report.summaries)
    };
    let before = predictions(&rows);
    rows.rotate_left(7);
    rows.swap(0, 11);
    assert_eq!(predictions(&rows), before);
}

#[test]
fn errors_have_the_line_of_the_file() {
    let wrong = file(&[ROW, "", &ROW.replace(",48,", ",many,")]);
    assert!(refused(&wrong).starts_with("dir/f.csv:4: decode_requests"));
    assert!(refused("\n\r\n").starts_with("dir/f.csv: the file is empty"));
    let bytes = file(&[ROW]).replace("llama", "ll\u{e4}ma").into_bytes();
    let latin: Vec<u8> = bytes.into_iter().filter(|byte| *byte != 0xc3).collect();
    let message = read("f.csv", latin).unwrap_err().to_string();
    assert!(message.starts_with("f.csv:2: expected UTF-8 text"), "{message}");
}
