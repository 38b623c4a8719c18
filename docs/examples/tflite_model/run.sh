#!/bin/sh
# Starts the module; the server gives it the address to serve on.
exec "$MACHINE_MODULE_DATA/venv/bin/python" "$(dirname "$0")/main.py" "$@"
