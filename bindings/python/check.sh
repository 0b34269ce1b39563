#!/usr/bin/env bash
# Builds the wheel and tests it: check.sh [FOLDER [ROOFLUT]]
#
# FOLDER keeps the environment and what is built, target/python by default. ROOFLUT is the binary with which the answers
# are compared; without it, with the command of the package.
set -euo pipefail
cd "$(dirname "$0")"
folder=$(realpath -m "${1:-../../target/python}")
[ $# -lt 2 ] || { ROOFLUT=$(realpath "$2"); export ROOFLUT; }

leave_out() { echo "Python: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}"; exit 0; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || leave_out "python3 is missing or older than 3.9"
python3 -c 'import ensurepip, venv' 2>/dev/null || leave_out "python3 has no venv (Debian: python3-venv)"

environment=$folder/environment
# Scripts of an environment that was moved or copied start the Python of its former place.
"$environment/bin/pip" --version 2>/dev/null | grep -qF "$environment/" || python3 -m venv --clear "$environment"
PATH=$environment/bin:$PATH
pip install -q 'maturin>=1.9,<2' jsonschema mypy numpy pandas pandas-stubs polars pyarrow pyright pytest uv
# The tests of an engine that cannot be had are skipped, and add themselves to $LEFT_OUT.
pip install -q ray || true
pip install -q 'dask[distributed]' || true

rm -rf "$folder/wheels"
maturin build --release --locked --strip --out "$folder/wheels"
WHEEL=$(ls "$folder"/wheels/*.whl)
export WHEEL
pip install -q --force-reinstall --no-deps "$WHEEL"

# The types of the installed package, of its stubs and of a program that uses it.
mypy python/rooflut tests/typed.py
python -m mypy.stubtest --ignore-disjoint-bases rooflut
pyright --pythonpath "$environment/bin/python" python/rooflut tests/typed.py
pytest -q -rs
# As a tool without an installation.
uvx -q --from "$WHEEL" rooflut --version
