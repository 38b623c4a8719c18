#!/bin/sh
# Checks the types of console/, and what Svelte warns of. Nothing is done when nothing changed.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
stamp=.tools/console_check.stamp
if [ -f "$stamp" ] && [ -z "$(find console shared/gen .tools/setup.stamp -newer "$stamp" -print 2>&1 | head -n 1)" ]; then
  exit 0
fi
touch "$stamp.new"
tools/deno.sh run -A --quiet node_modules/svelte-check/bin/svelte-check \
  --workspace console --tsconfig tsconfig.json --fail-on-warnings --output human >.tools/console_check.log 2>&1 || {
  cat .tools/console_check.log
  exit 1
}
mv "$stamp.new" "$stamp"
