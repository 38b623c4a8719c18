#!/bin/sh
# Installs a client of multicast DNS, for tests of how machines are found, into
# .tools/zeroconf/VERSION, and prints the path of its interpreter.
set -eu

tools=$(cd "$(dirname "$0")" && pwd)
requirements="$tools/zeroconf_requirements.txt"
version=$(sed -n 's/^zeroconf==\([^ ]*\).*/\1/p' "$requirements")
exec sh "$tools/python_environment.sh" zeroconf "$version" "$requirements"
