#!/usr/bin/env bash
# Vets, builds and tests the Go package against the C interface at PREFIX (bindings/c/install.sh): test.sh PREFIX. What is
# left out is added to $LEFT_OUT.
set -euo pipefail
[ $# = 1 ] || { echo "expected the folder of the C interface: test.sh PREFIX" >&2; exit 2; }
prefix=$(realpath "$1")
cd "$(dirname "$0")"
step() { printf '\n== %s\n' "$*"; "$@"; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib CGO_ENABLED=1

unformatted=$("$(go env GOROOT)/bin/gofmt" -l .)
[ -z "$unformatted" ] || { printf 'expected files as gofmt writes them, found\n%s\n' "$unformatted" >&2; exit 1; }
step go vet ./...
# Results that Go has cached are not of this library.
step go test -count=1 ./...
step go test -count=1 -race ./...
step go test -run '^$' -bench . -benchtime 100x .
step go run ./examples/simulator
# The program of the README.
readme=$(mktemp --suffix .go)
trap 'rm "$readme"' EXIT
sed -n '/^```go$/,/^```$/{//!p}' README.md > "$readme"
step go run "$readme"
