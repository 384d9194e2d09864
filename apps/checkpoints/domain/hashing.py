"""What the reading of every byte of a checkpoint proves. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from apps.checkpoints.domain.codes import CheckpointFinding, Code, finding, named

SMALL_RATIO: Final = 0.001
"""Files without any checksum that are no more than this part of all bytes leave a checkpoint
verified: markers and settings, which have none of their own."""


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file that was read to its end. summed: checksums of its own cover it (domain/zipsums.py);
    bad_parts: where they disagree."""

    bytes: int
    sha256: str
    summed: bool = False
    bad_parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """verified: every byte (but for SMALL_RATIO) agrees with a checksum or an earlier reading.

    unproved: in words, what could not be compared with anything. digest: of all content.
    """

    findings: tuple[CheckpointFinding, ...]
    verified: bool
    unproved: str
    digest: str


def judge(
    sizes: Mapping[str, int],
    read: Mapping[str, Hashed],
    before: Mapping[str, Hashed],
    written_down: Mapping[str, str],
) -> Verdict:
    """What a reading proves of the files of an inventory.

    sizes: the inventory. read: every one of its files. before: an earlier reading, {} if there was
    none. written_down: name -> SHA-256 as the framework says. A file that is other than any of them
    says is HASH_MISMATCH; one of another size is INVENTORY_MISMATCH.
    """
    same_size = {name: one for name, one in read.items() if one.bytes == sizes.get(name)}
    other_size = read.keys() - same_size.keys()
    bad = {name for name, one in same_size.items() if one.bad_parts}
    lied = {n for n, one in same_size.items() if one.sha256 != written_down.get(n, one.sha256)}
    changed = {n for n, one in same_size.items() if n in before and one.sha256 != before[n].sha256}
    proved = {
        name
        for name, one in same_size.items()
        if one.summed or name in written_down or name in before or not one.bytes
    }
    findings = (
        *named(Code.INVENTORY_MISMATCH, "of another size than in the inventory", other_size),
        *_mismatch(bad, "whose content contradicts its own checksum", same_size),
        *_mismatch(lied, "other than integrity.json says", {}),
        *_mismatch(changed, "with the same size and other bytes than when read before", {}),
    )
    open_bytes = sum(one.bytes for name, one in same_size.items() if name not in proved)
    total = sum(one.bytes for one in read.values())
    verified = not findings and open_bytes <= total * SMALL_RATIO
    return Verdict(findings, verified, _unproved(same_size.keys() - proved), digest(read))


def digest(read: Mapping[str, Hashed]) -> str:
    """64 hex digits that change with any byte of any file.

    Input of SHA-256: the JSON array of [name, bytes, sha256] sorted by name, UTF-8, no spaces.
    """
    rows = [[name, one.bytes, one.sha256] for name, one in sorted(read.items())]
    return hashlib.sha256(orjson.dumps(rows)).hexdigest()


def _mismatch(
    names: set[str], problem: str, parts: Mapping[str, Hashed]
) -> list[CheckpointFinding]:
    found = named(Code.HASH_MISMATCH, problem, names)
    inside = [f"{n}: {', '.join(parts[n].bad_parts)}" for n in sorted(names)[:5] if n in parts]
    if not found or not inside:
        return found
    return [finding(Code.HASH_MISMATCH, f"{found[0].message} ({'; '.join(inside)})")]


def _unproved(names: set[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(name[:100] for name in sorted(names)[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f"{shown}{more}: read for the first time and without a checksum of their own, so there was "
        "nothing to compare them with; the next full hash compares them"
    )
