#!/bin/sh
# The packages of one lock file: install.sh VENV LOCK_FILE
# uv first; pip where uv is missing or does not know the way to the index that pip is set up for.
set -eu

venv=$1
lock=$2
echo "installing $lock ..."
if [ -x "$venv/bin/uv" ] && "$venv/bin/uv" pip install --quiet --compile-bytecode \
    --python "$venv/bin/python" --require-hashes -r "$lock"; then
    exit 0
fi
exec "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --require-hashes -r "$lock"
