#!/bin/sh
# Installs Python packages, pinned in a file of requirements, into .tools/NAME/VERSION, and prints
# the path of the interpreter there: python_environment.sh NAME VERSION REQUIREMENTS
#
# Where the file has a hash, pip wants one of everything that it installs. The files of tools/ have:
# tools/requirements_test.ts. After a change of a version: pip-compile --generate-hashes.
#
# Safe to call from several processes at once: each builds a folder of its own, the first to finish
# puts it in place, the others throw theirs away. Does nothing when the folder is there already.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
name=$1
version=$2
requirements=$3
parent="$root/.tools/$name"
target="$parent/$version"

if [ -f "$target/.complete" ]; then
  echo "$target/bin/python"
  exit 0
fi

fail() {
  echo "python_environment.sh: $1" >&2
  exit 1
}

python=${PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 ||
  fail "no $python on PATH. The tests with $name need Python 3.9 or newer; install it, or set PYTHON."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
  fail "$("$python" --version) is too old. The tests with $name need Python 3.9 or newer; set PYTHON."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python has no venv module. Install it (Debian: apt install python3-venv)."

mkdir -p "$parent"
building="$parent/building-$$"
trap 'rm -rf "$building"' EXIT
trap 'exit 1' INT TERM
"$python" -m venv "$building" >&2
"$building/bin/python" -m pip install --quiet --disable-pip-version-check \
  --requirement "$requirements" >&2 ||
  fail "pip could not install $name $version. See its message above."
touch "$building/.complete"

# rename() of a folder fails when the target exists and is not empty, which mv would hide.
"$building/bin/python" - "$building" "$target" <<'PY' || fail "could not move $name to $target"
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
