#!/bin/sh
# A virtual environment with Python >= 3.11 and uv: environment.sh FOLDER
# uv (from the hash-locked uv.txt) installs the rest in about 2 s where pip takes 25-40 s.
set -eu

venv=$1
python=
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Lastgood needs Python 3.11 or newer and found none." >&2
    echo "Install it (Debian 12: apt-get install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3" >&2
    exit 1
fi
usable='import sys, pip; sys.exit(sys.version_info < (3, 11))'
if "$venv/bin/python" -c "$usable" 2>/dev/null; then
    echo "keeping the environment in $venv"
elif ! "$python" -m venv --clear "$venv"; then
    echo "$python cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2
    exit 1
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --require-hashes -r requirements/uv.txt ||
    echo "uv does not install here: pip installs the packages instead (slower)" >&2
