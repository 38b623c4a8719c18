#!/bin/sh
# Installs machine-agent as a service of systemd, which then brings machine-server and keeps both up
# to date. Run it as root; run it again to upgrade. All it needs is in the environment:
#
#   MACHINE_CLOUD_ADDRESS    address of the cloud: https://cloud.example (default: the one in the
#                            credentials file)
#   MACHINE_API_KEY_ID       an API key that manages the part, and
#   MACHINE_API_KEY          its secret; with them the credentials file is fetched
#   MACHINE_PART_ID          part that this host is
#   MACHINE_ENROLLMENT_TOKEN or, in place of these three, a token of machine enrollment create: the
#                            host becomes a machine by itself when it starts
#   MACHINE_CREDENTIALS_FILE where the credentials are or go (default /etc/machine.json)
#   MACHINE_DOWNLOAD_URL     address of a download folder (make release) to take the agent from, in
#                            place of the cloud
#   MACHINE_AGENT_VERSION    version or channel (default stable)
#   MACHINE_RELEASE_KEY      file with the public key of the releases (PEM, from /releases/key.pem of
#                            your cloud); with it the signature is checked here already, by openssl
#   MACHINE_DIR              folder of the agent (default /opt/machine)
#   MACHINE_INSTALL_ROOT     root of another file system to install into, a mounted image
#   https_proxy, no_proxy    as curl and wget know them; TMPDIR for 100 MB and a program that is run
#
# For example:
#   MACHINE_CLOUD_ADDRESS=… MACHINE_API_KEY_ID=… MACHINE_API_KEY=… MACHINE_PART_ID=… sh install.sh
set -eu
umask 077

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

root=${MACHINE_INSTALL_ROOT:-}
root=${root%/}
dir=${MACHINE_DIR:-/opt/machine}
credentials=${MACHINE_CREDENTIALS_FILE:-/etc/machine.json}
version=${MACHINE_AGENT_VERSION:-stable}
cloud=${MACHINE_CLOUD_ADDRESS:-}
work=
probe=

clean_up() {
  [ -z "$work" ] || rm -rf "$work"
  [ -z "$probe" ] || rm -f "$probe"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

check_computer() {
  [ "$(uname -s)" = Linux ] || fail "this installs on Linux; for Windows there is install.ps1"
  [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "run it as root, with sudo for example"
  case $(uname -m) in
    x86_64 | amd64) platform=linux/amd64 ;;
    aarch64 | arm64) platform=linux/arm64 ;;
    *) fail "there is no machine-agent for $(uname -m); it runs on x86_64 and aarch64" ;;
  esac
  has systemctl || fail "this host has no systemd, and --install needs it"
  has curl || has wget || fail "curl or wget is needed to download"
  [ -n "$root" ] || check_libraries
}

# What the library of its databases is linked to; the program itself would start with less.
check_libraries() {
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=
  case $libc in
    "glibc "*) ;;
    *)
      ! ldd --version 2>&1 | grep -qi musl ||
        fail "this host has musl in place of glibc; machine-agent needs glibc 2.34 or newer"
      return 0 # It cannot be known.
      ;;
  esac
  is_newest 2.34 "${libc#glibc }" ||
    fail "this host has $libc; machine-agent needs glibc 2.34 or newer (Debian 12, Ubuntu 22.04)"
  found=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null) || return 0
  case $found in
    *libstdc++.so.6*) ;;
    *) fail "libstdc++.so.6 is missing; install libstdc++6 (Debian) or libstdc++ (Fedora)" ;;
  esac
}

# is_newest A B: whether B is A or newer; a candidate (1.2.0-rc.1) is older than its release.
is_newest() {
  [ "$(printf '%s\n' "$1" "$2" | tr - '~' | sort -V | tail -n 1)" = "$(printf '%s' "$2" | tr - '~')" ]
}

# check_folder FOLDER KIB HINT: whether so much fits into it, and a program in it may be run.
check_folder() {
  at=$1
  until [ -d "$at" ]; do at=$(dirname -- "$at"); done
  free=$(df -Pk "$at" 2>/dev/null | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)
  [ -z "$free" ] || [ "$free" -ge "$2" ] ||
    fail "$at has $((free / 1024)) MB of free space, and $(($2 / 1024 + 1)) MB are needed; $3"
  probe=$(mktemp "$at/.machine-install.XXXXXX" 2>/dev/null) || fail "nothing can be written to $at; $3"
  printf '#!/bin/sh\n' >"$probe" && chmod 700 "$probe"
  runs=yes
  "$probe" 2>/dev/null || runs=
  rm -f "$probe"
  [ -n "$runs" ] || fail "$at allows no programs (noexec); $3"
}

# The address in the credentials file that is there already.
known_cloud() {
  sed -n 's/.*"app_address"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p' "$root$credentials" \
    2>/dev/null | head -n 1
}

check_cloud() {
  [ -n "$cloud" ] || cloud=$(known_cloud)
  [ -n "$cloud" ] || fail "set MACHINE_CLOUD_ADDRESS to the address of your cloud"
  cloud=${cloud%/}
  check_address MACHINE_CLOUD_ADDRESS "$cloud"
}

# check_address NAME ADDRESS: what is sent and what is run would be open to everybody on the way.
check_address() {
  case $2 in
    https://?*) ;;
    http://127.0.0.1 | http://127.0.0.1:* | http://localhost | http://localhost:*) ;;
    'http://[::1]' | 'http://[::1]:'*) ;;
    http://*) fail "$2 is not encrypted; http:// is only for this host" ;;
    *) fail "$1 must look like https://cloud.example, and is $2" ;;
  esac
}

# Where the agent comes from: its folder in the cloud's releases, or in a download folder.
find_releases() {
  base=$cloud/releases/machine-agent
  [ -n "${MACHINE_DOWNLOAD_URL:-}" ] || return 0
  base=${MACHINE_DOWNLOAD_URL%/}
  check_address MACHINE_DOWNLOAD_URL "$base"
  base=$base/agent
}

# fetch URL FILE: to a file; why it failed is in $work/error. A third argument names a file with settings of the program that
# fetches: what is secret in it goes to this address only, so no redirect is followed. Others are,
# but not from https to http, where anybody on the way could answer.
fetch() {
  fetch_by_any "$@" 2>"$work/error"
}

# A line for people: what the program that fetches said last.
why() {
  case $(cat "$work/error") in
    *ertificate*) echo "is the clock right, $(date -u +%F), and the certificate? $(said)" ;;
    *) said ;;
  esac
}

said() {
  grep '^curl: (' "$work/error" || grep -v '^ *$' "$work/error" | tail -n 1
}

fetch_by_any() {
  case $1 in
    https://*) protocols='=https' ;;
    *) protocols='=http,https' ;;
  esac
  if has curl; then
    if [ -n "${3:-}" ]; then set -- "$1" "$2" --config "$3"; else set -- "$1" "$2" --location; fi
    url=$1 file=$2
    shift 2
    curl --fail --silent --show-error --globoff --proto "$protocols" --retry 3 --max-time 3600 "$@" \
      --output "$file" "$url"
  elif [ -n "${3:-}" ]; then
    WGETRC=$3 wget --no-verbose --tries 3 --timeout 60 --max-redirect 0 --output-document "$2" "$1"
  else
    fetch_by_wget "$1" "$2"
  fi
}

# wget cannot be told which protocols a redirect may lead to, so each step is looked at here.
fetch_by_wget() {
  from=$1 steps=0
  until wget --no-verbose --server-response --tries 3 --timeout 60 --max-redirect 0 \
    --output-document "$2" "$from" 2>"$work/headers"; do
    cat "$work/headers" >&2
    to=$(tr -d '\r' <"$work/headers" | sed -n 's/^ *[Ll]ocation: *//p' | tail -n 1)
    steps=$((steps + 1))
    [ -n "$to" ] && [ "$steps" -le 5 ] || return 1
    case $to in
      //*) return 1 ;;
      /*) from=$(printf '%s' "$from" | sed 's|^\([a-z]*://[^/]*\).*|\1|')$to ;;
      https://*) from=$to ;;
      http://*)
        case $from in
          https://*)
            echo "$from leads to $to, which is not encrypted" >&2
            return 1
            ;;
        esac
        from=$to
        ;;
      *) return 1 ;;
    esac
  done
}

# Only the header names and the secret itself go into the file, so that no list of processes shows it.
key_settings() {
  for value in "$MACHINE_API_KEY_ID" "$MACHINE_API_KEY"; do
    case $value in
      '' | *[!A-Za-z0-9_.=+/-]*) fail "the API key and its id are letters and digits only" ;;
    esac
  done
  if has curl; then
    printf 'header = "key_id: %s"\nheader = "key: %s"\n' "$MACHINE_API_KEY_ID" "$MACHINE_API_KEY"
  else
    printf 'header = key_id: %s\nheader = key: %s\n' "$MACHINE_API_KEY_ID" "$MACHINE_API_KEY"
  fi
}

# Gets the credentials when a key was given. They are in place as a whole or not at all.
get_credentials() {
  given=${MACHINE_API_KEY_ID:-}${MACHINE_API_KEY:-}${MACHINE_PART_ID:-}
  if [ -z "$given" ]; then
    [ -f "$root$credentials" ] || [ -n "${MACHINE_ENROLLMENT_TOKEN:-}" ] ||
      fail "there is no $credentials; put it there, or set MACHINE_ENROLLMENT_TOKEN, or" \
        "MACHINE_API_KEY_ID, MACHINE_API_KEY and MACHINE_PART_ID"
    return
  fi
  [ -n "${MACHINE_API_KEY_ID:-}" ] && [ -n "${MACHINE_API_KEY:-}" ] &&
    [ -n "${MACHINE_PART_ID:-}" ] ||
    fail "MACHINE_API_KEY_ID, MACHINE_API_KEY and MACHINE_PART_ID go together"
  case $MACHINE_PART_ID in
    *[!A-Za-z0-9_-]*) fail "MACHINE_PART_ID is no part's id" ;;
  esac
  key_settings >"$work/key"
  fetch "$cloud/api/json1/config?client=true&id=$MACHINE_PART_ID" "$work/machine.json" \
    "$work/key" || fail "the cloud gave no credentials for part $MACHINE_PART_ID; is the key right? $(why)"
  rm -f "$work/key"
  grep -q '"app_address"' "$work/machine.json" && grep -q "$MACHINE_PART_ID" "$work/machine.json" ||
    fail "what the cloud answered is no credentials file"
  place_credentials
}

place_credentials() {
  target=$root$credentials
  mkdir -p "$(dirname -- "$target")"
  if [ -f "$target" ] && cmp -s "$work/machine.json" "$target"; then
    chmod 600 "$target"
    return
  fi
  [ ! -f "$target" ] || cp -p "$target" "$target.old"
  cp "$work/machine.json" "$target.new"
  chmod 600 "$target.new"
  sync "$target.new" 2>/dev/null || sync
  mv -f "$target.new" "$target"
  echo "wrote $target"
}

sha256_of() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    openssl dgst -sha256 "$1" | sed 's/.*= *//'
  fi
}

# A line of the manifest: "name value".
manifest() {
  sed -n "s/^$1 //p" "$work/manifest"
}

check_signature() {
  [ -n "${MACHINE_RELEASE_KEY:-}" ] || return 0
  [ -f "$MACHINE_RELEASE_KEY" ] || fail "there is no file $MACHINE_RELEASE_KEY"
  has openssl || fail "openssl is needed to check the signature with MACHINE_RELEASE_KEY"
  fetch "$1.sig" "$work/signature" || fail "the release has no signature: $(why)"
  openssl pkeyutl -verify -pubin -inkey "$MACHINE_RELEASE_KEY" -rawin -in "$work/manifest" \
    -sigfile "$work/signature" >/dev/null 2>&1 ||
    fail "the release is not signed with the key in $MACHINE_RELEASE_KEY"
}

# Brings the program to $work/machine-agent, checked.
get_agent() {
  fetch "$base/$version/$platform/machine-agent.manifest" "$work/manifest" ||
    fail "$base has no release $version of machine-agent for $platform: $(why)"
  [ "$(head -n 1 "$work/manifest")" = "machine release 1" ] &&
    [ "$(manifest binary)" = machine-agent ] && [ "$(manifest platform)" = "$platform" ] ||
    fail "what $base answered does not describe machine-agent for $platform"
  # From here on the exact version: a channel may move on in between.
  exact=$(manifest version)
  case $exact in
    '' | *[!A-Za-z0-9.+-]*) fail "the release has a version that is none: $exact" ;;
  esac
  address=$base/$(printf '%s' "$exact" | sed 's/+/%2B/g')/$platform/machine-agent
  check_signature "$address"
  check_downgrade
  kib=$(($(manifest size) / 1024 + 1024))
  check_folder "$work" "$kib" "set TMPDIR to another folder"
  # This version, the next one while both are there, and machine-server's two.
  check_folder "$root$dir" $((kib * 4)) "set MACHINE_DIR to another folder"
  echo "downloading machine-agent $exact for $platform"
  fetch "$address" "$work/machine-agent" ||
    fail "machine-agent $exact could not be downloaded: $(why)"
  [ "$(wc -c <"$work/machine-agent" | tr -d ' ')" = "$(manifest size)" ] ||
    fail "the download is not as long as the release; try again"
  [ "$(sha256_of "$work/machine-agent")" = "$(manifest sha256)" ] ||
    fail "the download is not the release (SHA-256); try again"
  chmod 700 "$work/machine-agent"
  "$work/machine-agent" --version >/dev/null ||
    fail "machine-agent does not run here; nothing was changed"
}

# Who can only repeat an old answer must not bring an old version back.
check_downgrade() {
  [ "$version" != "$exact" ] || return 0
  # Its file is .../machine-agent-VERSION-SHA256.
  there=$(readlink "$root$dir/bin/machine-agent" | sed -n 's|.*/machine-agent-\(.*\)-[0-9a-f]*$|\1|p')
  [ -z "$there" ] || is_newest "$there" "$exact" ||
    fail "machine-agent $there is here, and $version is the older $exact; to go back to it, set" \
      "MACHINE_AGENT_VERSION=$exact"
}

main() {
  check_computer
  check_cloud
  find_releases
  work=$(mktemp -d "${TMPDIR:-/tmp}/machine-install.XXXXXX")
  get_credentials
  get_agent
  "$work/machine-agent" --install ${root:+--root "$root"} --dir "$dir" --config "$credentials"
  [ -n "$root" ] || echo "see what it does: $dir/bin/machine-agent status"
}

# Downloaded in half it must do nothing.
main
