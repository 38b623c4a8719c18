#!/bin/sh
# Installs the published Python SDK, which the compatibility tests use as a client and as a source
# of message descriptors, into .tools/python-sdk/VERSION, and prints the path of its interpreter.
set -eu

tools=$(cd "$(dirname "$0")" && pwd)
requirements="$tools/python_sdk_requirements.txt"
version=$(sed -n 's/^viam-sdk==\([^ ]*\).*/\1/p' "$requirements")
exec sh "$tools/python_environment.sh" python-sdk "$version" "$requirements"
