#!/usr/bin/env bash
# Compares rooflut's limits, its reading of `vllm serve` and its schedule with vLLM's own functions, flags and scheduler:
#
#   check.sh FOLDER ROOFLUT VERSIONS [--short] [other arguments of check.py]
#
# VERSIONS are separated by commas. FOLDER keeps the environment and the Python sources of each version; its wheel (340
# to 510 MB) is fetched once. A version whose wheel cannot be had is left out, which is said.
# Exit status: 0 if nothing differs, 1 if anything does, 75 if Python or all wheels cannot be had.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
usage="usage: check.sh FOLDER ROOFLUT VERSIONS [--short]"
folder=$(realpath -m "${1:?$usage}")
rooflut=$(realpath "${2:?$usage}")
versions=${3:?$usage}
shift 3

left_out() { echo "schedule of vLLM: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}" >&2; }
unavailable() { left_out "$1"; exit 75; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || unavailable "python3 is older than 3.11"
python3 -c 'import ensurepip, venv' 2>/dev/null || unavailable "python3 has no venv (Debian: python3-venv)"

environment=$folder/environment
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/python" -m pip install -q -r "$here/requirements.txt" || unavailable "pip cannot install the packages"

sources=()
for version in ${versions//,/ }; do
  if "$environment/bin/python" "$here/../../integrations/vllm/src/rooflut_vllm/fetch.py" "$version" "$folder"; then
    sources+=("$folder/vllm-$version")
  else
    left_out "pip cannot fetch the wheel of $version"
  fi
done
[ ${#sources[@]} -gt 0 ] || exit 75
export PYTHONDONTWRITEBYTECODE=1
"$environment/bin/python" "$here/defaults.py" "$rooflut" --vllm "${sources[@]}"
"$environment/bin/python" "$here/flags.py" --vllm "${sources[@]}"
"$environment/bin/python" "$here/forms.py" "$rooflut" --vllm "${sources[@]}"
exec "$environment/bin/python" "$here/check.py" "$rooflut" --vllm "${sources[@]}" "$@"
