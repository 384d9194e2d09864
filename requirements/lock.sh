#!/bin/sh
# Lock anew: exact versions and hashes, no index address in the files.
set -eu

lock() {
    out=$1
    shift
    .venv/bin/uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --output-file "$out" "$@"
}

lock requirements/base.txt pyproject.toml
lock requirements/dev.txt pyproject.toml --extra dev
# The node agent alone, at the versions of the server.
printf '%s\n' google-crc32c google-re2 httpx msgspec numpy orjson protobuf pyyaml zstandard |
    lock requirements/agent.txt - --constraint requirements/base.txt
echo 'uv>=0.13,<1' | lock requirements/uv.txt -

# The clients that the tests drive. 0.16.6 is of 2024: newer numpy and setuptools break or warn.
printf '%s\n' wandb==0.16.6 'numpy<2' 'setuptools<81' | lock requirements/wandb-0.16.6.txt -
printf '%s\n' wandb==0.31.0 numpy | lock requirements/wandb-0.31.0.txt -
