import hashlib
from pathlib import Path

import pytest

VENDOR = Path(__file__).parents[2] / "static" / "vendor"
LISTED = dict(
    reversed(line.split("  ", 1)) for line in (VENDOR / "CHECKSUMS").read_text().splitlines()
)


@pytest.mark.parametrize("name", sorted(LISTED))
def test_the_file_is_the_one_that_was_reviewed(name):
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == LISTED[name]


def test_every_vendored_file_is_listed():
    there = {str(p.relative_to(VENDOR)) for p in VENDOR.glob("*/*")}
    assert there == set(LISTED)


@pytest.mark.parametrize("folder", sorted({name.split("/")[0] for name in LISTED}))
def test_every_library_brings_its_licence(folder):
    assert (VENDOR / folder / "LICENSE").stat().st_size > 100


@pytest.mark.parametrize("name", sorted(LISTED))
def test_no_source_map_is_asked_for(name):
    assert b"sourceMappingURL" not in (VENDOR / name).read_bytes()
