"""Which reader this is: agent and server that have the same number read and pack lines alike.

The number is made from the source of what does so, so that nobody has to remember to change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

_DOMAIN = Path(__file__).parents[1]
_PACKS = _DOMAIN / "parcel" / "packing.py"
_TAXONOMY = _DOMAIN.parent / "taxonomy.yaml"
_IMPORT = re.compile(r"^\s*from apps\.logs\.domain\.(\w+)(?:\.(\w+))? import (.*)$", re.MULTILINE)


@cache
def reader_number() -> int:
    """Of this process; 1 to 2**48."""
    return number_of(path.read_bytes() for path in [*reading_modules(), _TAXONOMY])


def reading_modules() -> list[Path]:
    """The modules of the domain that packing a parcel takes, however far down."""
    found, ahead = {_PACKS}, [_PACKS]
    while ahead:
        new = _imported(ahead.pop().read_text()) - found
        found |= new
        ahead += new
    return sorted(found)


def _imported(source: str) -> set[Path]:
    """Of `room.module import names`, the module; of `room import modules`, those."""
    return {
        _DOMAIN / room / f"{one}.py"
        for room, module, names in _IMPORT.findall(source)
        for one in ([module] if module else names.split(", "))
    }


def number_of(sources: Iterable[bytes]) -> int:
    """The number of a reader with this source."""
    digest = sha256()
    for source in sources:
        digest.update(sha256(source).digest())
    return int.from_bytes(digest.digest()[:6], "big") + 1
