#!/usr/bin/env bash
# Builds the C interface and tests it from C: bad input, also under valgrind, AddressSanitizer and ThreadSanitizer where
# they can be had, from C++, and the example with CMake. test.sh [CARGO PROFILE]; what is left out is added to $LEFT_OUT.
set -euo pipefail
cd "$(dirname "$0")"
profile=${1:-dev}
target=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")
out=$target/bindings/c
left_out=${LEFT_OUT:-/dev/null}
mkdir -p "$out"

step() { printf '\n== %s\n' "$*"; "$@"; }
have() { command -v "$1" >/dev/null || { echo "C: $1 is not installed" | tee -a "$left_out"; false; }; }

step ./install.sh "$out/prefix" "$profile"
flags=(-std=c11 -Wall -Wextra -Werror -pedantic -g "-I$out/prefix/include")
shared=("-L$out/prefix/lib" -lrooflut_c "-Wl,-rpath,$out/prefix/lib" -lpthread -lm)
static=("$out/prefix/lib/librooflut_c.a" -lpthread -ldl -lm)

have cc || exit 0
step cc "${flags[@]}" tests/c/bad_input.c "${shared[@]}" -o "$out/bad_input"
step "$out/bad_input"
step cc "${flags[@]}" tests/c/bad_input.c "${static[@]}" -o "$out/bad_input_static"
step "$out/bad_input_static"
if have valgrind; then
  # Without --fair-sched, a thread can starve the others.
  step valgrind -q --fair-sched=try --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite "$out/bad_input"
fi
# sanitized NAME RUNTIME CARGO-ARGUMENT...: runs the test with a sanitizer in the library and in itself, with Rust's runtime.
sanitized() {
  local host runtime built=$target/$1
  host=$(rustc -vV | sed -n 's/^host: //p')
  runtime=$(find "$(rustc --print sysroot)/lib/rustlib/$host" -name "librustc-*_rt.$2.a")
  RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=$1 \
    step cargo build -q -p rooflut-c --lib --target "$host" --target-dir "$built" "${@:3}"
  step cc "-fsanitize=$1" "${flags[@]}" -c tests/c/bad_input.c -o "$out/bad_input_$2.o"
  step c++ "$out/bad_input_$2.o" "$built/$host/debug/librooflut_c.a" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
    -Wl,--export-dynamic -lpthread -ldl -lm -o "$out/bad_input_$2"
  step "$out/bad_input_$2"
}
# The locks are those of the standard library: ThreadSanitizer knows them if that is built with it.
if [ "$(uname -s)" = Linux ] && have c++ && rustup component add rust-src; then
  sanitized address asan
  sanitized thread tsan -Zbuild-std
else
  echo "C: AddressSanitizer and ThreadSanitizer: the sources of Rust's standard library cannot be had" | tee -a "$left_out"
fi
# The example of the README.
sed -n '/^```c$/,/^```$/{//!p}' README.md > "$out/readme.c"
step cc "${flags[@]}" "$out/readme.c" "${shared[@]}" -o "$out/readme"
step "$out/readme"
for program in agreement commands; do
  step cc -O2 "${flags[@]}" "tests/c/$program.c" "${shared[@]}" -o "$out/$program"
done
if have c++; then
  step c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only "-I$out/prefix/include" -x c++ - <<< '#include "rooflut.h"'
fi
if have cmake && have pkg-config; then
  export PKG_CONFIG_PATH=$out/prefix/lib/pkgconfig
  step cmake -S example -B "$out/example"
  step cmake --build "$out/example"
  step "$out/example/steps"
fi
