#!/usr/bin/env bash
# Compares the texts of the C interface with those that the command prints, byte by byte: commands.sh ROOFLUT COMMANDS,
# the command and the program of bindings/c/tests/c/commands.c.
set -euo pipefail
rooflut=$(realpath "$1")
commands=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"

# agree FUNCTION TOML WANTED FLAG...: the flags say what TOML and WANTED say. Lines like $without are left out.
without=
agree() {
  local function=$1 toml=$2 wanted=$3
  shift 3
  "$commands" "$function" "$toml" "$wanted" > c
  "$rooflut" "$function" "$@" > rust
  if [ -n "$without" ]; then
    sed -i "/$without/d" rust c
  fi
  cmp rust c || { echo "$function: expected the text of rooflut $function $*" >&2; exit 1; }
  echo "$function: $(wc -c < c) bytes"
}

printf '[h100]\nusd_per_hour = 2.5\nsource = "mine"\ndate = "2026-01"\n' > prices.toml
printf '100\n900\n' > lengths.csv
load=$'model = "llama-3.1-8b"\n[workload]\nrequests = 200\nrate = 4\n'
agree run "$load" "" --model llama-3.1-8b --requests 200 --rate 4 --json
load=$'model = "llama-3.1-8b"\n[workload]\nrequests = 200\nrate = 20\npatience = 0.5\nretries = 1\n'
agree run "$load"$'[server]\nreplicas = 2\nlose = ["1@2s..5s"]' "" \
  --model llama-3.1-8b --requests 200 --rate 20 --patience 0.5 --retries 1 --replicas 2 --lose 1@2s..5s --json
printf '[[fleet]]\ngpu = "h200"\n[[fleet]]\ngpu = "l40s"\nreplicas = 2\n' > fleet.toml
# Only a fleet of a file has a flag, and so a command.
without='^  "command": '
agree run "$load$(cat fleet.toml)" "" \
  --model llama-3.1-8b --requests 200 --rate 20 --patience 0.5 --retries 1 --fleet fleet.toml --json
without=
agree plan $'model = "llama-3.1-8b"\n[workload]\nrate = 30\nprompt = 2000\n[server]\nlink_bandwidth = 50\nlink_latency = 10' \
  '{"goodput": ["ttft:400", "tpot:15"], "gpu": ["h100", "l40s"], "tp": [1], "max_gpus": 16, "count": 1}' \
  --model llama-3.1-8b --rate 30 --prompt 2000 --link-bandwidth 50 --link-latency 10 --goodput ttft:400 tpot:15 \
  --gpu h100,l40s --tp 1 --max-gpus 16 --count 1 --json
load=$'model = "llama-3.1-8b"\n[workload]\nrequests = 200\nrate = 4\n'
agree fits 'model = "llama-3.1-70b"' '{"batch": 8, "context": 16384}' --model llama-3.1-70b --batch 8 --context 16384 --json
agree fits $'model = "qwen3-14b"\ngpu = "h200"\ntp = 2\n[output]\nprices = "prices.toml"' "" \
  --model qwen3-14b --gpu h200 --tp 2 --prices prices.toml --json
agree plan "$load"$'[output]\nprices = "prices.toml"' \
  '{"goodput": ["ttft:1000@p95", "tpot:20@p95"], "gpu": ["h100", "h200"], "tp": [1, 2], "count": 2}' \
  --model llama-3.1-8b --requests 200 --rate 4 --prices prices.toml --goodput ttft:1000@p95 tpot:20@p95 --gpu h100,h200 \
  --tp 1,2 --count 2 --json
agree plan $'model = "llama-3.1-8b"\ntp = 2\n[workload]\nrequests = 200\nrate = 4' \
  '{"goodput": ["ttft:1000"], "attainment": 0.9, "max_gpus": 8}' \
  --model llama-3.1-8b --tp 2 --requests 200 --rate 4 --goodput ttft:1000 --attainment 0.9 --max-gpus 8 --json
agree saturate $'model = "llama-3.1-8b"\n[workload]\nrequests = 200\nseeds = 1' "" \
  --model llama-3.1-8b --requests 200 --seeds 1 --json
agree saturate $'model = "llama-3.1-8b"\n[workload]\nrequests = 200\nseeds = 1' \
  '{"goodput": ["tpot:12@p90"], "tolerance": 0.05}' \
  --model llama-3.1-8b --requests 200 --seeds 1 --goodput tpot:12@p90 --tolerance 0.05 --json
# Rows with an error, a file among the values, and an output of one run, which a sweep drops.
grid=$'model = "llama-3.1-8b"\n[workload]\nrequests = 50\n[output]\njson = true\ngoodput = ["ttft:500"]\n[sweep]\n'
grid+=$'tp = [1, 2, 3]\nrate = "1..9:4"\nprompt = ["512", "file:lengths.csv"]'
printf '%s' "$grid" > grid.toml
agree sweep "$grid" "" --scenario grid.toml
# The hash of the grid tells a changed file.
cp c before
echo 500 >> lengths.csv
agree sweep "$grid" "" --scenario grid.toml
! cmp -s before c
