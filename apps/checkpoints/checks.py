"""What is known of a checkpoint, put together from what was said and what was seen of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from apps.checkpoints import store
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level, finding
from apps.checkpoints.domain.inventory import Inventory
from apps.checkpoints.domain.lifecycle import Event, State, after, event_of
from apps.checkpoints.domain.sharing import non_shared
from apps.checkpoints.domain.verify import Verification
from apps.checkpoints.records import Check, CheckpointInfo
from apps.core import live
from apps.runs import store as runs


def check_of(known: CheckpointInfo) -> Check:
    """What is known already."""
    return Check(
        level=Level(known.level),
        framework=known.framework,
        findings=known.findings,
        state=known.state,
        state_at_ns=known.state_at_ns,
        why=known.why,
        checked_at_ns=known.checked_at_ns,
        look=known.look,
    )


def first_check(
    found: Verification, others: Iterable[CheckpointFinding], at_ns: int, why: str
) -> Check:
    """What the first word about a checkpoint proves."""
    findings = unique(found.findings, others)
    state = after(State.REQUESTED, event_in(found.level, findings))
    return Check(found.level, found.framework, findings, state, at_ns, why)


def moved(check: Check, event: Event, at_ns: int, why: str) -> Check:
    """The check after an event; unchanged if the event says nothing new."""
    state = after(check.state, event)
    if state is check.state:
        return check
    return replace(check, state=state, state_at_ns=at_ns, why=why)


def mismatches(run_id: int, known: CheckpointInfo) -> tuple[CheckpointFinding, ...]:
    """What later announcements of a step contradict, or that each host tells its own part."""
    again = store.resaved_files(run_id, known.attempt, known.step)
    apart = non_shared([known.files, *again])
    if apart is not None:
        return (apart,)
    words = ("; ".join(inventory.differences(known.files, other)) for other in again)
    start = f"step {known.step} was announced again with other files"
    return tuple(finding(Code.INVENTORY_MISMATCH, f"{start}: {changes}") for changes in words)


def differs(known: CheckpointInfo, copy: Inventory) -> tuple[CheckpointFinding, ...]:
    """What a copy lacks of the inventory: files that are absent or have another size. Its times and
    tags are its own. Nothing where one of them is unknown or no name is in both."""
    taken = known.files
    if not taken.keys() & copy.keys():
        return ()
    lost = inventory.damage(inventory.of_sizes(taken), copy)
    text = f"other than the inventory of {known.path}: {'; '.join(lost)}"
    return (finding(Code.INVENTORY_MISMATCH, text),) if lost else ()


def event_in(level: Level, findings: Iterable[CheckpointFinding]) -> Event:
    """What a word or a look says that reached `level` and found this."""
    return event_of(level, hurt=any(f.fatal for f in findings))


def unique(*findings: Iterable[CheckpointFinding]) -> tuple[CheckpointFinding, ...]:
    """All findings in their order, each once."""
    return tuple(dict.fromkeys(one for several in findings for one in several))


def tell(run_id: int) -> None:
    """Open pages of the run read its checkpoints again."""
    live.publish(runs.run_by_id(run_id).key, step=None, what=["checkpoints"])
