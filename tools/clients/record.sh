#!/usr/bin/env bash
# Records results of benchmark clients again: record.sh ROOFLUT FOLDER [CLIENT...]. ROOFLUT is a wheel of rooflut. Files go
# to FOLDER, and so do the environments, which are made once. CLIENT is a function below, all by default. The mock server
# answers at rooflut's times; the one at port 8001 fails every fifth request. Needs uv, Python 3.10 to 3.12, and for
# GenAI-Perf Debian's apt-get and dpkg.
set -euo pipefail
rooflut=$(realpath "$1")
tools=$(cd "$(dirname "$0")" && pwd)
source "$tools/start.sh"
mkdir -p "$2" && cd -P "$2"
clients=("${@:3}")
trap 'kill ${servers:-} 2> /dev/null || true' EXIT

model=meta-llama/Llama-3.1-8B-Instruct
plain=http://127.0.0.1:8000
failing=http://127.0.0.1:8001

# environment NAME PYTHON PACKAGE...: once made, it stays.
environment() {
  [ -e "env-$1/made" ] && return
  uv venv -q --clear -p "$2" "env-$1"
  uv pip install -q -p "env-$1" --exclude-newer 2026-11-30 "${@:3}"
  touch "env-$1/made"
}

aiperf() {
  environment aiperf 3.11 aiperf==0.13.0
  # Its processes start slowly on a busy machine.
  local -x AIPERF_SERVICE_REGISTRATION_TIMEOUT=300
  local load=(profile --model $model --tokenizer ./tokenizer --endpoint-type chat --streaming --isl 128 --osl 32
    --random-seed 1 --ui simple --workers-max 1 --output-artifact-dir aiperf-0.13.0)
  env-aiperf/bin/aiperf "${load[@]}" --url $plain --concurrency 4 --request-count 16 --profile-export-prefix concurrency-4
  env-aiperf/bin/aiperf "${load[@]}" --url $failing --request-rate 5 --request-count 20 \
    --profile-export-prefix rate-5-failures
  # AIPerf writes the whole path of its folder.
  sed -i "s#$PWD/##" aiperf-0.13.0/*.json
}

genai_perf() {
  # perf_analyzer is a program in the wheel of tritonclient; the package that GenAI-Perf asks for is empty.
  environment genai-perf 3.10 genai-perf==0.0.16 perf-analyzer==0.1.0 nvidia-cuda-runtime-cu12==12.9.79
  [ -e env-genai-perf/bin/perf_analyzer ] || uv pip install -q -p env-genai-perf --no-deps tritonclient==2.49.0
  [ -d env-genai-perf/debian ] || { apt-get download libb64-0d && dpkg -x libb64-0d_*.deb env-genai-perf/debian; }
  local libraries=env-genai-perf/debian/usr/lib/x86_64-linux-gnu:env-genai-perf/lib/python3.10/site-packages/nvidia/cuda_runtime/lib
  local load=(profile -m $model --tokenizer ./tokenizer --endpoint-type chat --streaming -u $plain --isl 128 --osl 32
    --num-dataset-entries 16 --random-seed 1 --artifact-dir genai-perf)
  mkdir -p genai-perf-0.0.16
  # profile NAME ARGUMENTS
  profile() {
    PATH=env-genai-perf/bin:$PATH LD_LIBRARY_PATH=$libraries env-genai-perf/bin/genai-perf "${load[@]}" "${@:2}" \
      --request-count 16 --profile-export-file "$1.json"
    cp genai-perf/*/"$1_genai_perf.json" "genai-perf-0.0.16/$1.json"
  }
  profile concurrency-4 --concurrency 4
  profile rate-5 --request-rate 5
}

sglang() {
  local -x HF_HUB_OFFLINE=1
  environment sglang 3.12 aiohttp datasets msgspec numpy orjson pillow psutil pybase64 pyzmq requests tqdm transformers
  [ -d env-sglang/lib/python3.12/site-packages/sglang ] || uv pip install -q -p env-sglang --no-deps sglang==0.5.23
  local load=(torch,sglang/,sglang.srt.utils/,sglang.srt.disaggregation sglang.benchmark.serving --backend sglang
    --model $model --tokenizer ./tokenizer --dataset-name random-ids --random-input-len 128 --random-output-len 32
    --random-range-ratio 1)
  mkdir -p sglang-0.5.23
  rm -f sglang-0.5.23/*
  env-sglang/bin/python "$tools/alone.py" "${load[@]}" --base-url $plain --num-prompts 16 --max-concurrency 4 \
    --output-file sglang-0.5.23/concurrency-4.jsonl
  env-sglang/bin/python "$tools/alone.py" "${load[@]}" --base-url $failing --num-prompts 20 --request-rate 5 \
    --output-details --output-file sglang-0.5.23/rate-5-detailed-failures.jsonl
}

# vllm VERSION EMPTY PACKAGE...
vllm() {
  local -x HF_HUB_OFFLINE=1
  environment "vllm-$1" 3.12 aiohttp cachetools datasets msgspec numpy openai pandas pillow psutil pydantic pyyaml pyzmq \
    regex requests tqdm "${@:3}"
  [ -d "env-vllm-$1/lib/python3.12/site-packages/vllm" ] || uv pip install -q -p "env-vllm-$1" --no-deps "vllm==$1"
  local load=("torch,vllm/,vllm.lora,vllm.multimodal,vllm.utils/$2" vllm.benchmarks.serve --model $model
    --tokenizer ./tokenizer --dataset-name random --random-input-len 128 --random-output-len 32 --ignore-eos
    --save-result --result-dir "vllm-$1")
  "env-vllm-$1/bin/python" "$tools/alone.py" "${load[@]}" --base-url $plain --num-prompts 16 --max-concurrency 4 \
    --result-filename concurrency-4.json
  "env-vllm-$1/bin/python" "$tools/alone.py" "${load[@]}" --base-url $failing --num-prompts 20 --request-rate 5 \
    --burstiness 2 --save-detailed --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,95,99 \
    --result-filename rate-5-detailed-failures.json
}

vllm_0_15_1() {
  vllm 0.15.1 "" "transformers<5" gguf
}

vllm_0_33_0() {
  vllm 0.33.0 ,vllm.config/,vllm.inputs,vllm.utils.torch_utils,vllm.utils.torch_version "transformers>=5.16.1,<5.21"
}

environment server 3.11 aiohttp tokenizers "$rooflut"
[ -d tokenizer ] || env-server/bin/python "$tools/tokenizer.py"
start env-server/bin/python 8000
servers=$server
start env-server/bin/python 8001 --fail-every 5
servers+=" $server"
[ ${#clients[@]} -gt 0 ] || clients=(aiperf genai_perf sglang vllm_0_15_1 vllm_0_33_0)
for client in "${clients[@]}"; do "$client"; done
