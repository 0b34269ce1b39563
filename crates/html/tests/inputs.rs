//! Outputs of commands as inputs of a report.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a helper of tests fails as tests do")]

use std::io::Write as _;

use base64::Engine as _;
use miniz_oxide::inflate::decompress_to_vec;
use proptest::prelude::*;
use rooflut_html::{Document, FIRST_LINE, Input, Kind, RowSink};
use rooflut_report::{RequestsCsv, StepsCsv, Window};
use serde_json::Value;

/// The data that the front end reads.
fn data(document: &Document) -> Value {
    let html = html(document);
    let (_, behind) = html.split_once("<script type=\"application/json\" id=\"inputs\">").unwrap();
    let (json, _) = behind.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn html(document: &Document) -> String {
    let mut file = Vec::new();
    document.write(&mut file).unwrap();
    String::from_utf8(file).unwrap()
}

fn shown(input: Input) -> Value {
    data(&Document::new(vec![input]))["inputs"][0].clone()
}

fn rows(input: &Value) -> String {
    let deflated = base64::engine::general_purpose::STANDARD.decode(input["deflate"].as_str().unwrap()).unwrap();
    String::from_utf8(decompress_to_vec(&deflated).unwrap()).unwrap()
}

fn message(text: &str) -> String {
    Input::read("it", text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn answers_are_recognised_by_their_keys() {
    for (keys, kind) in [
        (r#""load": {}, "ttft_ms": {}, "throughput": {}, "limits": null"#, Kind::Run),
        (r#""total_ms": 1, "part_details": {}"#, Kind::Step),
        (r#""deployments": [], "limits": []"#, Kind::Plan),
        (r#""plans": []"#, Kind::PlanRates),
        (r#""saturation": null, "knee": null, "limits": []"#, Kind::Saturate),
        (r#""users": 3, "max_users": 8, "limits": []"#, Kind::SaturateUsers),
        (r#""a": {}, "b": {}, "settings": [], "figures": []"#, Kind::Compare),
        (r#""rows": [], "summary": [], "coverage": []"#, Kind::Validate),
    ] {
        let text = format!("\u{feff} {{\"schema_version\": 1, {keys}}}");
        let input = Input::read("it", text.as_bytes()).unwrap();
        assert_eq!(input.kind(), kind, "{keys}");
        assert_eq!(shown(input)["kind"], kind.name());
    }
}

#[test]
fn rows_are_recognised_by_their_columns_and_kept_whole() {
    let mut windows = Vec::new();
    Window::write_csv(&[], &mut windows).unwrap();
    let requests = RequestsCsv::new(Vec::new()).finish().unwrap();
    let steps = StepsCsv::new(Vec::new()).finish().unwrap();
    for (columns, kind) in [(requests, Kind::Requests), (steps, Kind::Steps), (windows, Kind::Windows)] {
        let columns = String::from_utf8(columns).unwrap();
        let row = vec!["1"; columns.split(',').count()].join(",");
        let text = format!("{columns}{row}\n{row}\n");
        let input = Input::read("it.csv", text.as_bytes()).unwrap();
        assert_eq!(input.kind(), kind);
        let input = shown(input);
        assert_eq!((&input["rows"], rows(&input)), (&2.into(), text));
    }
}

#[test]
fn the_rows_of_a_sweep_have_their_front() {
    let text = "index,grid,schema_version,rate,gpus,overloaded,tokens_per_s_per_user,output_tokens_per_s_per_gpu\n\
                0,x,1,2,4,false,100,20\n1,x,1,4,4,false,90,10\n2,x,1,8,4,false,50,40\n";
    let input = shown(Input::read("sweep.csv", text.as_bytes()).unwrap());
    assert_eq!(input["pareto"], serde_json::json!([2, 0]));
    // Without these columns there is none.
    let text = "index,grid,schema_version,rate,gpus\n0,x,1,2,4\n";
    assert_eq!(shown(Input::read("sweep.csv", text.as_bytes()).unwrap())["pareto"], serde_json::json!([]));
}

#[test]
fn what_no_command_of_this_version_writes_is_refused() {
    assert!(message("").contains("found nothing"));
    assert!(message("{").contains("JSON"));
    assert!(message("[1]").contains("rooflut-lab validate --json"));
    assert!(message(r#"{"schema_version": 1, "gpus": []}"#).contains("found other JSON"));
    assert_eq!(
        message(r#"{"schema_version": 2, "plans": []}"#),
        "schema_version: expected 1, found 2; write it again with this version"
    );
    assert!(message(r#"{"plans": []}"#).contains("found none"));
    assert!(message("a,b\n1,2\n").contains("rooflut sweep"));
    assert!(message("request,arrival_ms,tokens\n1,2,3\n").contains("rooflut run --requests-out"));
    let sweep = "index,grid,schema_version,rate,gpus\n0,x,1,2,4\n";
    assert_eq!(
        message(&format!("{sweep}1,x,2,4,4\n")),
        "line 3: schema_version: expected 1, found 2; run the sweep again with this version"
    );
    assert!(message(&format!("{sweep}1,x,1\n")).starts_with("line 3: expected 5 columns"));
}

#[test]
fn more_rows_than_a_report_holds_are_counted() {
    let columns = RequestsCsv::new(Vec::new()).finish().unwrap();
    let mut sink = RowSink::default();
    sink.write_all(&columns).unwrap();
    let count = columns.iter().filter(|byte| **byte == b',').count();
    let row = format!("{}\n", ",".repeat(count));
    let mut text = columns;
    for _ in 0..200_001 {
        sink.write_all(row.as_bytes()).unwrap();
        text.extend_from_slice(row.as_bytes());
    }
    let left_out = shown(sink.into_input("requests").unwrap());
    assert_eq!((&left_out["rows"], &left_out["max_rows"]), (&200_001.into(), &200_000.into()));
    assert_eq!(left_out["deflate"], Value::Null);
    assert_eq!(left_out, shown(Input::read("requests", text.as_slice()).unwrap()));
}

#[test]
fn markup_in_names_and_commands_is_text() {
    let text = r#"{"schema_version": 1, "model": "</script><b>", "gpu": "\u003ci>", "plans": []}"#;
    let input = Input::read("<u>&\"", text.as_bytes()).unwrap();
    let document = Document::new(vec![input]).with_command("rooflut '<s>'");
    let file = html(&document);
    for markup in ["<b>", "<i>", "<u>", "<s>"] {
        assert!(!file.contains(markup), "{markup}");
    }
    let data = data(&document);
    assert_eq!(data["command"], "rooflut '<s>'");
    assert_eq!(data["inputs"][0]["json"]["model"], "</script><b>");
    assert!(file.contains("<title>&lt;/script&gt;&lt;b&gt; on &lt;i&gt;</title>"));
}

#[test]
fn a_report_asks_for_nothing_and_is_recognised() {
    let file = html(&Document::new(Vec::new()));
    assert!(file.starts_with(FIRST_LINE));
    assert!(file.len() <= 250_000, "{}", file.len());
    assert!(file.contains("default-src 'none'"));
    for place in ["@TITLE@", "@STATIC@", "@INPUTS@", "src=\"http", "href=\"http"] {
        assert!(!file.contains(place), "{place}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_input_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), start in 0_usize..4) {
        let start = ["", "{\"plans\":", "index,grid,schema_version,rate,gpus\n", "request,arrival_ms"][start];
        let bytes = [start.as_bytes(), &bytes].concat();
        if let Ok(input) = Input::read("it", bytes.as_slice()) {
            shown(input);
        }
    }

    #[test]
    fn numbers_stay_as_they_are_written(number in any::<f64>().prop_filter("a number", |number| number.is_finite())) {
        let text = format!(r#"{{"schema_version": 1, "plans": [{number:e}, 0.10, 1E5]}}"#);
        let file = html(&Document::new(vec![Input::read("it", text.as_bytes()).unwrap()]));
        let kept = format!("[{number:e}, 0.10, 1E5]");
        prop_assert!(file.contains(&kept));
    }
}
