"""What was seen in a storage, taken in: the one door of everything that looks at one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from apps.checkpoints import copies_store, marks_store, store
from apps.checkpoints.checks import check_of, differs, event_in, mismatches, moved, tell, unique
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level, finding
from apps.checkpoints.domain.lifecycle import (
    OPEN,
    PRESENT,
    Event,
    State,
    after,
    gone_as,
    level_after,
)
from apps.checkpoints.domain.places import attempt_at, place, tier_of
from apps.checkpoints.records import (
    Check,
    CheckpointInfo,
    Copy,
    Look,
    NewCheckpoint,
    Observation,
    Place,
)
from apps.runs import store as runs

_OF_ANNOUNCEMENTS = frozenset((Code.STEP_MISMATCH.value,))
"""Findings that no look at a storage can take back."""


def observe(run_id: int, seen: Observation) -> CheckpointInfo | None:
    """Takes in what a look found in one place; the checkpoint as it is known from now on.

    What nobody announced is registered. The inventory that was taken when it was committed is
    compared ever after: what is missing from it or has another size is INVENTORY_MISMATCH, what was
    only written later is the warning REWRITTEN. A second place of the same step is a copy, whose
    findings are its own. Files of other sizes in the same place, written while a later attempt ran,
    are the checkpoint of that attempt, and the older one is lost. Idempotent.
    """
    with transaction.atomic():
        runs.lock_run(run_id)
        known, attempt = _registered(run_id, seen)
        if known is None or (attempt > known.attempt and _changed(known, seen)):
            if known is not None:
                _overwritten(run_id, known, seen, attempt)
            known, check = _register(run_id, attempt, seen)
        elif place(known.path) == place(seen.uri):
            check = _looked_again(run_id, known, seen)
        else:
            check = _copy_check(known, seen)
        copies_store.save(run_id, _copy(known, seen, check))
        _settle(run_id, known.place, seen.look.seen_at_ns)
        transaction.on_commit(lambda: tell(run_id), robust=True)
    return store.get(run_id, known.attempt, known.step)


def vanished(run_id: int, at: Place, uri: str, *, at_ns: int) -> CheckpointInfo | None:
    """A complete listing no longer has this place: the checkpoint goes on in another place if it
    has one; else it is deleted or lost, and says why that is thought. None if it is unknown."""
    marks = marks_store.of_checkpoint(run_id, at, at_ns)
    others = [step for _, step in store.complete_places(run_id) if step != at[1]]
    event, why = gone_as(at[1], others, kept=bool(marks))
    return _gone(run_id, at, uri, (event, f"{why}; looked at {uri}"), at_ns)


def deleted(
    run_id: int, at: Place, *, why: str, at_ns: int, uri: str | None = None
) -> CheckpointInfo | None:
    """Somebody removed it on purpose, from one place or (uri None) from where it is restored from.
    None if it is unknown."""
    return _gone(run_id, at, uri, (Event.DELETED, why), at_ns)


def _registered(run_id: int, seen: Observation) -> tuple[CheckpointInfo | None, int]:
    """(the registered checkpoint that the place belongs to, the attempt that wrote what is there).

    The same place wins over the time: clocks of storages are wrong, and files are touched.
    """
    attempt = seen.attempt
    if attempt is None:
        attempt = attempt_at(seen.step, seen.saved_at_ns, runs.attempts(run_id))
        own = place(seen.uri)
        for info in store.at_step(run_id, seen.step):
            here = place(info.path) == own
            if here or copies_store.get(run_id, info.attempt, info.step, own):
                return store.lock(run_id, info.attempt, info.step), max(attempt, info.attempt)
    return store.lock(run_id, attempt, seen.step), attempt


def _changed(known: CheckpointInfo, seen: Observation) -> bool:
    same_place = place(known.path) == place(seen.uri)
    return same_place and known.state in PRESENT and bool(_damage(known, seen))


def _overwritten(run_id: int, known: CheckpointInfo, seen: Observation, attempt: int) -> None:
    why = f"overwritten: attempt {attempt} saved into {seen.uri}"
    check = moved(check_of(known), Event.VANISHED, seen.look.seen_at_ns, why)
    store.save_check(run_id, known.attempt, known.step, check)


def _register(run_id: int, attempt: int, seen: Observation) -> tuple[CheckpointInfo, Check]:
    state = after(State.REQUESTED, event_in(seen.level, seen.findings))
    check = Check(
        level=seen.level,
        framework=seen.framework,
        findings=seen.findings,
        state=state,
        state_at_ns=seen.saved_at_ns,
        why=f"found in {seen.uri}",
        checked_at_ns=_checked_at(seen),
        look=seen.look,
    )
    store.add(run_id, _new(attempt, seen, None), check)
    known = store.get(run_id, attempt, seen.step)
    if known is None:
        raise LookupError(f"run {run_id}: the checkpoint of step {seen.step} was not added")
    return known, check


def _new(attempt: int, seen: Observation, save_s: float | None) -> NewCheckpoint:
    return NewCheckpoint(
        attempt=attempt,
        step=seen.step,
        path=place(seen.uri)[: copies_store.MAX_URI],
        saved_at_ns=seen.saved_at_ns,
        save_s=save_s,
        files=seen.inventory,
        digest=inventory.digest(inventory.sizes(seen.inventory)),
        source="scan",
    )


def _looked_again(run_id: int, known: CheckpointInfo, seen: Observation) -> Check:
    """Compares the place to restore from with the inventory, and writes what came of it."""
    untaken = known.state not in PRESENT or known.digest == inventory.UNKNOWN
    against = () if untaken else _against_inventory(known, seen)
    said = (f for f in known.findings if f.code in _OF_ANNOUNCEMENTS)
    contradicted = () if untaken else mismatches(run_id, known)
    findings = unique(seen.findings, against, said, contradicted)
    whole = known.state in PRESENT and not any(f.fatal for f in findings)
    check = moved(
        check_of(known),
        event_in(seen.level, findings),
        seen.look.seen_at_ns,
        f"seen in {seen.uri}",
    )
    check = replace(
        check,
        level=level_after(Level(known.level), seen.level, whole=whole),
        framework=seen.framework,
        findings=findings,
        checked_at_ns=_checked_at(seen) or known.checked_at_ns,
        look=_look_after(known, seen.look) if whole else seen.look,
    )
    if untaken:
        store.replace_files(run_id, _new(known.attempt, seen, known.save_s), check)
        return check
    if not against:
        _keep_stamps(run_id, known, seen)
    store.save_check(run_id, known.attempt, known.step, check)
    return check


def _keep_stamps(run_id: int, known: CheckpointInfo, seen: Observation) -> None:
    taken = known.inventory
    with_stamps = inventory.stamped(taken, seen.inventory)
    if with_stamps != taken:
        store.save_stamps(run_id, known.attempt, known.step, with_stamps)


def _look_after(known: CheckpointInfo, look: Look) -> Look:
    """A look that read only headers leaves the digest of an earlier one that read everything."""
    if look.content_digest or known.look is None:
        return look
    return replace(look, content_digest=known.look.content_digest)


def _against_inventory(known: CheckpointInfo, seen: Observation) -> tuple[CheckpointFinding, ...]:
    """What changed since the inventory was taken."""
    taken = known.inventory
    if seen.inventory and taken and not taken.keys() & seen.inventory.keys():
        text = "no file has a name that was announced: the inventory was not compared"
        return (finding(Code.UNCHECKED, text),)
    lost = _damage(known, seen)
    if lost:
        text = f"changed since its inventory was taken: {'; '.join(lost)}"
        return (finding(Code.INVENTORY_MISMATCH, text),)
    return (*_other_content(known, seen), *_rewritten(known, seen))


def _damage(known: CheckpointInfo, seen: Observation) -> list[str]:
    taken = known.inventory
    if not taken.keys() & seen.inventory.keys():
        return []
    return inventory.damage(taken, seen.inventory)


def _other_content(known: CheckpointInfo, seen: Observation) -> tuple[CheckpointFinding, ...]:
    before = known.look.content_digest if known.look else ""
    if not before or not seen.look.content_digest or before == seen.look.content_digest:
        return ()
    text = "its bytes are others than those that were read before: names and sizes are the same"
    return (finding(Code.INVENTORY_MISMATCH, text),)


def _rewritten(known: CheckpointInfo, seen: Observation) -> tuple[CheckpointFinding, ...]:
    later = inventory.rewritten(known.inventory, seen.inventory)
    if not later:
        return ()
    text = (
        f"{len(later)} of {known.file_count} files have a later time than when the inventory was"
        f" taken, with the same size: {', '.join(later[:3])}. Written again, or only touched"
    )
    return (finding(Code.REWRITTEN, text),)


def _checked_at(seen: Observation) -> int | None:
    return None if seen.level in (Level.LISTED, Level.COMMITTED) else seen.look.seen_at_ns


def _copy_check(known: CheckpointInfo, seen: Observation) -> Check:
    """What a look at another place says, of that place only."""
    findings = unique(seen.findings, differs(known, seen.inventory))
    at_ns = seen.look.seen_at_ns
    return Check(
        seen.level,
        seen.framework,
        findings,
        after(State.REQUESTED, event_in(seen.level, seen.findings)),
        at_ns,
        look=seen.look,
    )


def _copy(known: CheckpointInfo, seen: Observation, check: Check) -> Copy:
    return Copy(
        attempt=known.attempt,
        step=known.step,
        uri=seen.uri,
        tier=seen.tier or tier_of(seen.uri),
        state=check.state,
        level=check.level,
        findings=check.findings,
        bytes=sum(stamp.size for stamp in seen.inventory.values()),
        seen_at_ns=seen.look.seen_at_ns,
    )


def _gone(
    run_id: int, at: Place, uri: str | None, what: tuple[Event, str], at_ns: int
) -> CheckpointInfo | None:
    event, why = what
    with transaction.atomic():
        runs.lock_run(run_id)
        known = store.lock(run_id, *at)
        if known is None:
            return None
        places = copies_store.all_places(known, copies_store.of_checkpoint(run_id, *at))
        own = place(uri or known.path)
        for copy in places:
            if copy.uri == own:
                gone = replace(copy, state=after(copy.state, event), seen_at_ns=at_ns)
                copies_store.save(run_id, gone)
        if own == place(known.path):
            left = [copy for copy in places if copy.uri != own and copy.complete]
            _go_on(run_id, known, left, moved(check_of(known), event, at_ns, why))
        transaction.on_commit(lambda: tell(run_id), robust=True)
    return store.get(run_id, *at)


def _settle(run_id: int, at: Place, at_ns: int) -> None:
    """What is hurt or gone where it was restored from goes on in a copy that was seen complete."""
    known = store.lock(run_id, *at)
    if known is None or known.complete or known.state in OPEN:
        return
    copies = copies_store.of_checkpoint(run_id, *at)
    whole = [copy for copy in copies if copy.complete and copy.seen_at_ns is not None]
    if whole:
        _go_on(run_id, known, whole, replace(check_of(known), state_at_ns=at_ns))


def _of_another_place(look: Look | None, path: str) -> Look | None:
    """Figures of a look that was at another place say so."""
    if look is None:
        return None
    text = f"what was read here: the figures are those of {path}"
    return replace(look, unchecked=tuple(dict.fromkeys((*look.unchecked, text))))


def _go_on(run_id: int, known: CheckpointInfo, left: Sequence[Copy], check: Check) -> None:
    """The next place to restore from takes over; without one the checkpoint is gone."""
    if not left:
        store.save_check(run_id, known.attempt, known.step, check)
        return
    chosen = left[0]
    store.move(run_id, known.attempt, known.step, chosen.uri)
    worth = known.worth.value.replace("_", " ") if check.state in PRESENT else check.state.value
    why = f"{known.path} is {worth}; restored from {chosen.uri} since then"
    goes_on = replace(
        check,
        state=chosen.state,
        look=_of_another_place(check.look, known.path),
        findings=chosen.findings,
        level=chosen.level,
        why=why,
    )
    store.save_check(run_id, known.attempt, known.step, goes_on)
