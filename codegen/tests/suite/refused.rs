//! Sets that codegen refuses and that `messages.txt` cannot show: folders, generated tables, bytes that are no text.

use crate::support::{DECODE, Fixture, GEMM, GPUS, bench_data};
use rooflut_codegen::{generate_builtin, read_set};

const ROW: &str = "bf16,512,512,16,10\n";

#[test]
fn a_folder_without_set_toml_is_refused() {
    assert_eq!(
        Fixture::gemm(ROW).without("set.toml").refusal(),
        "set: expected a set.toml beside the tables (GPU, engine stack, timing, t0, source, licence, \
         date), found none; add one as rooflut's bench_data/README.md describes"
    );
}

#[test]
fn a_folder_that_does_not_exist_is_refused() {
    let fixture = Fixture::new();
    for missing in ["sett", "set/sett.toml"] {
        let dir = fixture.dir().join("..").join(missing);
        let message = read_set(&dir, GPUS).err().unwrap().to_string();
        assert_eq!(
            message,
            format!(
                "{}: expected a table set (a folder with a set.toml, or one file made of it), found \
                 nothing there; check the path",
                dir.display()
            )
        );
    }
}

#[test]
fn a_table_that_is_a_folder_is_refused() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.dir().join("gemm.csv")).unwrap();
    let message = fixture.refusal();
    assert!(message.starts_with("set/gemm.csv: "), "{message}");
    assert!(message.ends_with("; check that the file is there and readable"), "{message}");
}

#[test]
fn two_sets_of_one_name_are_refused() {
    let fixture = Fixture::gemm(ROW);
    let gpus = fixture.dir().join("gpus.toml");
    std::fs::write(&gpus, GPUS).unwrap();
    let (first, second) = (fixture.dir(), fixture.dir().join("."));
    let error = generate_builtin(&gpus, &[&first, &second], |_, _| true).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: name: expected a name that no other set has, found \"set\", the name of {}; rename one \
             of the two sets",
            second.display(),
            first.display()
        )
    );
}

#[test]
fn text_that_is_not_utf8_is_refused_at_its_line() {
    let mut csv = format!("{GEMM}{ROW}").into_bytes();
    csv.extend(b"bf\xff16,512,512,32,10\n");
    assert_eq!(
        Fixture::new().file("gemm.csv", csv).refusal(),
        "set/gemm.csv:3: row: expected UTF-8 text, found \"bf\u{fffd}16,512,512,32,10\"; save the \
         file as UTF-8"
    );
}

#[test]
fn an_axis_has_at_most_32_points() {
    let rows = |count: u32| -> String { (1..=count).map(|m| format!("bf16,512,512,{m},10\n")).collect() };
    assert!(Fixture::gemm(&rows(32)).read().is_ok());
    assert_eq!(
        Fixture::gemm(&rows(33)).refusal(),
        "set/gemm.csv: m: expected at most 32 different values, found 33 for dtype bf16, k 512, n \
         512; thin them out"
    );
    let rows: String = (1..=33).map(|kv| format!("bf16,fp8,8,8,64,1,1,{kv},50\n")).collect();
    assert_eq!(
        Fixture::new().file("attention_decode.csv", format!("{DECODE}{rows}")).refusal(),
        "set/attention_decode.csv: kv_len: expected at most 32 different values, found 33 for dtype \
         bf16, kv_dtype fp8, q_heads 8, kv_heads 8, head_dim 64, tp 1; thin them out"
    );
}

#[test]
fn an_index_numbers_at_most_65536_shapes() {
    let rows: String = (1..=65537).map(|k| format!("bf16,{k},1,1,10\n")).collect();
    assert_eq!(
        Fixture::gemm(&rows).refusal(),
        "set/gemm.csv: expected at most 65536 different shapes, found 65537; split the set"
    );
}

/// The mistake that this check is for: the published table has no dtype column, and reading it as
/// 16-bit puts it above the H100's peak.
#[test]
fn the_fp8_table_relabelled_bf16_is_refused() {
    let source = bench_data().join("../laboratory/predecessors/h100-infersim");
    let gpus = std::fs::read_to_string(bench_data().join("gpus.toml")).unwrap();
    let gemm = std::fs::read_to_string(source.join("gemm.csv")).unwrap();
    let toml = std::fs::read_to_string(source.join("set.toml")).unwrap();
    let read = |gemm: &str| {
        let mut fixture = Fixture::new().file("set.toml", &toml).file("gemm.csv", gemm);
        for table in ["attention_prefill.csv", "attention_decode.csv"] {
            let text = std::fs::read_to_string(source.join(table)).unwrap();
            fixture = fixture.file(table, text);
        }
        read_set(&fixture.dir(), &gpus).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(read(&gemm), Ok(()));
    let relabelled = gemm.replace("fp8_block", "bf16");
    assert_ne!(relabelled, gemm);
    let message = read(&relabelled).unwrap_err();
    assert!(message.starts_with("set/gemm.csv:"), "{message}");
    assert!(message.contains("expected at most the "), "{message}");

    // Row by row: 58 rows are above the peak. The weights of others may have been in the L2 cache in part.
    let mut peak = 0;
    let header = relabelled.lines().next().unwrap();
    for row in relabelled.lines().skip(1) {
        match read(&format!("{header}\n{row}\n")) {
            Err(message) if message.contains("the bf16 peak of h100") => peak += 1,
            other => assert_eq!(other, Ok(())),
        }
    }
    assert_eq!(peak, 58);
}
