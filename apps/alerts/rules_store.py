"""Every statement against the rules and the channels."""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.alerts.domain.routing import Channel, ChannelKind, Rule
from apps.alerts.models import Channel as ChannelRow
from apps.alerts.models import LeftRule
from apps.alerts.models import Rule as RuleRow
from apps.core.records import FindingSeverity

MAX_RULES = MAX_CHANNELS = 500


def rules() -> tuple[Rule, ...]:
    """All rules by number, those that are switched off too."""
    return tuple(_rule(row) for row in RuleRow.objects.order_by("pk")[:MAX_RULES])


def _rule(row: RuleRow) -> Rule:
    return Rule(
        id=row.pk,
        name=row.name,
        severities=frozenset(FindingSeverity(one) for one in row.severities),
        kinds=frozenset(row.kinds),
        project=row.project,
        tag=row.tag,
        owner=row.owner,
        channels=tuple(row.channels),
        everybody=row.everybody,
        enabled=row.enabled,
    )


def channels() -> tuple[Channel, ...]:
    """All channels by number, those that are switched off too."""
    return tuple(_channel(row) for row in ChannelRow.objects.order_by("pk")[:MAX_CHANNELS])


def _channel(row: ChannelRow) -> Channel:
    kind = ChannelKind(row.kind)
    address = row.shown if kind is ChannelKind.EMAIL else ""
    return Channel(row.pk, row.name, kind, row.enabled, row.project, address)


def left() -> frozenset[tuple[int, str]]:
    """Who left which rule: (rule, recipient)."""
    return frozenset(LeftRule.objects.values_list("rule_id", "recipient"))


def leave(rule_id: int, recipient: str, now_ns: int) -> bool:
    """Somebody unsubscribes from a rule; False if they had before."""
    _, new = LeftRule.objects.get_or_create(
        rule_id=rule_id, recipient=recipient, defaults={"left_at_ns": now_ns}
    )
    return new


def come_back(rule_id: int, recipient: str) -> bool:
    """Undoes `leave`; False if there was nothing to undo."""
    return LeftRule.objects.filter(rule_id=rule_id, recipient=recipient).delete()[0] > 0


@dataclass(frozen=True, slots=True)
class Sealed:
    """A channel with what opens it, encrypted."""

    name: str
    kind: ChannelKind
    enabled: bool
    sealed: str = field(repr=False)


def access(channel_id: int) -> Sealed | None:
    """What a message needs to get to a channel; None if there is no such channel."""
    row = ChannelRow.objects.filter(pk=channel_id).first()
    return Sealed(row.name, ChannelKind(row.kind), row.enabled, row.sealed) if row else None
