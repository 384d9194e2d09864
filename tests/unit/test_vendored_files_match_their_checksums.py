import hashlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENDORS = [ROOT / "static" / "vendor", ROOT / "tests" / "vendor"]
LISTED = {
    vendor / name: checksum
    for vendor in VENDORS
    for checksum, name in (
        line.split("  ", 1) for line in (vendor / "CHECKSUMS").read_text().splitlines()
    )
}


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", sorted(LISTED), ids=named)
def test_the_file_is_the_one_that_was_reviewed(path):
    assert hashlib.sha256(path.read_bytes()).hexdigest() == LISTED[path]


def test_every_vendored_file_is_listed():
    assert {path for vendor in VENDORS for path in vendor.glob("*/*")} == set(LISTED)


@pytest.mark.parametrize("folder", sorted({path.parent for path in LISTED}), ids=named)
def test_every_library_brings_its_licence(folder):
    assert (folder / "LICENSE").stat().st_size > 100


@pytest.mark.parametrize("path", sorted(LISTED), ids=named)
def test_no_source_map_is_asked_for(path):
    assert b"sourceMappingURL" not in path.read_bytes()
