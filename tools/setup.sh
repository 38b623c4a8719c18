#!/bin/sh
# setup.sh                       brings a checkout to the state in which everything runs: the pinned
#                                Deno, the npm packages of deno.lock and the built console
# setup.sh programs [PROGRAM…]   only what running the programs from source needs: a checkout that was
#                                never set up whole gets no development_packages.txt; the PROGRAMs
#                                named are bundled at once when they have never run
# Cheap when nothing changed. With CI=true a deno.lock that does not match is an error.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"

frozen=""
[ "${CI:-}" != true ] || frozen=--frozen
mkdir -p .tools
log=$(mktemp .tools/setup-XXXXXX)
trap 'rm -f "$log" "$log.failed"' EXIT

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

# Says what is done now, and how long what was said before took.
at=""
now() { # WHAT
  time=$(date +%s)
  [ -z "$at" ] || echo "  … $((time - at)) s" >&2
  at=$time
  [ -z "$1" ] || echo "$1" >&2
}

# Whether something is newer than a file, which may be missing. Folders count: their time changes when
# a file in them is removed.
newer() { # FILE PATH…
  file=$1
  shift
  [ ! -f "$file" ] || [ -n "$(find "$@" ! -name '*_test.ts' -newer "$file" -print 2>&1 | head -n 1)" ]
}

# The packages of deno.json that running needs, as deno.json names them, with their versions.
packages_to_run() {
  sed -n 's/^ *"\([^"]*\)": "\(npm:[^"]*\)",*$/\1 \2/p' deno.json |
    while read -r name package; do
      while read -r pattern _; do
        # shellcheck disable=SC2254 # a pattern
        case $name in $pattern) continue 2 ;; esac
      done <tools/development_packages.txt
      echo "$package"
    done
}

all=.tools/setup.stamp
stamp=$all
what="the npm packages"
packages=""
if [ "${1:-}" = programs ] && [ ! -f "$all" ]; then
  stamp=.tools/setup_programs.stamp
  what="the npm packages that running needs"
  packages="--entrypoint $(packages_to_run)"
fi
if [ ! -d node_modules/.deno ] || newer "$stamp" deno.json deno.lock tools/pins.txt tools/development_packages.txt; then
  now "Setting up, once: the pinned Deno (42 MB)"
  step "Deno cannot be fetched, see above." tools/find_deno.sh
  now "Setting up, once: $what"
  # Deno looks the registry's name up for each package at once, and a resolver that answers less
  # at a time drops queries: the system then waits 5 s for each 30 of them, unless told otherwise.
  # shellcheck disable=SC2086 # several arguments or none
  step "deno install failed, see above. It needs the npm registry (or the cache of an earlier run)." \
    env RES_OPTIONS="${RES_OPTIONS:-timeout:1 attempts:5}" tools/deno.sh install $frozen $packages
  touch "$stamp"
fi

# Programs that never ran are bundled while the console is built; what fails here is bundled as it
# starts, which says why. The cloud's bundle takes the console in, once its input ends.
bundle() { # PROGRAM…
  [ $# = 0 ] || tools/deno.sh run -A --quiet tools/bundle/main.ts "$@" >/dev/null 2>&1 || true
}
others=""
cloud=""
if [ "${1:-}" = programs ]; then
  shift
  for program; do
    [ ! -f ".tools/bundle/$program/stamp" ] || continue
    if [ "$program" = machine-cloud ]; then cloud=$program; else others="$others $program"; fi
  done
fi

stamp=.tools/console.stamp
build_console() {
  # Of the moment before the sources are read; one for each, as two may build at once.
  touch "$stamp.$$"
  # shellcheck disable=SC2086
  step "the console cannot be built, see above." \
    tools/deno.sh run -A $frozen --quiet --no-check tools/console/main.ts
  mv "$stamp.$$" "$stamp"
}
if [ ! -f .tools/console/index.html ] ||
  newer "$stamp" console shared/gen shared/config shared/registry server/models tools/console deno.json deno.lock tools/pins.txt; then
  now "Building the console${cloud:+ and the programs}"
  # shellcheck disable=SC2086
  bundle $others &
  if [ -z "$cloud" ]; then
    build_console
  else
    { (build_console) || touch "$log.failed"; } | bundle --assets-last "$cloud"
    [ ! -f "$log.failed" ] || exit 1
  fi
else
  # shellcheck disable=SC2086
  bundle $others $cloud
fi
wait
now ""
