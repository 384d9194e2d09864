#!/bin/sh
# One version of the wandb client in an environment of its own, for the tests:
# client.sh VERSION [VENV_WITH_UV_AND_PIP]
# It costs nothing until its lock file changes. The lock file is the stamp, so it is copied last.
set -eu

lock=requirements/wandb-$1.txt
venv=.venv-clients/$1
tools=${2:-.venv}
if cmp -s "$lock" "$venv/installed.txt"; then
    exit 0
fi
"$tools/bin/python" -m venv --clear --without-pip "$venv"
sh requirements/install.sh "$venv" "$lock" "$tools"
cp "$lock" "$venv/installed.txt"
