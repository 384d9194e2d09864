"""A dump of PyTorch's flight recorder, read as data: nothing in it is ever run.

Source of the fields: torch/csrc/distributed/c10d/FlightRecorder.hpp, format 2.x, as a pickle
(`TORCH_NCCL_DEBUG_INFO_TEMP_FILE` + rank) or as JSON (`dump_nccl_trace_json`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from apps.core.errors import BadPayload
from apps.core.pickles import Expected, read_pickle

MAX_DUMP_BYTES = 16 * 1024 * 1024
MAX_ENTRIES = 50_000
MAX_GROUPS = 10_000
MAX_RANKS_TEXT = 256 * 1024
MAX_NAME_CHARS = 120
MAX_NUMBER = 2**63
MAX_RANK = 1_000_000
_HINT = "send the file as PyTorch wrote it, or its JSON form"
_PAIR = re.compile(r"(?:\w+:)?(send|recv) (\d{1,7})(?:->|<-)(\d{1,7})")
_COMPLETED = "completed"

_EXPECTED = Expected(
    what="a flight recorder dump",
    allowed=lambda module, name: False,
    if_cut="the dump is cut or damaged; " + _HINT,
    if_unsafe="do not unpickle this file anywhere; find out who wrote it",
)


@dataclass(frozen=True, slots=True)
class Group:
    """A process group. ranks: global ranks in the order of the group; empty: the whole job."""

    name: str
    title: str
    ranks: tuple[int, ...]

    @property
    def key(self) -> tuple[str, int]:
        """Equal in the dumps of its members; cheap to compare."""
        return self.name, len(self.ranks)

    @property
    def label(self) -> str:
        """`TENSOR_PARALLEL (37)`."""
        return f"{self.title} ({self.name})" if self.title not in ("", self.name) else self.name

    def member(self, local: int) -> int | None:
        """The global rank of a rank of the group, None if it has no such rank."""
        if not self.ranks:
            return local
        return self.ranks[local] if local < len(self.ranks) else None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that was enqueued and has not completed. seq: its number in its group.

    peer: the other rank of a send or a receive, None for a collective. created_ns: 0 if unknown.
    """

    group: Group
    seq: int
    name: str
    created_ns: int
    peer: int | None = None

    @property
    def kind(self) -> str:
        """Its name without the library: `all_reduce`, `send 0->3`."""
        return self.name.rpartition(":")[2].lstrip("_")


@dataclass(frozen=True, slots=True)
class Dump:
    """What one rank had enqueued.

    pending: in the order it was enqueued. enqueued: group name -> number of its last collective.
    highest: of any group, also those that the dump cannot name. skipped: unfinished operations
    whose group or peer the dump does not say.
    """

    rank: int
    pending: tuple[Operation, ...]
    enqueued: Mapping[str, int]
    highest: int
    skipped: int

    def surely_before(self, group: str, seq: int) -> bool:
        """Whether the dump proves that the rank did not come as far as this collective."""
        return group in self.enqueued or self.highest < seq


def read_dump(body: bytes, rank: int) -> Dump:
    """The dump of one rank; which rank is said by whoever has the file.

    Raises BadPayload, and nothing else: too large, neither a pickle nor JSON, cut, anything in a
    pickle besides plain data, or fields that are missing or of the wrong kind. Time and memory
    grow linearly with the body.
    """
    if not 0 <= rank < MAX_RANK:
        raise BadPayload(f"there is no rank {rank}", where="rank", hint="global ranks count from 0")
    if len(body) > MAX_DUMP_BYTES:
        raise BadPayload(
            f"the dump has {len(body):,} bytes, the limit is {MAX_DUMP_BYTES:,}",
            hint="lower TORCH_FR_BUFFER_SIZE or leave out stack traces",
        )
    root = _mapping(_tree(body), "dump")
    entries = root.get("entries")
    if not isinstance(entries, list) or len(entries) > MAX_ENTRIES:
        raise _wrong("entries", f"a list of at most {MAX_ENTRIES:,} operations")
    return _dump(rank, root, entries)


def _tree(body: bytes) -> Any:
    if body[:1] == b"\x80":
        return read_pickle(body, _EXPECTED)
    if body.lstrip()[:1] != b"{":
        raise BadPayload("this is neither a pickle nor a JSON object", hint=_HINT)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadPayload(f"the JSON cannot be read: {error}", hint=_HINT) from error


def _dump(rank: int, root: Mapping[Any, Any], entries: list[Any]) -> Dump:
    config = _mapping(root.get("pg_config", {}), "pg_config")
    if len(config) > MAX_GROUPS:
        raise _wrong("pg_config", f"at most {MAX_GROUPS:,} process groups")
    groups: dict[str, Group | None] = {}
    pending: list[Operation] = []
    enqueued: dict[str, int] = {}
    skipped = 0
    for number, each in enumerate(entries):
        where = f"entries[{number}]"
        entry = _mapping(each, where)
        name = _group_name(entry, where)
        is_pair = entry.get("is_p2p") is True
        seq = _number(entry, "p2p_seq_id" if is_pair else "collective_seq_id", where)
        if not is_pair:
            enqueued[name] = max(seq, enqueued.get(name, -1))
        if _text(entry, "state", where) == _COMPLETED:
            continue
        if name not in groups:
            groups[name] = _group(config, name)
        operation = _operation(entry, groups[name], seq, where)
        if operation is None:
            skipped += 1
        else:
            pending.append(operation)
    highest = max([_highest(root.get("pg_status", {})), *enqueued.values()])
    return Dump(rank, tuple(pending), enqueued, highest, skipped)


def _operation(
    entry: Mapping[Any, Any], group: Group | None, seq: int, where: str
) -> Operation | None:
    if group is None:
        return None
    name = _plain(_text(entry, "profiling_name", where))
    created_ns = _number(entry, "time_created_ns", where) if "time_created_ns" in entry else 0
    if entry.get("is_p2p") is not True:
        return Operation(group, seq, name, created_ns)
    pair = _PAIR.fullmatch(name)
    peer = group.member(int(pair[3])) if pair else None
    return Operation(group, seq, name, created_ns, peer) if peer is not None else None


def _group_name(entry: Mapping[Any, Any], where: str) -> str:
    said = entry.get("process_group")
    if not isinstance(said, list | tuple) or not said or not isinstance(said[0], str):
        raise _wrong(f"{where}.process_group", "the name and the title of a process group")
    return _plain(said[0])


def _group(config: Mapping[Any, Any], name: str) -> Group | None:
    if name not in config:
        return None
    where = f"pg_config.{name}"
    said = _mapping(config[name], where)
    title, ranks = said.get("desc", ""), said.get("ranks", "")
    if not isinstance(title, str):
        raise _wrong(f"{where}.desc", "text")
    if isinstance(ranks, list):
        ranks = str(ranks[:MAX_RANK]) if all(type(rank) is int for rank in ranks) else None
    if not isinstance(ranks, str) or len(ranks) > MAX_RANKS_TEXT:
        raise _wrong(f"{where}.ranks", "a list of ranks")
    try:
        return Group(name, _plain(title), _ranks(ranks))
    except ValueError as error:
        raise _wrong(f"{where}.ranks", "a list of ranks") from error


@lru_cache(maxsize=64)
def _ranks(text: str) -> tuple[int, ...]:
    """The dumps of a job share the tuple: 16,384 ranks write the same list 16,384 times."""
    if not text.startswith("["):
        return ()
    ranks = orjson.loads(text)
    if not all(type(rank) is int and 0 <= rank < MAX_RANK for rank in ranks):
        raise ValueError("not ranks")
    return tuple(ranks)


def _highest(status: Any) -> int:
    """The last collective of all groups, -1 if there was none."""
    found = [-1]
    for name, said in _mapping(status, "pg_status").items():
        where = f"pg_status.{str(name)[:MAX_NAME_CHARS]}"
        found.append(_number(_mapping(said, where), "last_enqueued_collective", where))
    return max(found)


def _plain(text: str) -> str:
    """Text that a database and a page take: no NUL, no half characters."""
    return text[:MAX_NAME_CHARS].replace("\0", "?").encode("utf-8", "replace").decode()


def _mapping(value: Any, where: str) -> Mapping[Any, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "an object")
    return value


def _text(entry: Mapping[Any, Any], field: str, where: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str):
        raise _wrong(f"{where}.{field}", "text")
    return value[:MAX_NAME_CHARS]


def _number(entry: Mapping[Any, Any], field: str, where: str) -> int:
    value = entry.get(field)
    if type(value) is not int or not -1 <= value < MAX_NUMBER:
        raise _wrong(f"{where}.{field}", "a whole number")
    return value


def _wrong(where: str, expected: str) -> BadPayload:
    return BadPayload(f"expected {expected}", where=where, hint=_HINT)
