#!/bin/sh
# The packages of one lock file: install.sh VENV LOCK_FILE [VENV_WITH_UV_AND_PIP]
# uv first; pip where uv is missing or does not know the way to the index that pip is set up for.
set -eu

venv=$1
lock=$2
tools=${3:-$venv}
echo "installing $lock ..."
if [ -x "$tools/bin/uv" ] && "$tools/bin/uv" pip install --quiet --compile-bytecode \
    --python "$venv/bin/python" --require-hashes -r "$lock"; then
    exit 0
fi
exec "$tools/bin/python" -m pip --python "$venv/bin/python" install --quiet \
    --disable-pip-version-check --require-hashes -r "$lock"
