#!/usr/bin/env bash
# The tests of the collector, in an environment of their own: check.sh FOLDER keeps it in FOLDER.
#
# torch is used where python3 can import it; the wheel of the default index brings CUDA (measured: 1 minute,
# 5.3 GB on disk), so it is installed only if ROOFLUT_COLLECT_TORCH=1. Without it the tests of the kernels
# are left out, and pytest says so.
set -euo pipefail
cd "$(dirname "$0")"
environment=${1:?"usage: check.sh FOLDER"}

leave_out() { echo "collector: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}"; exit 0; }
command -v python3 >/dev/null || leave_out "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || leave_out "python3 is older than 3.11"
python3 -c 'import ensurepip, venv' 2>/dev/null || leave_out "python3 has no venv (Debian: python3-venv)"

[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
python=$environment/bin/python
# python3 may itself be of an environment, which a new one does not see: name the folder that has torch.
if torch=$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' 2>/dev/null); then
  echo "$torch" >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
fi
rm -rf build  # Files of an earlier version would be installed too.
"$python" -m pip install -q --no-deps .
"$python" -m pip install -q pytest kubernetes-validate aiohttp
if [ "${ROOFLUT_COLLECT_TORCH:-}" = 1 ]; then "$python" -m pip install -q torch; fi
"$python" -m pytest -q -rs
# As installed: the command and its data.
"$environment/bin/rooflut-collect" run --plan models:llama-3.1-8b@tp1,2 --dry-run >/dev/null 2>&1
"$environment/bin/rooflut-collect" serve --help >/dev/null
tests/slurm/run.sh "$python"
