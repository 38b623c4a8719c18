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

# The packages of deno.json with their versions, without those that a list names.
packages_without() { # LIST…
  sed -n 's/^ *"\([^"]*\)": "\(npm:[^"]*\)",*$/\1 \2/p' deno.json |
    while read -r name package; do
      while read -r pattern _; do
        # shellcheck disable=SC2254 # a pattern
        case $name in $pattern) continue 2 ;; esac
      done <<EOF
$(cat "$@")
EOF
      echo "$package"
    done
}

# Installs all packages, or those that are named. Deno looks the registry's name up for each package
# at once, and a resolver that answers only so many queries a second drops the others: they are
# repeated after 1 s in place of 5, and there are half as many without those for addresses of IPv6,
# which are left out where IPv4 has a way out.
install() { # [PACKAGE…]
  options="timeout:1 attempts:5"
  ! grep -qs '^[^[:space:]]*[[:space:]]00000000[[:space:]]' /proc/net/route || options="$options no-aaaa"
  # shellcheck disable=SC2086
  step "deno install failed, see above. It needs the npm registry (or the cache of an earlier run)." \
    env RES_OPTIONS="${RES_OPTIONS:-$options}" tools/deno.sh install $frozen ${1:+--entrypoint "$@"}
}

development=tools/development_packages.txt
console=tools/console_packages.txt
all=.tools/setup.stamp
stamp=$all
only_programs=""
if [ "${1:-}" = programs ] && [ ! -f "$all" ]; then
  stamp=.tools/setup_programs.stamp
  only_programs=true
fi
install_more=""
if [ ! -d node_modules/.deno ] || newer "$stamp" deno.json deno.lock tools/pins.txt $development $console; then
  now "Setting up, once: the pinned Deno (42 MB)"
  step "Deno cannot be fetched, see above." tools/find_deno.sh
  if [ -z "$only_programs" ]; then
    now "Setting up, once: the npm packages"
    install
    touch "$stamp"
  else
    now "Setting up, once: the npm packages of the programs"
    # shellcheck disable=SC2046
    install $(packages_without $development $console)
    install_more=true
  fi
fi

# Programs that never ran are bundled while the console is built; what fails here is bundled as it
# starts, which says why. The cloud's bundle takes the console in, once its input ends. Deno is not to
# look after node_modules: it would wait until the packages of the console are installed there.
bundle() { # PROGRAM…
  [ $# = 0 ] || tools/deno.sh run -A --quiet --node-modules-dir=manual \
    tools/bundle/main.ts "$@" >/dev/null 2>&1 || true
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

programs_stamp=$stamp
stamp=.tools/console.stamp
build_console() {
  if [ -n "$install_more" ]; then
    # shellcheck disable=SC2046
    install $(packages_without $development)
    touch "$programs_stamp"
  fi
  # Of the moment before the sources are read; one for each, as two may build at once.
  touch "$stamp.$$"
  # shellcheck disable=SC2086
  step "the console cannot be built, see above." \
    tools/deno.sh run -A $frozen --quiet --no-check tools/console/main.ts
  mv "$stamp.$$" "$stamp"
}
if [ -n "$install_more" ] || [ ! -f .tools/console/index.html ] ||
  newer "$stamp" console shared/gen shared/config shared/registry server/models tools/console deno.json deno.lock tools/pins.txt; then
  now "${install_more:+Fetching the npm packages of the console, }building the console${cloud:+ and the programs}"
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
