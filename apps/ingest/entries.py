"""Lines with a place and a time each, sorted by place: what every door for lines makes of a body.

Plain Python. Doors that must answer for each line decode at once; what they accepted waits in the
stream in the form that `pack` makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar

import msgspec

from apps.core.errors import BadPayload
from apps.ingest.labels import of_file
from apps.logs.domain.reading.entries import Entries

MAX_LINES: Final = 1_000_000
MAX_PLACES: Final = 20_000
"""Different places in a body."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Whose lines these are, as far as somebody said. launch: names a start, where no attempt is
    given."""

    attempt: int | None = None
    launch: str = ""
    node: str = ""
    rank: int | None = None
    local_rank: int | None = None
    source: str = ""
    channel: str = ""


class Placed(Protocol):
    """Lines of one place."""

    @property
    def place(self) -> Place: ...


P = TypeVar("P", bound=Placed)


class Group(msgspec.Struct, frozen=True, array_like=True):
    """Lines of one place: columns of equal length, as in logs.domain.entries.Entries."""

    place: Place
    time_ns: list[int | None]
    severity: list[int | None]
    step: list[int | None]
    text: list[str]

    def __len__(self) -> int:
        return len(self.text)

    def first_ns(self) -> int | None:
        """The earliest time that is said."""
        return min((at for at in self.time_ns if at is not None), default=None)

    def entries(self) -> Entries:
        """The columns as the log store takes them."""
        return Entries(self.time_ns, self.severity, self.step, self.text, self.place.rank)


class EntryBatch(msgspec.Struct, frozen=True, array_like=True):
    """What one body holds for one run. counts: what was odd in it. project: of the run, if said."""

    version: Literal[1]
    groups: list[Group]
    counts: dict[str, int] = {}
    project: str = ""

    def lines(self) -> int:
        """How many entries there are."""
        return sum(len(group.text) for group in self.groups)


MAX_JOINED: Final = 50_000
"""Lines of bodies that are written together."""


def join(first: object, second: object) -> EntryBatch | None:
    """Both as one; None if that would be too large, or one was read as columns, which is large.

    Lines keep their order within each place.
    """
    if not isinstance(first, EntryBatch) or not isinstance(second, EntryBatch):
        return None
    if first.project != second.project or first.lines() + second.lines() > MAX_JOINED:
        return None
    groups = by_place(first.groups, second.groups, _longer)
    counts = Counter(first.counts) + Counter(second.counts)
    return EntryBatch(1, groups, dict(counts), first.project)


def by_place(first: Sequence[P], second: Sequence[P], longer: Callable[[P, P], P]) -> list[P]:
    """The groups of both, one for each place. longer: makes one of two of the same place."""
    groups = {group.place: group for group in first}
    for group in second:
        held = groups.get(group.place)
        groups[group.place] = group if held is None else longer(held, group)
    return list(groups.values())


def _longer(held: Group, more: Group) -> Group:
    return Group(
        held.place,
        held.time_ns + more.time_ns,
        held.severity + more.severity,
        held.step + more.step,
        held.text + more.text,
    )


_DECODER: Final = msgspec.msgpack.Decoder(EntryBatch)


def pack(batch: EntryBatch) -> bytes:
    """The batch as bytes."""
    return msgspec.msgpack.encode(batch)


def unpack(data: bytes) -> EntryBatch:
    """The batch; BadPayload on anything else."""
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise BadPayload(f"not packed lines: {error}", where="body") from error


def place_of(fields: Mapping[str, Any], default: Place) -> Place:
    """The place that labels tell; what they leave open is as in `default`."""
    return Place(
        attempt=fields.get("attempt", default.attempt),
        launch=fields.get("launch", default.launch),
        node=fields.get("node", default.node),
        rank=fields.get("rank", default.rank),
        local_rank=fields.get("local_rank", default.local_rank),
        source=fields.get("source", default.source),
        channel=fields.get("channel", default.channel),
    )


def source_name(place: Place) -> str:
    """The file that lines of a place make up: one for each process, as on a training node."""
    name = place.source or "lines"
    told = of_file(name)
    if place.rank is not None and told.get("rank") != place.rank:
        return f"{name}@{place.rank}"
    if place.rank is None and place.local_rank is not None and "local_rank" not in told:
        return f"{name}@local{place.local_rank}"
    return name


class Collector:
    """Sorts lines by their place while a body is read."""

    def __init__(self) -> None:
        self._groups: dict[Place, Group] = {}
        self.counts: Counter[str] = Counter()

    def group(self, place: Place) -> Group:
        """The columns of a place; BadPayload for more than MAX_PLACES."""
        found = self._groups.get(place)
        if found is None:
            if len(self._groups) >= MAX_PLACES:
                raise BadPayload(
                    f"more than {MAX_PLACES} different places in a body",
                    where="body",
                    hint="is a number part of the source?",
                )
            found = self._groups[place] = Group(place, [], [], [], [])
        return found

    def batch(self, project: str = "") -> EntryBatch:
        """All that was collected."""
        return EntryBatch(1, list(self._groups.values()), dict(self.counts), project)


def with_rest(text: str, rest: Mapping[str, Any]) -> str:
    """The text, and behind it as `name=value` what was said beside it and nobody understands."""
    if not rest:
        return text
    more = " ".join(f"{name}={_shown(value)}" for name, value in rest.items())
    return f"{text} {more}".strip().replace("\0", "\u2400")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        plain = value and not any(c in value for c in ' ="\n\t')
        return value if plain else msgspec.json.encode(value).decode()
    return msgspec.json.encode(value).decode()
