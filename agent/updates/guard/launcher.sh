#!/bin/sh
# machine-agent-launcher [OPTIONS OF machine-agent…]
#
# Stands where a service manager would, for development: runs the start guard and then the agent,
# and both again when the agent ends for an update of its own or while its version is on trial.
# Ends with the agent's exit code otherwise. Passes TERM and INT on, HUP as TERM.
set -u

UPDATE_EXIT_CODE=75
KILL_AFTER=100

bin=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
agent=
stopping=

pass_on() {
  stopping=yes
  [ -z "$agent" ] || kill -s "$1" "$agent" 2>/dev/null
}

# Stops a version on trial whose deadline is exceeded: asks first, then forces.
watch_trial() {
  while kill -0 "$agent" 2>/dev/null; do
    left=$("$bin/machine-agent-guard" --remaining 2>/dev/null)
    [ -n "$left" ] || return
    if [ "$left" -eq 0 ]; then
      echo "machine-agent-launcher: the trial's deadline is exceeded" >&2
      kill -s TERM "$agent" 2>/dev/null
      waited=0
      while kill -0 "$agent" 2>/dev/null; do
        [ "$waited" -lt "$KILL_AFTER" ] || kill -s KILL "$agent" 2>/dev/null
        waited=$((waited + 1))
        sleep 1
      done
      return
    fi
    sleep 1
  done
}

trap 'pass_on TERM' TERM
trap 'pass_on INT' INT
# The terminal is gone. The agent would take HUP for a wish to restart the server.
trap 'pass_on TERM' HUP
export MACHINE_AGENT_LAUNCHER=1

while :; do
  "$bin/machine-agent-guard"
  # A script cannot tell by itself from which file it runs.
  MACHINE_AGENT_PROGRAM=$(readlink "$bin/machine-agent")
  export MACHINE_AGENT_PROGRAM
  "$bin/machine-agent" "$@" &
  agent=$!
  watch_trial &
  # A signal ends the wait before the agent has ended.
  while :; do
    wait "$agent"
    code=$?
    kill -0 "$agent" 2>/dev/null || break
  done
  agent=
  [ -z "$stopping" ] || exit "$code"
  if [ "$code" -ne "$UPDATE_EXIT_CODE" ]; then
    [ -n "$("$bin/machine-agent-guard" --remaining 2>/dev/null)" ] || exit "$code"
    echo "machine-agent-launcher: the version on trial ended with $code; again" >&2
    sleep 1
  fi
done
