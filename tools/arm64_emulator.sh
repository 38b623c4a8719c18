#!/bin/sh
# Makes sure that arm64 Linux programs run on this machine, and prints the command that runs one.
# Installs Debian's packages when they are missing and we are root; otherwise says what to install.
set -eu

sysroot=/usr/aarch64-linux-gnu
packages="qemu-user-static libc6-arm64-cross libgcc-s1-arm64-cross libstdc++6-arm64-cross"

complete() {
  command -v qemu-aarch64-static >/dev/null 2>&1 && [ -e "$sysroot/lib/ld-linux-aarch64.so.1" ] &&
    [ -e "$sysroot/lib/libgcc_s.so.1" ] && [ -e "$sysroot/lib/libstdc++.so.6" ]
}

if [ "$(uname -m)" = aarch64 ]; then
  echo "env"
  exit 0
fi
if ! complete; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "arm64_emulator.sh: arm64 programs cannot be run here. As root: apt-get install $packages" >&2
    exit 1
  fi
  {
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of words
    apt-get install --yes --no-install-recommends $packages ||
      { apt-get update && apt-get install --yes --no-install-recommends $packages; }
  } >&2 </dev/null
  complete || {
    echo "arm64_emulator.sh: $packages were installed, yet something in $sysroot is missing." >&2
    exit 1
  }
fi
echo "qemu-aarch64-static -L $sysroot"
