#!/bin/sh
# Brings a checkout to the state in which everything runs: the pinned Deno, the npm packages of
# deno.lock and the built console. Cheap when nothing changed. With CI=true a deno.lock that does not
# match is an error.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"

frozen=""
[ "${CI:-}" != true ] || frozen=--frozen
mkdir -p .tools
log=$(mktemp .tools/setup-XXXXXX)
trap 'rm -f "$log"' EXIT

# Runs a step; what it printed is shown when it fails.
step() { # ADVICE COMMAND…
  advice=$1
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "setup.sh: $advice" >&2
    exit 1
  }
}

# Whether something is newer than a file, which may be missing. Folders count: their time changes when
# a file in them is removed.
newer() { # FILE PATH…
  file=$1
  shift
  [ ! -f "$file" ] || [ -n "$(find "$@" ! -name '*_test.ts' -newer "$file" -print 2>&1 | head -n 1)" ]
}

stamp=.tools/setup.stamp
if [ ! -d node_modules/.deno ] || newer "$stamp" deno.json deno.lock tools/pins.txt; then
  echo "Setting up, once: the pinned Deno (42 MB) and the npm packages …" >&2
  # shellcheck disable=SC2086 # empty means no argument
  step "deno install failed, see above. It needs the npm registry (or the cache of an earlier run)." \
    tools/deno.sh install $frozen
  touch "$stamp"
fi

stamp=.tools/console.stamp
if [ ! -f .tools/console/index.html ] ||
  newer "$stamp" console shared/gen shared/config shared/registry server/models tools/console .tools/setup.stamp; then
  # Of the moment before the sources are read; one for each, as two may build at once.
  touch "$stamp.$$"
  # shellcheck disable=SC2086
  step "the console cannot be built, see above." \
    tools/deno.sh run -A $frozen --quiet --no-check tools/console/main.ts
  mv "$stamp.$$" "$stamp"
fi
