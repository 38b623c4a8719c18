#!/bin/sh
# Installs a server that speaks the protocol of S3, for tests of the object storage, into
# .tools/s3-server/VERSION, and prints the path of its interpreter.
set -eu

tools=$(cd "$(dirname "$0")" && pwd)
requirements="$tools/s3_server_requirements.txt"
version=$(sed -n 's/^moto==\([^ ]*\).*/\1/p' "$requirements")
exec sh "$tools/python_environment.sh" s3-server "$version" "$requirements"
