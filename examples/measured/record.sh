#!/usr/bin/env bash
# Measures the loads of this folder again: record.sh PYTHON, of an environment with rooflut, rooflut-collect[serve] and
# aiohttp. The mock server answers at the times of server.toml, and today.json is of a server whose steps take 1 ms longer:
# the formats and the client are real, the server is made up.
set -euo pipefail
cd "$(dirname "$0")"
source ../../tools/clients/start.sh
python=$1
results=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -r "$results"' EXIT

# measure NAME ENGINE USERS REQUESTS
measure() {
  start "$python" 8123 --no-tokenizer --engine "$2"
  "$python" -m rooflut_collect serve --url http://127.0.0.1:8123 --out "$results/$1" --seed 1 \
    --users "$3" --requests "$4" --prompt 512 --output 64
  kill "$server"
  wait "$server" || true
  # As without --save-detailed: sums only.
  "$python" - "$results/$1"/*.json "$1.json" <<'END'
import json, sys

result = json.load(open(sys.argv[1]))
ours = result["rooflut_collect"]
result["rooflut_collect"] = {key: value for key, value in ours.items() if not isinstance(value, list)}
sums = {key: value for key, value in result.items() if not isinstance(value, list)}
open(sys.argv[2], "w").write(json.dumps(sums, indent=1) + "\n")
END
}

measure users-4 ./server.toml 4 48
measure users-16 ./server.toml 16 96
measure users-32 ./server.toml 32 128
measure users-64 ./server.toml 64 256
measure again ./server.toml 16 96
sed '/^\[constants\]/a host = { value = 1620, unit = "us" }' server.toml > "$results/slower.toml"
measure today "$results/slower.toml" 16 96
