#!/usr/bin/env bash
# Builds the C interface and installs it: install.sh PREFIX [CARGO PROFILE]. Header, shared and static library, and
# rooflut.pc for pkg-config.
set -euo pipefail
[ $# -ge 1 ] || { echo "expected a folder to install to: install.sh PREFIX" >&2; exit 2; }
prefix=$(realpath -m "$1")
profile=${2:-release}
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-../../target}
cargo build -p rooflut-c --lib --profile "$profile"
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../../Cargo.toml | head -1)

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
cp include/rooflut.h "$prefix/include/"
for library in librooflut_c.so librooflut_c.dylib librooflut_c.a; do
  if [ -e "$built/$library" ]; then cp "$built/$library" "$prefix/lib/"; fi
done
sed "s|@prefix@|$prefix|; s|@version@|$version|" rooflut.pc.in > "$prefix/lib/pkgconfig/rooflut.pc"
echo "installed rooflut $version: compile with PKG_CONFIG_PATH=$prefix/lib/pkgconfig, run with LD_LIBRARY_PATH=$prefix/lib"
