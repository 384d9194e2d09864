"""Adding, changing and removing rules, and what they would have done lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.alerts import channels_store, routing
from apps.alerts import rules_store as store
from apps.alerts.domain.routing import Facts, Rule
from apps.alerts.domain.rulebook import checked
from apps.alerts.rules_store import RuleInfo
from apps.core.errors import AppError, Conflict, NotFound, Refused
from apps.incidents import store as incidents
from apps.incidents.store import Headline

DAYS: Final = 7
MAX_LOOKED_AT: Final = 1_000
_DAY_NS: Final = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class History:
    """Incidents that were opened in the last days, newest first. whole: none was left out."""

    incidents: tuple[tuple[Headline, Facts], ...]
    whole: bool

    def fitting(self, rule: Rule) -> list[Headline]:
        """Those that a rule would have sent, were it switched on."""
        tried = replace(rule, enabled=True)
        return [incident for incident, facts in self.incidents if tried.fits(facts)]


def history(now_ns: int, days: int = DAYS) -> History:
    """What rules are tried on: at most MAX_LOOKED_AT incidents. Two statements."""
    newest = incidents.headlines(MAX_LOOKED_AT)
    found = [one for one in newest if one.opened_at_ns >= now_ns - days * _DAY_NS]
    asked = routing.facts(found)
    whole = len(newest) < MAX_LOOKED_AT or len(found) < len(newest)
    return History(tuple((one, asked[one.id]) for one in found), whole)


def add(asked: Rule, actor: Actor, now_ns: int) -> int:
    """A new rule's number. Needs the scope admin. AppError names the field at fault."""
    require(actor, "admin")
    with transaction.atomic():
        store.one_at_a_time()
        rule = _checked(asked, 0)
        if store.count() >= store.MAX_RULES:
            raise Refused(f"there are {store.MAX_RULES} rules already", where="name")
        number = store.add(_values(rule, actor, now_ns))
        audit(actor, "alert_rule.added", _called(number, rule), after=_told(rule))
    return number


def change(rule_id: int, asked: Rule, version: int, actor: Actor, now_ns: int) -> None:
    """Changes a rule. Needs the scope admin. Conflict if somebody was faster."""
    require(actor, "admin")
    with transaction.atomic():
        store.one_at_a_time()
        before = _known(rule_id)
        rule = _checked(asked, rule_id)
        if not store.change(rule_id, version, _values(rule, actor, now_ns)):
            raise Conflict(
                f"{before.changed_by} changed this rule meanwhile",
                hint="look at it again, then repeat your change",
            )
        what = _called(rule_id, rule)
        audit(actor, "alert_rule.changed", what, before=_told(before.rule), after=_told(rule))


def remove(rule_id: int, actor: Actor) -> None:
    """Needs the scope admin. What it sent stays in the delivery log."""
    require(actor, "admin")
    with transaction.atomic():
        store.one_at_a_time()
        before = _known(rule_id)
        store.remove(rule_id)
        what = _called(rule_id, before.rule)
        audit(actor, "alert_rule.removed", what, before=_told(before.rule))


def _known(rule_id: int) -> RuleInfo:
    found = store.info(rule_id)
    if found is None:
        raise NotFound("there is no such rule", hint="see /alerts/ for those there are")
    return found


def _checked(asked: Rule, rule_id: int) -> Rule:
    rule = checked(asked, [one.id for one in channels_store.infos()])
    if store.name_taken(rule.name, rule_id):
        raise AppError(f"another rule is called {rule.name}", where="name")
    return rule


def _values(rule: Rule, actor: Actor, now_ns: int) -> dict[str, Any]:
    told = _told(rule)
    return {**told, "changed_at_ns": now_ns, "changed_by": actor.name[:200]}


def _told(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "severities": sorted(rule.severities),
        "kinds": sorted(rule.kinds),
        "project": rule.project,
        "tag": rule.tag,
        "owner": rule.owner,
        "channels": list(rule.channels),
        "everybody": rule.everybody,
        "enabled": rule.enabled,
    }


def _called(rule_id: int, rule: Rule) -> str:
    return f"rule {rule.name} ({rule_id})"


def leading_nowhere(rules: Sequence[Rule]) -> list[Rule]:
    """Rules that are switched on although none of their channels can be used."""
    able = {one.id for one in channels_store.infos() if one.enabled}
    return [r for r in rules if r.enabled and not r.everybody and not able & set(r.channels)]
