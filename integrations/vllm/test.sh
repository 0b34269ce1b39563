#!/usr/bin/env bash
# Tests the package with each version of vLLM, or those in ROOFLUT_VLLM_VERSIONS: test.sh [FOLDER [WHEEL]]
#
# FOLDER keeps the environment, target/vllm by default, and the sources of vLLM unless ROOFLUT_VLLM names another folder.
# WHEEL is that of rooflut, built from bindings/python without it.
# Exit status: 0 if all tests pass, 1 if any fails, 75 if Python, packages or all wheels of vLLM cannot be had.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
folder=$(realpath -m "${1:-$here/../../target/vllm}")
wheel=$(realpath -m "${2:-$here/../../bindings/python}")
cd "$here"
export ROOFLUT_VLLM=${ROOFLUT_VLLM:-$folder}

left_out() { echo "vLLM: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}" >&2; }
unavailable() { left_out "$1"; exit 75; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || unavailable "python3 is older than 3.11"
python3 -c 'import ensurepip, venv' 2>/dev/null || unavailable "python3 has no venv (Debian: python3-venv)"
[ -e "$wheel" ] || unavailable "$wheel, rooflut's wheel, is missing"

environment=$folder/environment
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
PATH=$environment/bin:$PATH
python -m pip install -q -r ../../tools/vllm-schedule/requirements.txt pandas polars pytest ruff ||
  unavailable "pip cannot install the packages"
python -m pip install -q --force-reinstall --no-deps "$wheel"
python -m pip install -q --force-reinstall --no-deps .

python -m ruff check -q --no-cache .
versions=${ROOFLUT_VLLM_VERSIONS:-$(python -c 'import rooflut_vllm; print(*rooflut_vllm.VERSIONS)')}
tested=75
for version in $versions; do
  if python -m rooflut_vllm fetch "$version"; then
    # A process loads one version.
    PYTHONDONTWRITEBYTECODE=1 VLLM_VERSION=$version python -m pytest -q -rs -p no:cacheprovider
    tested=0
  else
    left_out "pip cannot fetch the wheel of $version"
  fi
done
exit $tested
