#!/bin/sh
# Checks the types of console/, and what Svelte warns of. Nothing is done when nothing changed.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
stamp=.tools/console_check.stamp
if [ -f "$stamp" ] && [ -z "$(find console shared/gen .tools/setup.stamp -newer "$stamp" -print 2>&1 | head -n 1)" ]; then
  exit 0
fi
log=$(mktemp .tools/console_check-XXXXXX)
trap 'rm -f "$log" "$stamp.$$"' EXIT
touch "$stamp.$$"
tools/deno.sh run -A --quiet node_modules/svelte-check/bin/svelte-check \
  --workspace console --tsconfig tsconfig.json --fail-on-warnings --output human >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
mv "$stamp.$$" "$stamp"
