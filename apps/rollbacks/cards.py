"""The triage card of an incident: what was looked up, and the checkpoints one may go back to."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.records import Candidate, Finding
from apps.incidents import store as incidents
from apps.incidents.clues import clues_of
from apps.incidents.domain.card import Card, Given, card_of
from apps.incidents.domain.incident import IncidentInfo
from apps.rollbacks import services, store


def card(
    incident: IncidentInfo,
    *,
    findings: Sequence[Finding] | None = None,
    candidates: Sequence[Candidate] | None = None,
) -> Card | None:
    """The card as of now; None for an incident without findings.

    findings, candidates: of the incident, for a caller that has read them already. Costs what
    `incidents.clues.clues_of` costs, one statement for the orders, and what was not handed in.
    """
    found = incidents.findings(incident.run_id, incident.id) if findings is None else findings
    if not found:
        return None
    if candidates is None:
        candidates = services.candidates(incident.run_id, incident)
    skipped = [
        (order.resumed_attempt, steps)
        for order in store.orders(incident.run_id)
        if order.resumed_attempt is not None
        for steps in order.skip_ranges
    ]
    return card_of(Given(incident, found, clues_of(incident, found), candidates, skipped))
