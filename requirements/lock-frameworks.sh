#!/bin/sh
# Lock the frameworks that the rollback tests drive, with torch in its CPU build: the plain one
# brings some GB of CUDA libraries. Its version has a local part (+cpu), which only an index or a
# folder of CPU builds has, so pip finds that one or nothing. Run where pip is set up for one.
set -eu

out=requirements/frameworks.txt
.venv/bin/python -m pip --disable-pip-version-check install --quiet --dry-run --ignore-installed \
    --report - torch==2.13.0+cpu transformers==5.24.0 accelerate safetensors 2>/dev/null |
    .venv/bin/python -c '
import json, sys
for found in json.load(sys.stdin)["install"]:
    name, version = found["metadata"]["name"], found["metadata"]["version"]
    digest = found["download_info"]["archive_info"]["hashes"]["sha256"]
    end = f" \\\n    --hash=sha256:{digest}" if name == "torch" else ""
    print(f"{name}=={version}{end}")
' >"$out.new"
grep -A1 '^torch==' "$out.new" >"$out.torch"
sed '/^torch==/,+1d' "$out.new" |
    .venv/bin/uv pip compile --quiet --no-deps --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --output-file "$out.rest" -
# torch first: where it cannot be had nothing else is fetched.
cat "$out.torch" "$out.rest" >"$out"
rm "$out.new" "$out.torch" "$out.rest"
