"""Every statement against the channels."""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.alerts.domain.routing import Channel, ChannelKind
from apps.alerts.models import Channel as Row
from apps.alerts.named_store import NamedRows

MAX_CHANNELS = 500


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    """A channel as pages show it. shown: of its address no more than may be seen."""

    id: int
    name: str
    kind: ChannelKind
    project: str
    shown: str
    enabled: bool
    version: int
    changed_at_ns: int
    changed_by: str
    tested_at_ns: int | None
    test_error: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A channel with what opens it, encrypted."""

    name: str
    kind: ChannelKind
    enabled: bool
    sealed: str = field(repr=False)


def channels() -> tuple[Channel, ...]:
    """All channels by number, those that are switched off too."""
    return tuple(
        Channel(
            id=one.id,
            name=one.name,
            kind=one.kind,
            enabled=one.enabled,
            project=one.project,
            address=one.shown if one.kind is ChannelKind.EMAIL else "",
        )
        for one in infos()
    )


def infos() -> list[ChannelInfo]:
    """The same with what pages show."""
    return [_info(row) for row in Row.objects.order_by("pk")[:MAX_CHANNELS]]


def info(channel_id: int) -> ChannelInfo | None:
    """One of them."""
    row = Row.objects.filter(pk=channel_id).first()
    return _info(row) if row else None


def _info(row: Row) -> ChannelInfo:
    return ChannelInfo(
        row.pk,
        row.name,
        ChannelKind(row.kind),
        row.project,
        row.shown,
        row.enabled,
        row.version,
        row.changed_at_ns,
        row.changed_by,
        row.tested_at_ns,
        row.test_error,
    )


def access(channel_id: int) -> Sealed | None:
    """What a message needs to get to a channel; None if there is no such channel."""
    row = Row.objects.filter(pk=channel_id).first()
    return Sealed(row.name, ChannelKind(row.kind), row.enabled, row.sealed) if row else None


def sealed() -> dict[str, str]:
    """name -> what opens it, encrypted."""
    return dict(Row.objects.order_by("pk").values_list("name", "sealed")[:MAX_CHANNELS])


def kind(channel_id: int) -> ChannelKind | None:
    """How a channel is spoken to; None if there is no such channel."""
    found = Row.objects.filter(pk=channel_id).values_list("kind", flat=True).first()
    return ChannelKind(found) if found else None


_ROWS = NamedRows(Row)
count, name_taken, add, change = _ROWS.count, _ROWS.name_taken, _ROWS.add, _ROWS.change


def remove(channel_id: int) -> bool:
    """False if there was none."""
    return Row.objects.filter(pk=channel_id).delete()[0] > 0


def note_test(channel_id: int, at_ns: int, error: str) -> None:
    """How the last test message fared."""
    Row.objects.filter(pk=channel_id).update(tested_at_ns=at_ns, test_error=error[:2_000])
