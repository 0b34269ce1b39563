//! Vidur, Splitwise, Qwen-Bailian, AIPerf's sessions, Azure's images, and columns that are not read.

use crate::support::{shapes, trace};
use crate::{azure, burst_gpt, inference_perf, mooncake, own, vllm};
use rooflut_traces::{ArrivalSource, Format};

const VIDUR: &str = "arrived_at,num_prefill_tokens,num_decode_tokens\n\
                     10.5,374,44\n\
                     12,396,109\n";

pub(crate) const SPLITWISE: &str = "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n\
     0,2,0,0.25,1,500,20\n\
     1,2,0,1.5,1,600,30\n";

pub(crate) const QWEN: &str = r#"{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.5, "input_length": 40, "output_length": 5, "type": "text", "turn": 1, "hash_ids": [7, 8, 9]}
{"chat_id": 2, "parent_chat_id": 1, "timestamp": 62, "input_length": 48, "output_length": 6, "type": "text", "turn": 2, "hash_ids": [7, 8, 11]}
"#;

#[test]
fn seconds_are_seconds() {
    let vidur = trace(VIDUR).unwrap();
    assert_eq!(vidur.format, Format::Vidur);
    assert_eq!(shapes(&vidur), [(0, 374, 44), (1500, 396, 109)]);
    let splitwise = trace(SPLITWISE).unwrap();
    assert_eq!(splitwise.format, Format::Splitwise);
    assert_eq!(shapes(&splitwise), [(0, 500, 20), (1250, 600, 30)]);
    let qwen = trace(QWEN).unwrap();
    assert_eq!(qwen.format, Format::QwenBailian);
    assert_eq!(shapes(&qwen), [(0, 40, 5), (500, 48, 6)]);
    for plain in [vidur, splitwise, qwen] {
        assert_eq!(plain.arrivals, ArrivalSource::Recorded);
        assert_eq!(plain.ignored, [""; 0]);
    }
}

#[test]
fn byte_order_marks_and_line_ends_change_nothing() {
    for text in [
        VIDUR,
        SPLITWISE,
        QWEN,
        azure::OF_2023,
        burst_gpt::SAMPLE,
        inference_perf::OLD,
        inference_perf::NEW,
        mooncake::SAMPLE,
        own::QUOTED,
        vllm::SAMPLE,
    ] {
        let plain = trace(text);
        assert!(plain.is_ok(), "{text}");
        let crlf = text.replace('\n', "\r\n");
        let mark = '\u{feff}';
        for same in [format!("{mark}{text}"), format!("{mark}{crlf}"), crlf] {
            assert_eq!(trace(&same), plain);
        }
    }
}

#[test]
fn an_id_of_qwen_bailian_is_a_block_of_16_tokens() {
    let trace = trace(QWEN).unwrap();
    assert_eq!(trace.block_ids, [(vec![7, 8, 9], 16), (vec![7, 8, 11], 16)]);
}

#[test]
fn turns_arrive_after_the_end_of_the_one_before() {
    let text = r#"{"session_id": "a", "timestamp": 2000, "input_length": 10, "output_length": 1}
{"session_id": "a", "delay": 500, "input_length": 20, "output_length": 2}
{"session_id": "b", "delay": 100, "input_length": 30, "output_length": 3}
{"session_id": "a", "delay": 0, "input_length": 40, "output_length": 4}
{"timestamp": 1500, "input_length": 50, "output_length": 5}
"#;
    let trace = trace(text).unwrap();
    assert_eq!(trace.format, Format::Mooncake);
    // Each request takes a second. The clock starts at 1,500 ms; the first of b waits from the start.
    let expected = [(500, 10, 1), (2000, 20, 2), (100, 30, 3), (3000, 40, 4), (0, 50, 5)];
    assert_eq!(shapes(&trace), expected);
}

#[test]
fn requests_with_images_are_counted() {
    let text = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n\
                2024-11-11 00:00:00,0,100,5\n\
                2024-11-11 00:00:01,3,200,6\n\
                2024-11-11 00:00:02,1,300,7\n";
    let azure = trace(text).unwrap();
    assert_eq!((azure.requests.len(), azure.with_images), (3, 2));
    assert_eq!(azure.ignored, [""; 0]);
}

#[test]
fn columns_that_are_not_read_are_listed() {
    let own = |column: &str| format!("arrival_ms,prompt_tokens,output_tokens,{column},\n0,100,7,64,\n1,100,7,64,\n");
    assert_eq!(trace(&own("request_id")).unwrap().ignored, ["request_id"]);
    let mooncake = r#"{"timestamp": 0, "input_length": 5, "output_length": 5, "hashids": [1]}"#;
    let other = trace(&mooncake.replace("hashids", "model")).unwrap();
    assert_eq!(other.ignored, ["model"]);
}
