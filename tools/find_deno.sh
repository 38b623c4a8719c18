#!/bin/sh
# Prints the path of the pinned Deno. Takes the one in .tools/ or on PATH when it has exactly that
# version, else fetches it into .tools/: from npm, or, where that fails, from Deno's download host.
#
# Safe to call from several processes at once: each unpacks into a folder of its own and renames.
# DENO_FETCH=npm or DENO_FETCH=curl allows only that way.
set -eu

here=${0%/*}
[ "$here" != "$0" ] || here=.
root=$(CDPATH='' cd -- "$here/.." && pwd -P)
pins="$root/tools/pins.txt"
version=''
while read -r kind purpose _ pinned; do
  [ "$kind $purpose" != 'use toolchain' ] || version=$pinned
done <"$pins"
home="$root/.tools/deno-$version"

if [ -x "$home/deno" ]; then
  echo "$home/deno"
  exit 0
fi

say() { echo "find_deno.sh: $1" >&2; }
fail() {
  say "$1"
  exit 1
}

is_pinned_version() {
  [ "$("$1" --version 2>/dev/null | awk 'NR == 1 { print $2 }')" = "$version" ]
}

found=$(command -v deno 2>/dev/null || true)
if [ -n "$found" ] && is_pinned_version "$found"; then
  echo "$found"
  exit 0
fi

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) package=linux-x64-glibc triple=x86_64-unknown-linux-gnu ;;
  Linux-aarch64 | Linux-arm64) package=linux-arm64-glibc triple=aarch64-unknown-linux-gnu ;;
  Darwin-x86_64) package=darwin-x64 triple=x86_64-apple-darwin ;;
  Darwin-arm64) package=darwin-arm64 triple=aarch64-apple-darwin ;;
  *) fail "there is no Deno $version for $(uname -s) $(uname -m). Put one you built yourself on PATH." ;;
esac

# Hex digest of a file; prints nothing when the machine has no tool for it.
digest() { # 256|512 FILE
  if command -v "sha$1sum" >/dev/null 2>&1; then
    "sha$1sum" "$2" | awk '{ print $1 }'
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a "$1" "$2" | awk '{ print $1 }'
  elif command -v openssl >/dev/null 2>&1; then
    openssl dgst "-sha$1" "$2" | awk '{ print $NF }'
  fi
}

pinned() { # KIND NAME
  awk -v kind="$1" -v name="$2" -v version="$version" \
    '$1 == kind && $2 == name && $3 == version { print $4 }' "$pins"
}

check() { # KIND NAME 256|512 FILE
  want=$(pinned "$1" "$2")
  [ -n "$want" ] || return 0
  have=$(digest "$3" "$4")
  [ -n "$have" ] || fail "cannot check $2 $version: none of sha$3sum, shasum and openssl is here. Install one."
  [ "$have" = "$want" ] ||
    fail "$2 $version is not what tools/pins.txt expects (sha$3 $have). Nothing was installed; if a proxy or mirror changes downloads, use another."
}

mkdir -p "$root/.tools"
work=$(mktemp -d "$root/.tools/fetch-deno-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

from_npm() {
  command -v npm >/dev/null 2>&1 || {
    why_npm="there is no npm"
    return 1
  }
  say "fetching Deno $version from npm (about 42 MB)"
  (cd "$work" && npm pack "@deno/$package@$version" --silent --ignore-scripts) \
    >"$work/npm.log" 2>&1 || {
    why_npm="npm said: $(grep -i 'error' "$work/npm.log" | head -n 1)"
    return 1
  }
  tarball=$(find "$work" -name '*.tgz' | head -n 1)
  check npm "@deno/$package" 512 "$tarball"
  (cd "$work" && tar -xzf "$tarball") || fail "cannot unpack $tarball"
  binary="$work/package/deno"
}

from_host() {
  command -v curl >/dev/null 2>&1 || {
    why_host="there is no curl"
    return 1
  }
  say "fetching Deno $version from dl.deno.land (about 42 MB)"
  zip="$work/deno.zip"
  curl --fail --silent --show-error --location --retry 2 --connect-timeout 15 --output "$zip" \
    "https://dl.deno.land/release/v$version/deno-$triple.zip" 2>"$work/curl.log" || {
    why_host="$(tail -n 1 "$work/curl.log")"
    return 1
  }
  # gzip reads a zip that holds one file, which spares a clean machine the unzip package.
  if command -v unzip >/dev/null 2>&1; then
    unzip -q -o "$zip" deno -d "$work" || fail "cannot unpack $zip"
  else
    gzip -dc <"$zip" >"$work/deno" || fail "cannot unpack $zip"
  fi
  binary="$work/deno"
}

why_npm="not tried" why_host="not tried"
case "${DENO_FETCH:-any}" in
  npm) from_npm || binary="" ;;
  curl) from_host || binary="" ;;
  any) from_npm || from_host || binary="" ;;
  *) fail "DENO_FETCH is \"$DENO_FETCH\"; allowed are npm and curl." ;;
esac
[ -n "$binary" ] ||
  fail "cannot get Deno $version (npm: $why_npm; download: $why_host). Make one of the two reachable, or put Deno $version on PATH."

chmod 755 "$binary"
check file "deno-$triple" 256 "$binary"
[ -n "$(pinned npm "@deno/$package")$(pinned file "deno-$triple")" ] ||
  say "note: tools/pins.txt has no checksum for $triple, so this one was checked only by the transport"
is_pinned_version "$binary" ||
  fail "the fetched program does not run here as Deno $version (glibc is needed; Alpine and other musl systems have to bring their own on PATH)."

mkdir -p "$home"
mv -f "$binary" "$home/deno"
echo "$home/deno"
