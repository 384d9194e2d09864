"""Every statement against the rules and who left them."""

from __future__ import annotations

from dataclasses import dataclass

from apps.alerts.domain.routing import Rule
from apps.alerts.models import LeftRule
from apps.alerts.models import Rule as Row
from apps.alerts.named_store import NamedRows
from apps.core import sql
from apps.core.records import FindingSeverity

MAX_RULES = 500


def one_at_a_time() -> None:
    """Holds off everybody else who changes rules or channels until the transaction ends: a name is
    taken once, and a rule names no channel that is gone."""
    sql.one_at_a_time("alerts.settings")


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """A rule as pages show it."""

    rule: Rule
    version: int
    changed_at_ns: int
    changed_by: str


def rules() -> tuple[Rule, ...]:
    """All rules by number, those that are switched off too."""
    return tuple(one.rule for one in infos())


def infos() -> list[RuleInfo]:
    """The same with their versions."""
    return [_info(row) for row in Row.objects.order_by("pk")[:MAX_RULES]]


def info(rule_id: int) -> RuleInfo | None:
    """One of them."""
    row = Row.objects.filter(pk=rule_id).first()
    return _info(row) if row else None


def _info(row: Row) -> RuleInfo:
    rule = Rule(
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
    return RuleInfo(rule, row.version, row.changed_at_ns, row.changed_by)


_ROWS = NamedRows(Row)
count, name_taken, add, change = _ROWS.count, _ROWS.name_taken, _ROWS.add, _ROWS.change


def remove(rule_id: int) -> bool:
    """With the notes of who left it; False if there was none."""
    LeftRule.objects.filter(rule_id=rule_id).delete()
    return Row.objects.filter(pk=rule_id).delete()[0] > 0


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
