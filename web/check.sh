#!/bin/sh
# Checks the front end: types, the template in crates/html, and its tests in a browser.
# Ends with 75 where node or a browser cannot be had.
set -eu
cd "$(dirname "$0")"

unavailable() {
  echo "front end: $1: left out" | tee -a "${LEFT_OUT:-/dev/null}" >&2
  exit 75
}

has_browser() {
  [ -n "${CHROMIUM:-}" ] && return
  for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && return
  done
  return 1
}

install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

command -v npm >/dev/null || install nodejs npm || unavailable 'node is missing'
[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 20')" = true ] || unavailable 'node 20 or later is missing'
has_browser || install chromium-headless-shell || unavailable 'chromium is missing'

npm ci --ignore-scripts --no-audit --no-fund || unavailable 'the packages cannot be installed'
npm run --silent check
mkdir -p dist
node build.mjs "$PWD/dist/template.html"
if ! cmp dist/template.html ../crates/html/template.html; then
  echo 'crates/html/template.html is not what web/build.mjs writes; run: npm --prefix web run build' >&2
  exit 1
fi
npm test
