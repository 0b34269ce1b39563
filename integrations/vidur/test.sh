#!/usr/bin/env bash
# Builds the package and tests it in runs of Vidur: test.sh [FOLDER [WHEEL]]
#
# FOLDER keeps the environment, target/vidur by default. WHEEL is that of rooflut; without it, it is built.
# Exit status: 75 if Python or the packages cannot be had.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
folder=$(realpath -m "${1:-$here/../../target/vidur}")
wheel=${2:+$(realpath "$2")}

unavailable() { echo "Vidur: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}" >&2; exit 75; }

# Vidur has wheels for two versions of Python.
environment=$folder/environment
if ! [ -x "$environment/bin/python" ]; then
  for python in python3 python3.11 python3.12; do
    "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null || continue
    "$python" -m venv "$environment"
    break
  done
fi
[ -x "$environment/bin/python" ] || unavailable "neither Python 3.11 nor 3.12 is installed, with venv"
PATH=$environment/bin:$PATH
python -m pip install -q -r "$here/requirements.txt" mypy pytest || unavailable "pip cannot install the packages"
python -m pip install -q --no-deps vidur==0.0.26 || unavailable "pip cannot install Vidur"
if [ -z "$wheel" ]; then
  python -m pip install -q 'maturin>=1.9,<2' || unavailable "pip cannot install maturin"
  rm -rf "$folder/wheels"
  python -m maturin build --release --locked --strip -q --out "$folder/wheels" \
    --manifest-path "$here/../../bindings/python/Cargo.toml"
  wheel=$(ls "$folder"/wheels/*.whl)
fi
python -m pip install -q --force-reinstall --no-deps "$wheel" "$here"

export PYTHONDONTWRITEBYTECODE=1 WANDB_MODE=disabled
cd "$here"
python -m mypy --cache-dir "$folder/mypy" src
python -m pytest -q -p no:cacheprovider
