#!/bin/sh
# launch.sh PROGRAM FOLDERS ARGS…   runs a program from its bundle in .tools/bundle/, which is made
# again first when a source in its folders (one argument, apart by spaces) is newer. Ends in exec:
# signals and exit codes are the program's own.
set -eu
# Programs started one after another cost time: what the shell itself can do starts none.
here=${0%/*}
[ "$here" != "$0" ] || here=.
root=$(CDPATH='' cd -- "$here/.." && pwd -P)
program=$1
folders=$2
shift 2
bundle="$root/.tools/bundle/$program"

# shellcheck disable=SC2086 # several folders
# Folders count too: their time changes when a file in them is removed. Tests that have looked once
# (tools/test/bundle_programs.ts) say so in MACHINE_TEST_BUNDLED.
stale() {
  [ -f "$bundle/stamp" ] || return 0
  [ "${MACHINE_TEST_BUNDLED:-}" != true ] || return 1
  [ -n "$(cd "$root" && find $folders shared install tools/bundle tools/programs.ts deno.json deno.lock \
    ! -name '*_test.ts' -newer "$bundle/stamp" -print 2>&1)" ]
}

if stale; then
  "$root/tools/setup.sh" programs >&2
  "$root/tools/deno.sh" run -A --quiet --config "$root/deno.json" \
    "$root/tools/bundle/main.ts" "$program" >&2 || {
    echo "$program: cannot be bundled from its sources, see above." >&2
    exit 1
  }
fi

flags=''
while read -r name more; do
  [ "$name" = "$program" ] || continue
  for flag in $more; do flags="${flags:+$flags,}$flag"; done
done <"$root/tools/v8_flags.txt"
# No code cache: the start that makes it keeps 30 MB for it, and each later one 3 MB, for 45 ms.
exec "$root/tools/deno.sh" run -A --quiet --no-config --no-lock --no-code-cache ${flags:+"--v8-flags=$flags"} \
  "$bundle/main.mjs" "$@"
