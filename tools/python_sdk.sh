#!/bin/sh
# Installs the published Python SDK, which the compatibility tests use as a client and as a source
# of message descriptors, into .tools/python-sdk/VERSION, and prints the path of its interpreter.
#
# Safe to call from several processes at once: each builds a folder of its own, the first to finish
# puts it in place, the others throw theirs away. Does nothing when the folder is there already.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
requirements="$root/tools/python_sdk_requirements.txt"
version=$(sed -n 's/^viam-sdk==//p' "$requirements")
parent="$root/.tools/python-sdk"
target="$parent/$version"

if [ -f "$target/.complete" ]; then
  echo "$target/bin/python"
  exit 0
fi

fail() {
  echo "python_sdk.sh: $1" >&2
  exit 1
}

python=${PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 ||
  fail "no $python on PATH. The compatibility tests need Python 3.9 or newer; install it, or set PYTHON."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
  fail "$("$python" --version) is too old. The compatibility tests need Python 3.9 or newer; set PYTHON."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python has no venv module. Install it (Debian: apt install python3-venv)."

mkdir -p "$parent"
building="$parent/building-$$"
trap 'rm -rf "$building"' EXIT
trap 'exit 1' INT TERM
"$python" -m venv "$building" >&2
"$building/bin/python" -m pip install --quiet --disable-pip-version-check \
  --requirement "$requirements" >&2 ||
  fail "pip could not install viam-sdk $version. See its message above."
touch "$building/.complete"

# rename() of a folder fails when the target exists and is not empty, which mv would hide.
"$building/bin/python" - "$building" "$target" <<'PY' || fail "could not move the SDK to $target"
import os, shutil, sys

building, target = sys.argv[1:]
if os.path.isdir(target) and not os.path.exists(os.path.join(target, ".complete")):
    shutil.rmtree(target)
try:
    os.rename(building, target)
except OSError:
    if not os.path.exists(os.path.join(target, ".complete")):
        raise
PY
echo "$target/bin/python"
