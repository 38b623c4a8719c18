#!/bin/sh
# Removes machine-agent, machine-server and their service; --purge also removes the credentials.
# Run it as root.
#
#   MACHINE_DIR              folder of the agent (default /opt/machine)
#   MACHINE_CREDENTIALS_FILE the credentials (default /etc/machine.json)
#   MACHINE_INSTALL_ROOT     root of another file system to remove it from
set -eu

fail() {
  printf 'uninstall.sh: %s\n' "$*" >&2
  exit 1
}

root=${MACHINE_INSTALL_ROOT:-}
root=${root%/}
dir=${MACHINE_DIR:-/opt/machine}
credentials=${MACHINE_CREDENTIALS_FILE:-/etc/machine.json}

main() {
  case ${1:-} in
    '' | --purge) ;;
    *) fail "unknown option $1; allowed is --purge" ;;
  esac
  [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "run it as root, with sudo for example"
  agent=$root$dir/bin/machine-agent
  if [ -n "$root" ]; then
    # The link is right only inside of that file system.
    agent=$root$(readlink "$agent") || agent=
  fi
  [ -n "$agent" ] && [ -x "$agent" ] ||
    fail "there is no machine-agent in $root$dir; set MACHINE_DIR where it is elsewhere"
  # A copy: the program removes its own file.
  work=$(mktemp -d "${TMPDIR:-/tmp}/machine-uninstall.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cp "$agent" "$work/machine-agent"
  "$work/machine-agent" --uninstall ${1:+"$1"} ${root:+--root "$root"} --dir "$dir" \
    --config "$credentials"
}

main "$@"
