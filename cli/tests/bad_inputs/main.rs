//! Inputs that mean nothing, for each reader and each flag: they are refused in one line, soon and in little memory.
//! The messages are shown in `tests/pages`.
#![cfg(target_os = "linux")] // others have no limit of address space

mod bounded;
mod files;
mod flags;

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rooflut");

/// Arguments that read a file, which `PATH` stands for.
const READERS: &[&str] = &[
    "run --trace PATH",
    "run --columns arrival=a,prompt=b,output=c --trace PATH",
    "run --scenario PATH",
    "run --prompt file:PATH",
    "run --model PATH",
    "run --draft-tokens 2 --acceptance 0.5 --draft-model PATH",
    "run --tables PATH",
    "run --prices PATH",
    "run --fleet PATH",
    "run --vllm @PATH",
    "fits --vllm @PATH",
    "fits --prices PATH",
    "compare PATH PATH",
    "observe PATH --gpu h100",
    "calibrate PATH --gpu h100 --engine vllm-0.11.0",
    "run --engine PATH",
    "sweep --points PATH",
    "lookup gemm --k 4096 --n 4096 --m 8 --tables PATH",
];

/// Arguments that read JSON, the beginning of a list in such a file, and the MiB that follow.
const DENSE: &[(&str, &str, usize)] = &[
    ("run --model PATH", r#"{"model_type":"llama","x":["#, 15),
    ("run --draft-tokens 2 --acceptance 0.5 --draft-model PATH", r#"{"model_type":"llama","x":["#, 15),
    ("report new.html PATH", r#"{"load":{},"ttft_ms":{},"throughput":{},"x":["#, 31),
    ("compare PATH PATH", r#"{"load":{},"ttft_ms":{},"throughput":{},"x":["#, 31),
    ("compare PATH PATH", r#"{"deployment":{},"runs":[],"missing":[],"facts":["#, 60),
    ("observe PATH --gpu h100", r#"{"deployment":{},"runs":[],"missing":[],"facts":["#, 60),
    ("observe PATH --gpu h100", r#"{"tokenizer_id":"m","request_throughput":1,"x":["#, 60),
    ("calibrate PATH --gpu h100 --engine vllm-0.11.0", r#"{"tokenizer_id":"m","request_throughput":1,"x":["#, 60),
];

/// Flags that a command needs beside the one that is tested.
const NEEDED: &[(&str, &str)] = &[
    ("run", "--requests 2"),
    ("plan", "--requests 2 --goodput ttft:100000@mean --max-gpus 8"),
    ("saturate", "--requests 20 --goodput ttft:100000@mean"),
    ("sweep", "--requests 2 --out new.csv"),
    ("observe", "--gpu h100"),
    ("calibrate", "--gpu h100 --engine vllm-0.11.0"),
    ("watch", "--gpu h100"),
    ("step", "--decode 1x1"),
    ("lookup gemm", "--k 4096 --n 4096 --m 8"),
    ("lookup prefill", "--q-heads 32 --kv-heads 8 --seq-len 64"),
    ("lookup decode", "--q-heads 32 --kv-heads 8 --kv-len 64"),
    ("lookup prefill-window", "--q-heads 2 --kv-heads 1 --head-dim 256 --window 64 --seq-len 64"),
    ("lookup mla-prefill", "--q-heads 16 --seq-len 64"),
    ("lookup mla-decode", "--q-heads 16 --kv-len 64"),
    ("lookup dsa-prefill", "--q-heads 16 --dtype fp8_block --seq-len 64"),
    ("lookup dsa-decode", "--q-heads 16 --dtype fp8_block --kv-len 64"),
    ("lookup compressed-prefill", "--q-heads 16 --dtype fp8_block --seq-len 64"),
    ("lookup msa-prefill", "--q-heads 16 --kv-heads 1 --dtype fp8_block --seq-len 64"),
    ("lookup allreduce", "--ranks 2 --bytes 4096"),
    ("lookup moe", "--experts 8 --top-k 2 --hidden 4096 --intermediate 14336 --tokens 8"),
];
