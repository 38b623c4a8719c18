#!/bin/sh
# Brings a checkout to the state in which everything runs: the pinned Deno and the npm packages of
# deno.lock. Cheap when nothing changed. With CI=true a deno.lock that does not match is an error.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"

stamp=.tools/setup.stamp
if [ -f "$stamp" ] && [ -d node_modules/.deno ] &&
  [ -z "$(find deno.json deno.lock tools/pins.txt -newer "$stamp")" ]; then
  exit 0
fi

frozen=""
[ "${CI:-}" != true ] || frozen=--frozen
mkdir -p .tools
log=$(mktemp .tools/setup-XXXXXX)
trap 'rm -f "$log"' EXIT
echo "Setting up, once: the pinned Deno (42 MB) and the npm packages …" >&2
# shellcheck disable=SC2086 # empty means no argument
tools/deno.sh install $frozen >"$log" 2>&1 || {
  cat "$log" >&2
  echo "setup.sh: deno install failed, see above. It needs the npm registry (or the cache of an earlier run)." >&2
  exit 1
}
touch "$stamp"
