#!/usr/bin/env bash
# Makes what users download, from the commit that is checked out: release.sh OUT
#
# OUT gets the command with completions and manual pages, the C library, wheel and sdist of the Python package, the
# licences of what they contain, an SBOM and SHA256SUMS, for x86-64 Linux with the glibc below or later. The same
# commit, toolchain and tools give the same bytes; `twice.sh` proves it, and `try.sh` tries each file. Needs Rust,
# Python with venv, tar and the package registries.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 1 ] || { echo "expected a folder to write to: release.sh OUT" >&2; exit 2; }
out=$(realpath -m "$1")
glibc=2.17
tools=(maturin==1.16.0 cargo-zigbuild==0.24.1 ziglang==0.13.0.post1)

changes=$(git status --porcelain)
[ -z "$changes" ] || { printf 'expected a clean commit, found changes; commit or stash them:\n%s\n' "$changes" >&2; exit 1; }
[ ! -e "$out" ] || [ -z "$(ls -A "$out")" ] || { echo "$out: expected an empty folder" >&2; exit 1; }
mkdir -p "$out"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# A fixed folder: Cargo derives the names of symbols from the path of a package that is above its workspace, as the
# Python module's dependencies are.
work=/tmp/rooflut-release
mkdir "$work" || { echo "$work: another release is being made; wait, or remove it if none is" >&2; exit 1; }
trap 'rm -rf "$work"' EXIT
# A clone has nothing that git does not have.
source=$work/source
git clone -q . "$source"
git -C "$source" checkout -q --detach "$(git rev-parse HEAD)"
SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
cd "$source"

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q "${tools[@]}"
# zig links, against an old glibc. No path of this machine is in what is built.
export PATH=$work/tools/bin:$PATH CARGO_TARGET_DIR=$work/target
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"$'\x1f'"--remap-path-prefix=$work=rooflut"
target=x86_64-unknown-linux-gnu
cargo zigbuild -q --locked --profile dist --target "$target.$glibc" -p rooflut-cli -p rooflut-c --bin rooflut --lib
built=$CARGO_TARGET_DIR/$target/dist
maturin build -q --locked --profile dist --zig --compatibility "manylinux_${glibc/./_}" --target "$target" -m bindings/python/Cargo.toml --out "$out"

# The sources of the wheel: maturin cannot make them of a project that is not above its dependencies.
sdist=rooflut-$version
project=$(sed 's|^readme = "|&bindings/python/|; s|^python-source = "|manifest-path = "bindings/python/Cargo.toml"\n&bindings/python/|' bindings/python/pyproject.toml)
metadata=$(python3 -c 'import sys, zipfile; wheel = zipfile.ZipFile(sys.argv[1]); print(wheel.read(sys.argv[2]).decode())' \
  "$out"/*.whl "$sdist.dist-info/METADATA")
git archive --prefix="$sdist/" --add-virtual-file="$sdist/pyproject.toml:$project"$'\n' \
  --add-virtual-file="$sdist/PKG-INFO:$metadata"$'\n' HEAD -- . \
  ':!.ci' ':!.github' ':!bindings/agreement' ':!bindings/c' ':!bindings/go' ':!bindings/wasm' ':!docs' ':!integrations' ':!tests' ':!tools' ':!web' |
  gzip -9n > "$out/$sdist.tar.gz"

python3 tools/release/notices.py "$version" "$(git rev-parse HEAD)" "$out"
licences=(LICENSE-APACHE LICENSE-MIT "$out/THIRD-PARTY.txt")
# archive NAME: packs the folder NAME, with the licences.
archive() {
  cp "${licences[@]}" "$work/$1/"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX -C "$work" -c "$1" |
    gzip -9n > "$out/$1.tar.gz"
}

command=rooflut-$version-x86_64-linux
mkdir -p "$work/$command"/{completions,man}
strip -o "$work/$command/rooflut" "$built/rooflut"
cp README.md CHANGELOG.md "$work/$command/"
rooflut=$work/$command/rooflut
for shell in bash elvish fish powershell zsh; do
  "$rooflut" completions "$shell" > "$work/$command/completions/rooflut.$shell"
done
# man COMMAND...: writes the page of a command, and those of its commands, which the page names (`rooflut\-run(1)`).
man() {
  local page line start
  page="$work/$command/man/$(IFS=-; echo "rooflut${*:+-$*}").1"
  start=$(IFS=-; echo "rooflut-${*:+$*-}")
  "$rooflut" man "$@" > "$page"
  while IFS= read -r line; do
    line=${line//\\-/-}
    [[ $line != "$start"*'(1)' || $line == *-help'(1)' ]] || { line=${line#"$start"}; man "$@" "${line%(1)}"; }
  done < <(grep '^rooflut.*(1)$' "$page" || true)
}
man
archive "$command"

library=rooflut-c-$version-x86_64-linux
mkdir -p "$work/$library"/{include,lib/pkgconfig}
cp bindings/c/README.md "$work/$library/"
cp bindings/c/include/rooflut.h "$work/$library/include/"
strip --strip-debug --enable-deterministic-archives -o "$work/$library/lib/librooflut_c.a" "$built/librooflut_c.a"
strip --strip-unneeded -o "$work/$library/lib/librooflut_c.so" "$built/librooflut_c.so"
# pkg-config finds the library wherever it is unpacked.
sed "s|@prefix@|\${pcfiledir}/../..|; s|@version@|$version|" bindings/c/rooflut.pc.in > "$work/$library/lib/pkgconfig/rooflut.pc"
archive "$library"

(cd "$out" && sha256sum -- * > "$work/SHA256SUMS")
mv "$work/SHA256SUMS" "$out/"
ls -l "$out"
