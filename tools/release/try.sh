#!/usr/bin/env bash
# Tries each file of a release in an empty environment: try.sh FOLDER, which release.sh has written.
set -euo pipefail
files=$(realpath "$1")
repository=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
(cd "$files" && sha256sum --quiet -c SHA256SUMS)
empty() { env -i "$@"; }
for archive in "$files"/*-linux.tar.gz; do tar -xf "$archive"; done
run=(run --model llama-3.1-8b --requests 100 --rate 4 --json)

command=$(echo rooflut-[0-9]*-linux)
empty "$command/rooflut" --version
empty "$command/rooflut" "${run[@]}" > expected.json
bash -n "$command/completions/rooflut.bash"
grep -q '^\.TH rooflut-run 1' "$command/man/rooflut-run.1"
# The symbols that it needs are those of an old glibc.
newest=$(objdump -T "$command/rooflut" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
echo "the command needs $newest"
[ "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -1)" = GLIBC_2.17 ]

# The example of the README in C, with each library.
library=$(echo rooflut-c-*-linux)
sed -n '/^```c$/,/^```$/{//!p}' "$library/README.md" > readme.c
flags=$(PKG_CONFIG_PATH=$library/lib/pkgconfig pkg-config --cflags rooflut)
cc -std=c11 $flags readme.c "-L$library/lib" -lrooflut_c -lpthread -lm -o shared
cc -std=c11 $flags readme.c "$library/lib/librooflut_c.a" -lpthread -ldl -lm -o static
empty "LD_LIBRARY_PATH=$library/lib" ./shared > shared.txt
empty ./static > static.txt
cmp shared.txt static.txt

# tried PACKAGE: installs it in an environment of its own; command and module answer as the command above.
tried() {
  python3 -m venv --clear environment
  environment/bin/pip install -q "$1"
  empty environment/bin/rooflut "${run[@]}" > found.json
  cmp expected.json found.json
  empty environment/bin/python -c 'import rooflut; print(rooflut.__file__)'
}
tried "$files"/rooflut-*.whl
CARGO_TARGET_DIR=$work/target tried "$files"/rooflut-[0-9]*[0-9].tar.gz
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["bomFormat"] == "CycloneDX"' "$files"/rooflut-*.cdx.json
echo "each file works"
