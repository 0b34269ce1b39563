//! Values, rows and columns that codegen refuses, each with its message.

use crate::support::{ALLREDUCE, DECODE, Fixture, GEMM, MOE, PREFILL};

const ROW: &str = "bf16,512,512,16,10\n";

fn gemm_refusal(rows: &str) -> String {
    Fixture::gemm(rows).refusal()
}

fn header_refusal(header: &str) -> String {
    let csv = format!("{header}\nbf16,512,512,16,10\n");
    Fixture::new().file("gemm.csv", csv).refusal()
}

#[test]
fn a_missing_column_is_named_beside_the_header_found() {
    assert_eq!(
        header_refusal("dtype,k,n,latency_us"),
        "set/gemm.csv:1: m: expected a column of that name, found \"dtype,k,n,latency_us\"; add it, \
         or rename the column that is meant"
    );
}

#[test]
fn a_misspelt_column_is_a_missing_one() {
    assert_eq!(
        header_refusal("dtype,k,n,m,latency_ms"),
        "set/gemm.csv:1: latency_us: expected a column of that name, found \
         \"dtype,k,n,m,latency_ms\"; add it, or rename the column that is meant"
    );
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
fn an_unknown_column_is_named() {
    assert_eq!(
        header_refusal("dtype,k,n,m,latency_us,warmup"),
        "set/gemm.csv:1: expected the columns dtype,k,n,m,latency_us,mfu once each, found \
         \"warmup\"; rename or remove it"
    );
}

#[test]
fn a_repeated_column_is_named() {
    assert_eq!(
        header_refusal("dtype,k,n,m,k,latency_us"),
        "set/gemm.csv:1: expected the columns dtype,k,n,m,latency_us,mfu once each, found \"k\"; \
         rename or remove it"
    );
}

#[test]
fn latencies_are_positive_numbers() {
    for found in [
        "-", "ten", "0", "0.0", "-0", "-3.5", "NaN", "nan", "inf", "-inf", "1e999", "",
    ] {
        assert_eq!(
            gemm_refusal(&format!("{ROW}bf16,512,512,32,{found}\n")),
            format!(
                "set/gemm.csv:3: latency_us: expected a positive number, found \"{found}\"; correct \
                 it or leave the row out"
            )
        );
    }
}

#[test]
fn latencies_that_f32_cannot_hold_are_refused() {
    for found in ["1e39", "1e300", "1e-39", "1e-300"] {
        assert_eq!(
            gemm_refusal(&format!("bf16,512,512,32,{found}\n")),
            format!(
                "set/gemm.csv:2: latency_us: expected a positive number between 1.2e-38 and 3.4e38, \
                 found \"{found}\"; correct it or leave the row out"
            )
        );
    }
}

#[test]
fn counts_are_positive_whole_numbers() {
    for found in [
        "-1",
        "0",
        "many",
        "NaN",
        "inf",
        "1.5",
        "4294967296",
        "1e10",
        "",
    ] {
        assert_eq!(
            gemm_refusal(&format!("bf16,512,{found},32,10\n")),
            format!(
                "set/gemm.csv:2: n: expected a positive whole number below 2^32, found \"{found}\"; \
                 correct it or leave the row out"
            )
        );
    }
    for found in ["512.0", "1e3"] {
        assert_eq!(
            gemm_refusal(&format!("bf16,512,{found},32,10\n")),
            format!(
                "set/gemm.csv:2: n: expected a positive whole number below 2^32, found \"{found}\"; \
                 write it in plain digits"
            )
        );
    }
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
        Fixture::new().file("attention_prefill.csv", csv).refusal(),
        "set/attention_prefill.csv:3: expected each key once, found dtype bf16, kv_dtype bf16, \
         q_heads 8, kv_heads 8, head_dim 128, tp 2, batch 1, seq_len 64 again (first on line 2); \
         keep one of the two"
    );
}

#[test]
fn an_unknown_dtype_is_refused_with_those_that_exist() {
    assert_eq!(
        gemm_refusal("BF16,512,512,16,10\n"),
        "set/gemm.csv:2: dtype: expected one of bf16, fp8, fp8_block, nvfp4, found \"BF16\"; rename \
         it or leave the row out"
    );
    let csv = format!("{DECODE}bf16,int8,8,8,128,1,1,64,50\n");
    assert_eq!(
        Fixture::new().file("attention_decode.csv", csv).refusal(),
        "set/attention_decode.csv:2: kv_dtype: expected one of bf16, fp8, fp8_block, nvfp4, found \
         \"int8\"; rename it or leave the row out"
    );
}

#[test]
fn a_dtype_without_a_peak_is_refused() {
    assert_eq!(
        gemm_refusal("nvfp4,512,512,16,10\n"),
        "set/gemm.csv:2: dtype: expected a dtype that toy has a peak for, found \"nvfp4\"; check the \
         dtype, or give the peak in the GPU's data sheet"
    );
}

#[test]
fn a_row_of_another_length_is_refused() {
    assert_eq!(
        gemm_refusal(&format!("{ROW}bf16,512,512,32\n")),
        "set/gemm.csv:3: row: expected 5 fields (dtype,k,n,m,latency_us), found \
         \"bf16,512,512,32\"; correct or remove the row"
    );
    // A decimal comma makes one field too many.
    assert_eq!(
        gemm_refusal("bf16,512,512,32,10,5\n"),
        "set/gemm.csv:2: row: expected 5 fields (dtype,k,n,m,latency_us), found \
         \"bf16,512,512,32,10,5\"; correct or remove the row"
    );
}

#[test]
fn a_quote_that_is_never_closed_is_shown_on_one_line() {
    let rows = format!("\"bf16,512,512,32,10\n{}", ROW.repeat(9));
    assert_eq!(
        gemm_refusal(&rows),
        "set/gemm.csv:2: row: expected 5 fields (dtype,k,n,m,latency_us), found \
         \"bf16,512,512,32,10\\nbf16,512,512,16,10\\nbf16,512,512,16,10\\nbf16,512,512,16,10\\nbf16...\"; \
         correct or remove the row"
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
fn lines_are_counted_through_blank_lines_and_any_line_end() {
    let refusal = |csv: &str| Fixture::new().file("gemm.csv", csv).refusal();
    let expected = |line| {
        format!(
            "set/gemm.csv:{line}: latency_us: expected a positive number, found \"x\"; correct it or \
             leave the row out"
        )
    };
    let rows = "dtype,k,n,m,latency_us\nbf16,512,512,16,10\nbf16,512,512,32,x\n";
    assert_eq!(refusal(rows), expected(3));
    assert_eq!(refusal(&rows.replace('\n', "\r\n")), expected(3));
    assert_eq!(refusal(&rows.replace('\n', "\r")), expected(3));
    assert_eq!(refusal(&rows.replace('\n', "\n\n")), expected(5));
    assert_eq!(refusal(&rows.replace('\n', "\r\n\r\n")), expected(5));
    assert_eq!(refusal(&format!("\u{feff}\n\n{rows}")), expected(5));
}

#[test]
fn tp_divides_the_heads() {
    let decode = |row: &str| {
        Fixture::new()
            .file("attention_decode.csv", format!("{DECODE}{row}\n"))
            .refusal()
    };
    assert_eq!(
        decode("bf16,bf16,8,8,128,3,1,64,50"),
        "set/attention_decode.csv:2: tp: expected a divisor of the 8 q_heads, found \"3\"; heads are \
         counted over all ranks, before tp divides them: check both counts"
    );
    // 12 query heads are divisible by 3 ranks, 4 KV heads neither are nor can be replicated.
    assert_eq!(
        decode("bf16,bf16,12,4,128,3,1,64,50"),
        "set/attention_decode.csv:2: tp: expected a divisor or a multiple of the 4 kv_heads, found \
         \"3\"; heads are counted over all ranks, before tp divides them: check both counts"
    );
    let csv = PREFILL.replace("head_dim", "head_dim,tp") + "bf16,bf16,8,8,128,3,1,64,50\n";
    assert_eq!(
        Fixture::new().file("attention_prefill.csv", csv).refusal(),
        "set/attention_prefill.csv:2: tp: expected a divisor of the 8 q_heads, found \"3\"; heads \
         are counted over all ranks, before tp divides them: check both counts"
    );
}

#[test]
fn kv_heads_divide_query_heads() {
    let expected = |file: &str| {
        format!(
            "set/{file}:2: kv_heads: expected a divisor of the 8 q_heads, found \"3\"; every KV head \
             serves equally many query heads: check both counts"
        )
    };
    for (file, csv) in [
        (
            "attention_decode.csv",
            format!("{DECODE}bf16,bf16,8,3,128,1,1,64,50\n"),
        ),
        (
            "attention_prefill.csv",
            format!("{PREFILL}bf16,bf16,8,3,128,1,64,50\n"),
        ),
    ] {
        assert_eq!(Fixture::new().file(file, csv).refusal(), expected(file));
    }
}

#[test]
fn moe_shapes_make_sense() {
    let moe = |row: &str| {
        Fixture::new()
            .file("moe.csv", format!("{MOE}{row}\n"))
            .refusal()
    };
    assert_eq!(
        moe("bf16,2,8,1024,2048,1,1,50"),
        "set/moe.csv:2: top_k: expected at most the 2 experts, found \"8\"; check that the two \
         columns are not swapped"
    );
    assert_eq!(
        moe("bf16,8,2,1024,2048,3,1,50"),
        "set/moe.csv:2: tp: expected a divisor of the intermediate size 2048, found \"3\"; the size \
         is that of a whole expert, before tp divides it: check both"
    );
}

#[test]
fn one_rank_reduces_nothing() {
    let csv = format!("{ALLREDUCE}1,1024,5\n");
    assert_eq!(
        Fixture::new().file("allreduce.csv", csv).refusal(),
        "set/allreduce.csv:2: ranks: expected at least 2, found \"1\"; one GPU has nothing to \
         reduce: leave the row out"
    );
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
        Fixture::new()
            .file("attention_decode.csv", format!("{DECODE}{rows}"))
            .refusal(),
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
