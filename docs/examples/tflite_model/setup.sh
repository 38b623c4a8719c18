#!/bin/sh
# Installs what the module needs into its data folder; the server runs this before the first start.
# Needs Python 3.10 to 3.13 with venv.
set -eu
cd "$(dirname "$0")"
python3 -m venv "$MACHINE_MODULE_DATA/venv"
"$MACHINE_MODULE_DATA/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  -r requirements.txt
