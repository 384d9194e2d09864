"""Why a checkpoint must stay whatever the rules of retention say: marks, orders, incidents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.checkpoints import marks, retention_store
from apps.checkpoints.domain.retention import Key
from apps.checkpoints.records import MarkKind, Protection
from apps.checkpoints.retention import Guards
from apps.checkpoints.retention_store import Lying
from apps.incidents import store as incidents
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import services, store
from apps.rollbacks.domain.state import OrderState

MAX_INCIDENTS = 5
"""Open incidents whose candidates are looked up: the newest ones."""
OFFERED = 3
"""Candidates of an incident that stay, the best first, beside its three offers."""
_UNDONE = frozenset((OrderState.CANCELLED, OrderState.SUPERSEDED))


def guards(run_id: int, now_ns: int) -> Guards:
    """(attempt, step) -> why it must stay, in words.

    Pins, tags and leases; where an order led to, unless it was taken back: a branch directory may
    link to it; the first candidates of open incidents; the last complete one before the last
    alert. Some 20 statements for each open incident, at most MAX_INCIDENTS of them.
    """
    found: dict[Key, list[str]] = {}
    for key, words in _all(run_id, now_ns):
        reasons = found.setdefault(key, [])
        if words not in reasons:
            reasons.append(words)
    return {key: tuple(reasons) for key, reasons in found.items()}


def _all(run_id: int, now_ns: int) -> Iterator[tuple[Key, str]]:
    for key, protections in marks.protections(run_id, now_ns).items():
        for protection in protections:
            yield key, in_words(protection)
    for order in store.orders(run_id):
        if order.state not in _UNDONE:
            yield (order.attempt, order.step), f"{order.label} leads to it"
    for incident in incidents.waiting([run_id], MAX_INCIDENTS):
        ranking = services.ranking(run_id, incident)
        usable = [one for one in ranking.candidates if one.eligible]
        for one in usable[:OFFERED]:
            yield (one.attempt, one.step), f"a candidate of {incident.label}"
        for offer in ranking.offers:
            if offer.step is not None and offer.attempt is not None:
                yield (offer.attempt, offer.step), f"the {offer.name} candidate of {incident.label}"
    yield from _before_the_last_alert(run_id)


def in_words(protection: Protection) -> str:
    """A mark as a reason: "pinned by alice: the paper"."""
    about = f": {protection.reason}" if protection.reason else ""
    if protection.kind is MarkKind.PIN:
        return f"pinned by {protection.actor}{about}"
    if protection.kind is MarkKind.TAG:
        return f"tagged {protection.name}{about}"
    return f"leased by {protection.name}{about}"


def _before_the_last_alert(run_id: int) -> Iterator[tuple[Key, str]]:
    alerts = [one for one in incidents.of_runs([run_id], 50) if one.page]
    if not alerts:
        return
    last = max(alerts, key=lambda one: (one.onset_time_ns, one.id))
    before = newest_before(retention_store.lying(run_id), last)
    if before is not None:
        yield before, f"the last complete one before {last.label}"


def newest_before(lying: Sequence[Lying], incident: IncidentInfo) -> Key | None:
    """The complete checkpoint that was saved last before an incident began; None without any."""
    before = [
        one
        for one in lying
        if one.complete
        and one.saved_at_ns < incident.onset_time_ns
        and (incident.onset_step is None or one.step < incident.onset_step)
    ]
    if not before:
        return None
    newest = max(before, key=lambda one: (one.saved_at_ns, one.attempt, one.step))
    return newest.attempt, newest.step
