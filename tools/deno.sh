#!/bin/sh
# Runs the pinned Deno with the given arguments, and makes it the `deno` on PATH for what it starts.
set -eu
here=${0%/*}
[ "$here" != "$0" ] || here=.
root=$(CDPATH='' cd -- "$here/.." && pwd -P)
deno=$("$root/tools/find_deno.sh")
# Behind a proxy with a private certificate authority only the system's store knows it.
export DENO_TLS_CA_STORE="${DENO_TLS_CA_STORE:-system,mozilla}"
export DENO_NO_UPDATE_CHECK=1
# Else each start would install all packages, where so far only running was set up (setup.sh).
[ -f "$root/.tools/setup.stamp" ] || export DENO_UNSTABLE_NPM_LAZY_CACHING=1
PATH="${deno%/*}:$PATH"
export PATH
exec "$deno" "$@"
