#!/bin/sh
# torch (CPU build) and transformers in an environment of their own, for the tests marked
# `frameworks`: frameworks.sh [VENV_WITH_PIP]. pip, not uv: it knows where this machine has CPU
# builds (find-links, an extra index). Where there is none it ends with status 1 and says so.
set -eu

lock=requirements/frameworks.txt
venv=.venv-frameworks
tools=${1:-.venv}
if cmp -s "$lock" "$venv/installed.txt"; then
    exit 0
fi
echo "installing $lock ..."
"$tools/bin/python" -m venv --clear --without-pip "$venv"
if ! "$tools/bin/python" -m pip --python "$venv/bin/python" install --quiet --no-compile \
    --disable-pip-version-check --require-hashes --only-binary :all: -r "$lock" 2>"$venv/pip.log"; then
    grep -v "^WARNING: Location" "$venv/pip.log" >&2 || true
    rm -rf "$venv"
    echo "The CPU build of torch cannot be had here: the tests marked frameworks are skipped." >&2
    echo "Tell pip of an index that has it (PIP_EXTRA_INDEX_URL), then: make frameworks" >&2
    exit 1
fi
cp "$lock" "$venv/installed.txt"
