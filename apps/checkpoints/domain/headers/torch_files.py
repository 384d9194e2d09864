"""Files of torch.save: the directory at their end, the pickle that says what is in them.

The pickle is never run: its opcodes tell the names it wants and the storages of its tensors.
Source: torch 2.13.0, torch/serialization.py: `<name>/data.pkl`, and `<name>/data/<key>` for each
storage. Older files are a row of pickles without a directory.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from apps.checkpoints.domain.codes import Code
from apps.checkpoints.domain.headers.base import Problem, Seen, windows
from apps.checkpoints.domain.headers.pickle_names import BadPickle, Names, names_of
from apps.checkpoints.domain.headers.zip_directory import (
    LOCAL_BYTES,
    START,
    TAIL_BYTES,
    Entry,
    Place,
    entries_of,
    place_of,
)
from apps.checkpoints.domain.reading import Part

ENDS = (".pt", ".pth", ".ckpt", ".bin", ".pkl")
_PICKLE = "data.pkl"
_MAX_EXTRA = 4_096
_MAX_OLD_PICKLES = 4
_OLD_HEAD_BYTES = 1024 * 1024
_ITEM_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool", "QUInt8", "QInt8", "Untyped"), 1),
    **dict.fromkeys(("Half", "BFloat16", "Short"), 2),
    **dict.fromkeys(("Float", "Int", "QInt32"), 4),
    **dict.fromkeys(("Double", "Long", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}


def check(seen: Seen) -> None:
    """Every file of torch.save: is it whole, what does its pickle name, are the storages there."""
    files = seen.found.files
    names = [name for name, stat in files.items() if name.endswith(ENDS) and stat.size]
    for window in windows(names):
        tails = seen.read([Part(n, -min(TAIL_BYTES, files[n].size), TAIL_BYTES) for n in window])
        zips = _placed(seen, tails)
        _check_pickles(seen, _directories(seen, zips, tails), tails)


def _placed(seen: Seen, tails: dict[str, bytes]) -> dict[str, Place]:
    """Where each file has its directory; others are looked at by their beginning."""
    zips: dict[str, Place] = {}
    broken: dict[str, Problem] = {}
    for name, tail in tails.items():
        size = seen.found.files[name].size
        try:
            zips[name] = place_of(tail, size)
        except Problem as error:
            broken[name] = error
            continue
        if zips[name].extra:
            seen.add(Code.SIZE_MISMATCH, "longer than the zip in it", name)
    for name, head in seen.read([Part(n, 0, len(START)) for n in broken], tails).items():
        if head == START:
            seen.add(broken[name].code, broken[name].problem, name)
        else:
            _check_old(seen, name, head, tails)
    return zips


def _check_old(seen: Seen, name: str, head: bytes, tails: Mapping[str, bytes]) -> None:
    """A file that is no zip: older torch.save, a pickle, or nothing that can be loaded."""
    if not head.startswith(b"\x80"):
        seen.add(Code.BAD_MAGIC, "neither a zip nor a pickle", name)
        return
    for content in seen.read([Part(name, 0, _OLD_HEAD_BYTES)], tails).values():
        at = 0
        try:
            for _ in range(_MAX_OLD_PICKLES):
                found = names_of(content, at)
                _judge(seen, name, found)
                at = found.end
                if content[at : at + 1] != b"\x80":
                    break
        except BadPickle as error:
            whole = len(content) == seen.found.files[name].size
            if whole:
                code = Code.TRUNCATED if error.cut else Code.BAD_HEADER
                seen.add(code, "with a pickle that cannot be read", name)
                return
        if at < seen.found.files[name].size:
            seen.skip("of an older kind than zip: their sizes cannot be checked", name)


def _directories(
    seen: Seen, zips: dict[str, Place], tails: dict[str, bytes]
) -> dict[str, dict[str, Entry]]:
    """Name -> what its directory lists."""
    raw: dict[str, bytes] = {}
    for name, place in zips.items():
        if place.length > seen.policy.max_header_bytes:
            seen.skip("with a directory too large to be parsed", name)
        else:
            raw |= seen.read([Part(name, place.offset, place.length)], tails)
    listed: dict[str, dict[str, Entry]] = {}
    for name, directory in raw.items():
        try:
            listed[name] = entries_of(directory, zips[name])
        except Problem as error:
            seen.add(error.code, error.problem, name)
    return listed


def _check_pickles(
    seen: Seen, listed: dict[str, dict[str, Entry]], tails: Mapping[str, bytes]
) -> None:
    pickles: dict[str, Entry] = {}
    for name, entries in listed.items():
        main = [e for e in entries.values() if e.name.rpartition("/")[2] == _PICKLE]
        if not main:
            seen.add(Code.BAD_HEADER, f"without {_PICKLE}", name)
        elif max(main[0].stored, main[0].size) > seen.policy.max_header_bytes:
            seen.skip("with a pickle too large to be looked at", name)
        else:
            pickles[name] = main[0]
    parts = [
        Part(name, e.offset, LOCAL_BYTES + len(e.name.encode()) + _MAX_EXTRA + e.stored)
        for name, e in pickles.items()
    ]
    for name, content in seen.read(parts, tails).items():
        try:
            found = names_of(unpacked(content, pickles[name]))
        except Problem as error:
            seen.add(error.code, error.problem, name)
        except BadPickle:
            seen.add(Code.BAD_HEADER, "with a pickle that cannot be read", name)
        else:
            _judge(seen, name, found)
            _check_storages(seen, name, found, listed[name])


def unpacked(content: bytes, entry: Entry) -> bytes:
    """An entry's bytes, from those of the zip that begin at its local header.

    Raises Problem: BAD_MAGIC where no entry begins, BAD_HEADER if its checksum does not agree.
    """
    if content[: len(START)] != START:
        raise Problem(Code.BAD_MAGIC, "without a zip entry where its directory puts one")
    start = LOCAL_BYTES + sum(int.from_bytes(content[at : at + 2], "little") for at in (26, 28))
    body = content[start : start + entry.stored]
    try:
        if entry.method == zlib.DEFLATED:
            body = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, entry.size + 1)
    except zlib.error as error:
        raise Problem(Code.BAD_HEADER, "with a pickle that cannot be unpacked") from error
    if zlib.crc32(body) != entry.crc:
        raise Problem(Code.BAD_HEADER, "with a pickle whose checksum does not agree")
    return body


def _judge(seen: Seen, name: str, found: Names) -> None:
    if found.unsafe:
        seen.add(Code.UNSAFE_PICKLE, f"that would run {_some(found.unsafe)} when loaded", name)
    if found.foreign:
        seen.foreign[name] = found.foreign


def _some(names: set[str]) -> str:
    first = sorted(names)[:3]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:120] for name in first) + more


def _check_storages(seen: Seen, name: str, found: Names, entries: dict[str, Entry]) -> None:
    """Every storage that the pickle names, in the zip and of its size."""
    prefix = next(n for n in entries if n.rpartition("/")[2] == _PICKLE)[: -len(_PICKLE)]
    for key, (kind, elements) in found.storages.items():
        entry = entries.get(f"{prefix}data/{key}")
        if entry is None:
            seen.add(Code.MISSING_TENSOR, "of storages that are not in the zip", f"{name}:{key}")
            continue
        item = _ITEM_BYTES.get(kind.rpartition(".")[2].removesuffix("Storage"))
        if item is not None and entry.size != elements * item:
            problem = "whose storage has another size than its pickle says"
            seen.add(Code.COVERAGE, problem, f"{name}:{key}", "tensor")
