#!/usr/bin/env bash
# Makes a release twice, compares them byte by byte and tries each file: twice.sh OUT
set -euo pipefail
here=$(realpath "$(dirname "$0")")
[ $# = 1 ] || { echo "expected a folder to write to: twice.sh OUT" >&2; exit 2; }
again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
"$here/release.sh" "$1"
"$here/release.sh" "$again"
diff -r "$1" "$again"
echo "twice the same bytes"
"$here/try.sh" "$1"
