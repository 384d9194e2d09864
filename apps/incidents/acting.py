"""What people, rollbacks and Lastgood itself do to an incident: one way in, one way down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM, Actor
from apps.accounts.services import audit
from apps.core.errors import AppError, Refused
from apps.incidents import clues, store
from apps.incidents.domain.incident import (
    IncidentChange,
    IncidentInfo,
    IncidentState,
    Resolution,
)
from apps.incidents.domain.state import DONE, Act, Deed, Standing, decide, in_words, standing_of
from apps.runs import store as runs

MAX_NOTE = 10_000
MAX_NOTES = 500
MAX_KEY = 128
MAX_REASON = 2_000


def change(
    run_id: int, incident_id: int, deed: Deed, *, actor: Actor = SYSTEM
) -> list[IncidentChange]:
    """Does `deed` to an incident: its row, its history and the audit trail, or nothing of it.

    [] if it is already so. AppError if there is no such incident in this run, and what
    `state.decide` raises. Holds the run's row. The changes are for `alerts.services.plan`.
    """
    if actor != SYSTEM and len(deed.reason) > MAX_REASON:
        raise Refused(
            "the reason is too long", where="reason", hint=f"write at most {MAX_REASON} characters"
        )
    with transaction.atomic():
        return apply(_locked(run_id, incident_id), deed, actor=actor)


def apply(info: IncidentInfo, deed: Deed, *, actor: Actor = SYSTEM) -> list[IncidentChange]:
    """`change` for a caller that holds the run and the incident in its transaction."""
    before = standing_of(info)
    after = decide(before, deed)
    if after is None:
        return []
    number = store.save_standing(info, after)
    verb, says = DONE[deed.act], in_words(deed)
    line = store.EventInfo(deed.at_ns, f"{verb}:{number}", says, actor.name)
    store.add_events(info.run_id, info.id, [line])
    if after.state is not before.state:
        clues.settle(info, after.state)
    was, became = _difference(before, after)
    audit(
        actor,
        f"incident.{verb}",
        f"incident {info.id}",
        run_id=info.run_id,
        before=was,
        after=became,
        reason=deed.reason,
    )
    return [IncidentChange(info.run_id, info.id, verb, says)]


def acknowledge(
    run_id: int, incident_id: int, *, actor: Actor, now_ns: int, reason: str = ""
) -> list[IncidentChange]:
    """Somebody takes care: reminders stop, and a person becomes the owner if there is none."""
    deed = Deed(Act.ACKNOWLEDGE, now_ns, actor.name, reason, takes_over=actor.kind == "user")
    return change(run_id, incident_id, deed, actor=actor)


def mitigate(
    run_id: int, incident_id: int, *, now_ns: int, actor: Actor = SYSTEM, reason: str = ""
) -> list[IncidentChange]:
    """Something was done that should help; whether it did is not known yet."""
    deed = Deed(Act.MITIGATE, now_ns, actor.name, reason)
    return change(run_id, incident_id, deed, actor=actor)


def take_back(
    run_id: int, incident_id: int, *, actor: Actor, now_ns: int, reason: str
) -> list[IncidentChange]:
    """What was done about it is not done after all: a mitigated incident is open again."""
    with transaction.atomic():
        info = _locked(run_id, incident_id)
        if info.state is not IncidentState.MITIGATED:
            return []
        return apply(info, Deed(Act.REOPEN, now_ns, actor.name, reason), actor=actor)


def relapse(
    run_id: int, incident_id: int, attempt: int, *, now_ns: int, reason: str
) -> list[IncidentChange]:
    """A mitigated or resolved incident came back in `attempt`, as the losses say."""
    deed = Deed(Act.REOPEN, now_ns, SYSTEM.name, reason, attempt=attempt)
    return change(run_id, incident_id, deed)


def resolve(
    run_id: int,
    incident_id: int,
    how: Resolution | str,
    now_ns: int,
    *,
    actor: Actor = SYSTEM,
    reason: str = "",
) -> list[IncidentChange]:
    """End an incident as recovered, manual or closed; [] if it has ended already."""
    deed = Deed(Act.RESOLVE, now_ns, actor.name, reason, resolution=Resolution(how))
    return change(run_id, incident_id, deed, actor=actor)


def silence(
    run_id: int, incident_id: int, until_ns: int, *, actor: Actor, now_ns: int, reason: str
) -> list[IncidentChange]:
    """No messages before `until_ns`, or UNTIL_RESOLVED. A later silence replaces the earlier."""
    deed = Deed(Act.SILENCE, now_ns, actor.name, reason, until_ns=until_ns)
    return change(run_id, incident_id, deed, actor=actor)


def unsilence(
    run_id: int, incident_id: int, *, actor: Actor, now_ns: int, reason: str = ""
) -> list[IncidentChange]:
    """Messages go out again."""
    deed = Deed(Act.UNSILENCE, now_ns, actor.name, reason)
    return change(run_id, incident_id, deed, actor=actor)


def assign(
    run_id: int, incident_id: int, owner: str, *, actor: Actor, now_ns: int, reason: str = ""
) -> list[IncidentChange]:
    """`owner` takes care from now on, "" for nobody. Refused if no such user may log in."""
    if owner and not accounts.is_user(owner):
        raise Refused(f'there is no user "{owner[:80]}"', where="owner", hint="give a user name")
    deed = Deed(Act.ASSIGN, now_ns, actor.name, reason, owner=owner)
    return change(run_id, incident_id, deed, actor=actor)


def remark(
    run_id: int, incident_id: int, text: str, *, key: str, actor: Actor, now_ns: int
) -> list[IncidentChange]:
    """A person's note, which nobody changes later; the same key of the same actor adds nothing.

    Refused: empty, longer than MAX_NOTE characters, a bad key, or MAX_NOTES are there already.
    """
    text = text.strip()
    _check_note(text, key)
    with transaction.atomic():
        info = _locked(run_id, incident_id)
        said = store.notes(run_id, incident_id)
        line = store.EventInfo(now_ns, f"note:{actor.kind}:{actor.name}:{key}", text, actor.name)
        if any(known.key == line.key for known in said):
            return []
        if len(said) >= MAX_NOTES:
            raise Refused(f"{info.label} has {MAX_NOTES} notes", hint="write elsewhere, link it")
        store.add_events(run_id, incident_id, [line])
        audit(
            actor,
            "incident.noted",
            f"incident {incident_id}",
            run_id=run_id,
            after={"note": text[:500]},
        )
        return [IncidentChange(run_id, incident_id, "noted", text)]


def note(run_id: int, incident_id: int, event: store.EventInfo) -> None:
    """Add a line to the history, such as a rollback order; the same key again adds nothing."""
    store.add_events(run_id, incident_id, [event])


def _check_note(text: str, key: str) -> None:
    if not 0 < len(text) <= MAX_NOTE:
        raise Refused(
            "a note is empty or too long", where="text", hint=f"write 1 to {MAX_NOTE} characters"
        )
    if not 0 < len(key) <= MAX_KEY:
        raise Refused(
            "the idempotency key is missing or too long",
            where="idempotency_key",
            hint=f"send 1 to {MAX_KEY} characters, a new one for every note",
        )


def _locked(run_id: int, incident_id: int) -> IncidentInfo:
    runs.lock_run(run_id)
    info = store.lock(run_id, incident_id)
    if info is None:
        raise AppError(f"there is no incident {incident_id} in this run", where="incident")
    return info


def _difference(before: Standing, after: Standing) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What an act changed, old and new; times are the audit row's own."""
    names = [
        name
        for name in Standing.__dataclass_fields__
        if not name.endswith("_at_ns") and getattr(before, name) != getattr(after, name)
    ]
    return {n: getattr(before, n) for n in names}, {n: getattr(after, n) for n in names}
