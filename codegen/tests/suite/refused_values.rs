//! Values, rows and columns that codegen refuses, each with its message.

use crate::support::{ALLREDUCE, DECODE, Fixture, GEMM, MOE, PREFILL};

const ROW: &str = "bf16,512,512,16,10\n";

fn gemm_refusal(rows: &str) -> String {
    Fixture::gemm(rows).refusal()
}

/// The refusal of a set with one table of these contents.
fn file_refusal(name: &str, csv: impl AsRef<[u8]>) -> String {
    Fixture::new().file(name, csv).refusal()
}

fn header_refusal(header: &str) -> String {
    let csv = format!("{header}\nbf16,512,512,16,10\n");
    file_refusal("gemm.csv", csv)
}

#[test]
fn columns_that_are_missing_misspelt_unknown_or_repeated_are_named() {
    let missing = "expected a column of that name, found";
    let rename = "add it, or rename the column that is meant";
    let once = "expected the columns dtype,k,n,m,latency_us,mfu once each, found";
    for (header, expected) in [
        (
            "dtype,k,n,latency_us",
            format!("m: {missing} \"dtype,k,n,latency_us\"; {rename}"),
        ),
        (
            "dtype,k,n,m,latency_ms",
            format!("latency_us: {missing} \"dtype,k,n,m,latency_ms\"; {rename}"),
        ),
        (
            "dtype,k,n,m,latency_us,warmup",
            format!("{once} \"warmup\"; rename or remove it"),
        ),
        (
            "dtype,k,n,m,k,latency_us",
            format!("{once} \"k\"; rename or remove it"),
        ),
    ] {
        assert_eq!(
            header_refusal(header),
            format!("set/gemm.csv:1: {expected}")
        );
    }
}

#[test]
fn other_separators_are_recognised() {
    for header in ["dtype;k;n;m;latency_us", "dtype\\tk\\tn\\tm\\tlatency_us"] {
        let header = header.replace("\\t", "\t");
        let shown = header.replace('\t', "\\t");
        assert_eq!(
            header_refusal(&header),
            format!(
                "set/gemm.csv:1: dtype: expected a column of that name, found \"{shown}\"; separate \
                 the columns by commas"
            )
        );
    }
}

#[test]
fn latencies_are_positive_numbers_that_f32_can_hold() {
    let check = |wrong: &[&str], expected: &str| {
        for found in wrong {
            assert_eq!(
                gemm_refusal(&format!("{ROW}bf16,512,512,32,{found}\n")),
                format!(
                    "set/gemm.csv:3: latency_us: expected a positive number{expected}, found \"{found}\"; \
                     correct it or leave the row out"
                )
            );
        }
    };
    check(
        &[
            "-", "ten", "0", "0.0", "-0", "-3.5", "NaN", "nan", "inf", "-inf", "1e999", "",
        ],
        "",
    );
    let limits = " between 1.2e-38 and 3.4e38";
    check(&["1e39", "1e300", "1e-39", "1e-300"], limits);
}

#[test]
fn counts_are_positive_whole_numbers() {
    let check = |wrong: &[&str], advice: &str| {
        for found in wrong {
            assert_eq!(
                gemm_refusal(&format!("bf16,512,{found},32,10\n")),
                format!(
                    "set/gemm.csv:2: n: expected a positive whole number below 2^32, found \"{found}\"; \
                     {advice}"
                )
            );
        }
    };
    check(
        &[
            "-1",
            "0",
            "many",
            "NaN",
            "inf",
            "1.5",
            "4294967296",
            "1e10",
            "",
        ],
        "correct it or leave the row out",
    );
    check(&["512.0", "1e3"], "write it in plain digits");
}

#[test]
fn a_duplicate_key_names_both_lines() {
    assert_eq!(
        gemm_refusal(&format!("{ROW}bf16,512,512,32,11\nbf16,512,512,16,12\n")),
        "set/gemm.csv:4: expected each key once, found dtype bf16, k 512, n 512, m 16 again (first \
         on line 2); keep one of the two"
    );
    let csv = PREFILL.replace("head_dim", "head_dim,tp")
        + "bf16,bf16,8,8,128,2,1,64,50\nbf16,bf16,8,8,128,2,1,64,50\n";
    assert_eq!(
        file_refusal("attention_prefill.csv", csv),
        "set/attention_prefill.csv:3: expected each key once, found dtype bf16, kv_dtype bf16, \
         q_heads 8, kv_heads 8, head_dim 128, tp 2, batch 1, seq_len 64 again (first on line 2); \
         keep one of the two"
    );
}

#[test]
fn rows_with_an_unknown_dtype_or_another_length_are_refused() {
    let fields = "row: expected 5 fields (dtype,k,n,m,latency_us), found";
    let remove = "correct or remove the row";
    for (rows, expected) in [
        (
            "BF16,512,512,16,10\n",
            "2: dtype: expected one of bf16, fp8, fp8_block, nvfp4, found \"BF16\"; rename it or leave \
             the row out",
        ),
        (
            "nvfp4,512,512,16,10\n",
            "2: dtype: expected a dtype that toy has a peak for, found \"nvfp4\"; check the dtype, or \
             give the peak in the GPU's data sheet",
        ),
        (
            &format!("{ROW}bf16,512,512,32\n"),
            &format!("3: {fields} \"bf16,512,512,32\"; {remove}"),
        ),
        // A decimal comma makes one field too many.
        (
            "bf16,512,512,32,10,5\n",
            &format!("2: {fields} \"bf16,512,512,32,10,5\"; {remove}"),
        ),
        // A quote that is never closed is shown on one line.
        (
            &format!("\"bf16,512,512,32,10\n{}", ROW.repeat(9)),
            &format!(
                "2: {fields} \"bf16,512,512,32,10\\nbf16,512,512,16,10\\nbf16,512,512,16,10\\n\
                 bf16,512,512,16,10\\nbf16...\"; {remove}"
            ),
        ),
    ] {
        assert_eq!(gemm_refusal(rows), format!("set/gemm.csv:{expected}"));
    }
    let csv = format!("{DECODE}bf16,int8,8,8,128,1,1,64,50\n");
    assert_eq!(
        file_refusal("attention_decode.csv", csv),
        "set/attention_decode.csv:2: kv_dtype: expected one of bf16, fp8, fp8_block, nvfp4, found \
         \"int8\"; rename it or leave the row out"
    );
}

#[test]
fn text_that_is_not_utf8_is_refused_at_its_line() {
    let mut csv = format!("{GEMM}{ROW}").into_bytes();
    csv.extend(b"bf\xff16,512,512,32,10\n");
    assert_eq!(
        file_refusal("gemm.csv", csv),
        "set/gemm.csv:3: row: expected UTF-8 text, found \"bf\u{fffd}16,512,512,32,10\"; save the \
         file as UTF-8"
    );
}

#[test]
fn lines_are_counted_through_blank_lines_and_any_line_end() {
    let rows = "dtype,k,n,m,latency_us\nbf16,512,512,16,10\nbf16,512,512,32,x\n";
    for (csv, line) in [
        (rows.to_owned(), 3),
        (rows.replace('\n', "\r\n"), 3),
        (rows.replace('\n', "\r"), 3),
        (rows.replace('\n', "\n\n"), 5),
        (rows.replace('\n', "\r\n\r\n"), 5),
        (format!("\u{feff}\n\n{rows}"), 5),
    ] {
        let start =
            format!("set/gemm.csv:{line}: latency_us: expected a positive number, found \"x\"");
        let found = file_refusal("gemm.csv", csv);
        assert!(found.starts_with(&start), "{found}");
    }
}

#[test]
fn shapes_make_sense() {
    let (decode, prefill) = ("attention_decode", "attention_prefill");
    let prefill_of_ranks = PREFILL.replace("head_dim", "head_dim,tp");
    let heads = "heads are counted over all ranks, before tp divides them: check both counts";
    let rank_heads: &str =
        &format!("tp: expected a divisor of the 8 q_heads, found \"3\"; {heads}");
    let kv_heads = "kv_heads: expected a divisor of the 8 q_heads, found \"3\"; every KV head serves \
                    equally many query heads: check both counts";
    for (table, header, row, expected) in [
        (decode, DECODE, "bf16,bf16,8,8,128,3,1,64,50", rank_heads),
        (
            prefill,
            &prefill_of_ranks,
            "bf16,bf16,8,8,128,3,1,64,50",
            rank_heads,
        ),
        // 12 query heads are divisible by 3 ranks, 4 KV heads neither are nor can be replicated.
        (
            decode,
            DECODE,
            "bf16,bf16,12,4,128,3,1,64,50",
            &format!(
                "tp: expected a divisor or a multiple of the 4 kv_heads, found \"3\"; {heads}"
            ),
        ),
        (decode, DECODE, "bf16,bf16,8,3,128,1,1,64,50", kv_heads),
        (prefill, PREFILL, "bf16,bf16,8,3,128,1,64,50", kv_heads),
        (
            "moe",
            MOE,
            "bf16,2,8,1024,2048,1,1,50",
            "top_k: expected at most the 2 experts, found \"8\"; check that the two columns are not \
             swapped",
        ),
        (
            "moe",
            MOE,
            "bf16,8,2,1024,2048,3,1,50",
            "tp: expected a divisor of the intermediate size 2048, found \"3\"; the size is that of a \
             whole expert, before tp divides it: check both",
        ),
        (
            "allreduce",
            ALLREDUCE,
            "1,1024,5",
            "ranks: expected at least 2, found \"1\"; one GPU has nothing to reduce: leave the row out",
        ),
    ] {
        let file = format!("{table}.csv");
        let found = file_refusal(&file, format!("{header}{row}\n"));
        assert_eq!(found, format!("set/{file}:2: {expected}"));
    }
}

#[test]
fn an_axis_has_at_most_32_points() {
    let rows = |count: u32| -> String {
        (1..=count)
            .map(|m| format!("bf16,512,512,{m},10\n"))
            .collect()
    };
    assert!(Fixture::gemm(&rows(32)).read().is_ok());
    assert_eq!(
        gemm_refusal(&rows(33)),
        "set/gemm.csv: m: expected at most 32 different values, found 33 for dtype bf16, k 512, n \
         512; thin them out"
    );
    let rows: String = (1..=33)
        .map(|kv| format!("bf16,fp8,8,8,64,1,1,{kv},50\n"))
        .collect();
    assert_eq!(
        file_refusal("attention_decode.csv", format!("{DECODE}{rows}")),
        "set/attention_decode.csv: kv_len: expected at most 32 different values, found 33 for dtype \
         bf16, kv_dtype fp8, q_heads 8, kv_heads 8, head_dim 64, tp 1; thin them out"
    );
}

#[test]
fn an_index_numbers_at_most_65536_shapes() {
    let rows: String = (1..=65537).map(|k| format!("bf16,{k},1,1,10\n")).collect();
    assert_eq!(
        gemm_refusal(&rows),
        "set/gemm.csv: expected at most 65536 different shapes, found 65537; split the set"
    );
}

#[test]
fn two_shapes_of_one_hash_key_are_refused() {
    // Found by search: the products of the two k with the key's constant differ in their low bits only,
    // and n cancels the difference.
    let rows = "bf16,16,4096,1,9e15\nbf16,2058351568,2685968755,1,9e15\n";
    assert_eq!(
        gemm_refusal(rows),
        "set/gemm.csv: expected different hash keys, found that of another shape for dtype bf16, k \
         2058351568, n 2685968755; leave one of the two out"
    );
}
