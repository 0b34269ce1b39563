//! Rows that are left out or not taken literally are counted and named.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use crate::support::{ROW, file, report, tallies};
use rooflut_validation::Stage;

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
    assert_eq!(tallies(&report.partly), [("the measured tpot is 0 or less", 1)]);
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
        ("llama-3.1-8b on h100, tp 3: q_heads: expected a multiple of tp (3), found 32", 1),
        ("tp: expected a positive number, found 0", 1),
        ("no tokens to compute", 1),
        ("the measured step is 0", 1),
        ("nothing was measured", 1),
    ] {
        let named = skipped.iter().find(|(text, _)| text.contains(words));
        assert_eq!(named.map(|(_, rows)| *rows), Some(rows), "{words}: {skipped:?}");
    }
    let models = report.skipped.iter().find(|t| t.text.contains("gpt-8"));
    assert_eq!(models.unwrap().lines, [3, 4, 11]);
}

#[test]
fn more_cached_tokens_than_the_prompt_has_are_named_in_every_kind_of_file() {
    for (header, after) in [
        ("cached_prompt_tokens,id,arrival,rate_rps,duration_s,output_tokens,ttft_mean_ms", "a,constant,1,4,10,20"),
        ("cached_prompt_tokens,experiment,prefill_ms,mean_context_tokens", "s,20,70"),
        ("shared_prefix_tokens,experiment,arrival_ms,output_tokens,ttft_ms", "r,0,10,20"),
    ] {
        let of = |cached: &str| {
            let row = format!("h100,llama-3.1-8b,1,64,{cached},{after}");
            report(&format!("gpu,model,tp,prompt_tokens,{header}\n{row}\n"))
        };
        assert_eq!(tallies(&of("65").skipped), [("more of a prompt is cached than there is", 1)]);
        // The last block is computed.
        let comparisons = |cached| of(cached).cases[0].comparisons.clone();
        assert_eq!(comparisons("64"), comparisons("48"));
        assert_eq!(comparisons("63"), comparisons("48"));
    }
}

#[test]
fn engines_and_gpus_that_are_not_taken_literally_are_noted() {
    let other = ROW.replace("vllm-0.15.1", "vllm-0.11.2");
    let unnamed = ROW.replace("vllm-0.15.1", "");
    let unknown = other.replace("llama-3.1-8b", "gpt-9");
    let suffix = ROW.replace("h100", "H100-SXM");
    let report = report(&file(&[ROW, &other, &other, &unnamed, &unknown, &suffix]));
    assert_eq!(
        tallies(&report.notes),
        [
            ("GPU H100-SXM: predicted as h100", 1),
            (
                "engine vllm-0.11.2 is not known: predicted as vllm-0.11.0, the newest stack of its \
                 release or of an earlier one",
                2
            ),
            ("no engine is named: predicted as vllm-0.25.0, the default", 1),
        ]
    );
    let engines: Vec<&str> = report.cases.iter().map(|case| case.engine).collect();
    assert_eq!(engines[..3], ["vllm-0.15.1", "vllm-0.11.0", "vllm-0.11.0"]);
    // The numbering counts every row.
    let places: Vec<&Stage> = report.cases.iter().map(|case| &case.label.stage).collect();
    assert_eq!(places[4], &Stage::Number(5));
}
