//! Rows that are left out or not taken literally are counted and named.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use crate::support::{HEADER, ROW, file, report, tallies};
use rooflut_validation::{Metric, Stage};

#[test]
fn measurements_that_are_not_positive_are_named_and_the_rest_of_the_row_is_used() {
    let header = "experiment,gpu,model,tp,prompt_tokens,prefill_ms,tpot_ms,mean_context_tokens";
    for wrong in ["0", "-1", "-0.0"] {
        let report = report(&format!(
            "{header}\ns,h100,llama-3.1-8b,1,64,5,{wrong},70\n"
        ));
        let [case] = &report.cases[..] else {
            panic!("{report:?}");
        };
        assert!(case.comparison(Metric::Prefill).is_some() && case.comparisons.len() == 1);
        assert!(report.skipped.is_empty());
        assert_eq!(
            tallies(&report.partly),
            [("the measured tpot is 0 or less", 1)]
        );
    }
}

#[test]
fn a_row_left_out_is_counted_once_and_left_out_metrics_apart() {
    let header = "experiment,gpu,model,tp,arrival_ms,prompt_tokens,output_tokens,ttft_ms,tpot_ms,\
                  e2e_ms";
    let row = |measured: &str| format!("r,h100,llama-3.1-8b,1,0,100,10,{measured}\n");
    let rows = row("5,0,50") + &row("0,0,-1") + &row("5,6,50");
    let report = report(&format!("{header}\n{rows}"));
    assert_eq!((report.rows, report.cases.len()), (3, 2));
    assert_eq!(
        tallies(&report.skipped),
        [(
            "the measured ttft is 0 or less; the measured tpot is 0 or less; the measured e2e is 0 or \
             less",
            1
        )]
    );
    assert_eq!(
        tallies(&report.partly),
        [("the measured tpot is 0 or less", 1)]
    );
}

#[test]
fn rows_with_unknown_names_are_counted_and_the_others_predicted() {
    let rows = [
        ROW,
        "d,h100,gpt-9,1,vllm-0.15.1,48,700,8",
        "d,h100,gpt-9,1,vllm-0.15.1,49,700,8",
        "d,v100,llama-3.1-8b,1,vllm-0.15.1,48,700,8",
        "d,h100,llama-3.1-8b,3,vllm-0.15.1,48,700,8",
        "d,h100,llama-3.1-8b,0,vllm-0.15.1,48,700,8",
        "d,h100,llama-3.1-8b,1,vllm-0.15.1,0,700,8",
        "d,h100,llama-3.1-8b,1,vllm-0.15.1,48,700,0",
        "d,h100,llama-3.1-8b,1,vllm-0.15.1,48,700,",
        "d,h100,gpt-8,1,vllm-0.15.1,48,700,8",
    ];
    let report = report(&file(&rows));
    assert_eq!((report.rows, report.cases.len()), (10, 1));
    assert_eq!(report.summaries[0].errors.n, 1);
    let skipped = tallies(&report.skipped);
    assert_eq!(skipped.iter().map(|(_, rows)| rows).sum::<usize>(), 9);
    for (words, rows) in [
        ("unknown models \"gpt-8\", \"gpt-9\" (", 3),
        ("unknown GPU \"v100\"", 1),
        (
            "llama-3.1-8b on h100, tp 3: q_heads: expected a multiple of tp (3), found 32",
            1,
        ),
        ("tp: expected a positive number, found 0", 1),
        ("no tokens to compute", 1),
        ("the measured step is 0", 1),
        ("nothing was measured", 1),
    ] {
        let named = skipped.iter().find(|(text, _)| text.contains(words));
        assert_eq!(
            named.map(|(_, rows)| *rows),
            Some(rows),
            "{words}: {skipped:?}"
        );
    }
    let models = report.skipped.iter().find(|t| t.text.contains("gpt-8"));
    assert_eq!(models.unwrap().lines, [3, 4, 11]);
}

#[test]
fn stages_that_cannot_be_run_are_named() {
    let header = "id,gpu,model,dtype,tp,engine,max_model_len,arrival,rate_rps,duration_s,\
                  prompt_tokens,output_tokens,ttft_mean_ms";
    let stage = "a,h100,llama-3.1-8b,,1,vllm-0.15.1,,constant,2,5,100,10,30";
    for (good, bad, words) in [
        ("constant", "bursty", "unknown arrival \"bursty\""),
        ("constant", "", "unknown arrival \"\""),
        ("b,,", "b,int4,", "unknown dtype \"int4\""),
        (",,con", ",64,con", "longer than max_model_len (64)"),
        (
            "8b",
            "70b",
            "llama-3.1-70b on h100, tp 1: the model does not fit: weights, activations and one KV block",
        ),
        (
            "constant,2",
            "constant,0",
            "arrival rate: expected a positive",
        ),
        (",5,", ",0.2,", "no request arrives"),
        (",2,5,", ",1e6,100,", "more than 10 million requests"),
        (",100,", ",0,", "the prompt is empty"),
        (
            ",,constant,2,5,100,10,",
            ",4000000000,constant,1000,1000,100,2001,",
            "more than 2 billion output tokens are not simulated",
        ),
        (
            "h100",
            "h100-infersim",
            "the tables of h100-infersim have no gemm of bf16, only of fp8_block",
        ),
    ] {
        let report = report(&format!("{header}\n{}\n", stage.replacen(good, bad, 1)));
        let skipped = tallies(&report.skipped);
        assert!(report.cases.is_empty() && skipped.len() == 1, "{report:?}");
        assert!(skipped[0].0.contains(words), "{words}: {skipped:?}");
    }
}

#[test]
fn solo_requests_without_anything_to_compute_are_named() {
    let header = "experiment,gpu,model,tp,max_num_batched_tokens,prompt_tokens,\
                  cached_prompt_tokens,prefill_ms,tpot_ms,mean_context_tokens";
    for (row, words) in [
        (
            "1,4294967295,,5,7,70",
            "llama-3.1-8b on h100, tp 1: prompt and output are longer than max_model_len (131072)",
        ),
        (",0,,5,7,70", "no tokens to compute"),
        (
            "0,64,,5,7,70",
            "max_num_batched_tokens: expected at least 1",
        ),
    ] {
        let report = report(&format!("{header}\ns,h100,llama-3.1-8b,1,{row}\n"));
        assert!(report.cases.is_empty());
        assert!(report.skipped[0].text.contains(words), "{report:?}");
    }
    for (context, words) in [
        ("", "a tpot was measured that the row gives no lengths for"),
        ("0", "the mean context is 0 or less"),
        (
            "131073",
            "the mean context is longer than max_model_len (131072)",
        ),
    ] {
        let row = format!("s,h100,llama-3.1-8b,1,,64,,5,7,{context}");
        let report = report(&format!("{header}\n{row}\n"));
        assert_eq!((report.cases.len(), report.skipped.len()), (1, 0));
        assert!(report.partly[0].text.contains(words), "{report:?}");
    }
}

#[test]
fn decode_steps_that_no_server_takes_are_named() {
    let header = HEADER.replace("step_ms", "max_model_len,max_num_seqs,step_ms");
    let long = "llama-3.1-8b on h100, tp 1: the mean context is longer than max_model_len";
    for (row, words) in [
        ("48,131072,,,", String::new()),
        ("48,131073,,,", format!("{long} (131072)")),
        ("48,700,699,,", format!("{long} (699)")),
        ("48,200000,200000,,", String::new()),
        ("48,0,,,", "the mean context is 0 or less".to_owned()),
        ("48,-1,,,", "the mean context is 0 or less".to_owned()),
        ("8192,700,,,", String::new()),
        (
            "8193,700,,,",
            "more than 8192 requests decode in one step".to_owned(),
        ),
        (
            "48,700,,47,",
            "more than 47 requests decode in one step".to_owned(),
        ),
        ("0,700,,,", "no tokens to compute".to_owned()),
    ] {
        let report = report(&format!(
            "{header}\nd,h100,llama-3.1-8b,1,vllm-0.15.1,{row}8\n"
        ));
        let skipped = report.skipped.first().map_or("", |tally| &tally.text);
        assert_eq!(skipped, words, "{row}");
    }
}

#[test]
fn more_cached_tokens_than_the_prompt_has_are_named_in_every_kind_of_file() {
    for (header, after) in [
        (
            "cached_prompt_tokens,id,arrival,rate_rps,duration_s,output_tokens,ttft_mean_ms",
            "a,constant,1,4,10,20",
        ),
        (
            "cached_prompt_tokens,experiment,prefill_ms,mean_context_tokens",
            "s,20,70",
        ),
        (
            "shared_prefix_tokens,experiment,arrival_ms,output_tokens,ttft_ms",
            "r,0,10,20",
        ),
    ] {
        let of = |cached: &str| {
            let row = format!("h100,llama-3.1-8b,1,64,{cached},{after}");
            report(&format!("gpu,model,tp,prompt_tokens,{header}\n{row}\n"))
        };
        assert_eq!(
            tallies(&of("65").skipped),
            [("more of a prompt is cached than there is", 1)]
        );
        // The last block is computed.
        let comparisons = |cached| of(cached).cases[0].comparisons.clone();
        assert_eq!(comparisons("64"), comparisons("48"));
        assert_eq!(comparisons("63"), comparisons("48"));
    }
}

#[test]
fn engines_and_gpus_that_are_not_taken_literally_are_noted() {
    let other = ROW.replace("vllm-0.15.1", "vllm-0.12.0");
    let unnamed = ROW.replace("vllm-0.15.1", "");
    let unknown = other.replace("llama-3.1-8b", "gpt-9");
    let suffix = ROW.replace("h100", "H100-SXM");
    let report = report(&file(&[ROW, &other, &other, &unnamed, &unknown, &suffix]));
    assert_eq!(
        tallies(&report.notes),
        [
            ("GPU H100-SXM: predicted as h100", 1),
            (
                "engine vllm-0.12.0 is not known: predicted as vllm-0.11.0, the closest that is not \
                 newer",
                2
            ),
            (
                "no engine is named: predicted as vllm-0.15.1, the default",
                1
            ),
        ]
    );
    let engines: Vec<&str> = report.cases.iter().map(|case| case.engine).collect();
    assert_eq!(engines[..3], ["vllm-0.15.1", "vllm-0.11.0", "vllm-0.11.0"]);
    // The numbering counts every row.
    let places: Vec<&Stage> = report.cases.iter().map(|case| &case.label.stage).collect();
    assert_eq!(places[4], &Stage::Number(5));
}
