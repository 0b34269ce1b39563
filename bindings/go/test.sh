#!/usr/bin/env bash
# Vets, builds and tests the Go package against the C interface at PREFIX (bindings/c/install.sh): test.sh PREFIX. What is
# left out is added to $LEFT_OUT.
set -euo pipefail
[ $# = 1 ] || { echo "expected the folder of the C interface: test.sh PREFIX" >&2; exit 2; }
prefix=$(realpath "$1")
cd "$(dirname "$0")"
step() { printf '\n== %s\n' "$*"; "$@"; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib CGO_ENABLED=1

step test -z "$("$(go env GOROOT)/bin/gofmt" -l .)"
step go vet ./...
step go test ./...
step go test -race ./...
step go test -run '^$' -bench . -benchtime 100x .
step go run ./examples/simulator
