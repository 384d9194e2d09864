"""What processes print about checkpoints, taken into the registry. A word, never a proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from apps.checkpoints import marks_store, store
from apps.checkpoints.checks import check_of, moved, unique
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level, finding, printable
from apps.checkpoints.domain.lifecycle import OPEN, PRESENT, Event, State
from apps.checkpoints.domain.places import place
from apps.checkpoints.domain.spoken import Said, Speech
from apps.checkpoints.observing import deleted
from apps.checkpoints.records import Check, CheckpointInfo, MarkKind, NewCheckpoint, Protection

RESTORE_NS = 3_600 * 1_000_000_000
"""A checkpoint that is being loaded is kept so long, or until somebody says that it was loaded."""
_SAVES = (Speech.REQUESTED, Speech.COMMITTED)
_NAMES = {
    "megatron": "Megatron",
    "deepspeed": "DeepSpeed",
    "hf_trainer": "HF Trainer",
    "nemo": "NeMo",
    "dcp": "torchtitan",
    "lightning": "Lightning",
    "orbax": "Orbax",
    "litgpt": "litgpt",
}


def say(
    run_id: int, attempt: int, speeches: Sequence[Said], *, source: str = "log"
) -> Counter[str]:
    """Takes in what lines or programs said, in the caller's transaction; how many of each kind said
    something new, and how many spoke of a checkpoint that is unknown.

    A save that begins is requested, one that is said to have ended is committed but not complete:
    no storage was looked at. What a process says to have loaded is restored; only what is
    registered can be, because a run may start from the weights of another. Idempotent.
    """
    counts: Counter[str] = Counter()
    for said in _news(run_id, attempt, speeches):
        known = _known(run_id, attempt, said)
        if said.speech in _SAVES:
            new = _saved(run_id, attempt, known, (said, source))
        elif known is None:
            new = False
            counts["checkpoints_unknown"] += 1
        else:
            new = _used(run_id, attempt, known, said)
        counts[f"checkpoints_{said.speech.value}"] += new
    return counts


def _news(run_id: int, attempt: int, speeches: Sequence[Said]) -> list[Said]:
    """Without the saves of checkpoints that are there: each rank of a job may print the same."""
    saves = [said.step for said in speeches if said.speech in _SAVES and said.step is not None]
    there = store.present_steps(run_id, attempt, saves) if saves else set()
    return [said for said in speeches if said.speech not in _SAVES or said.step not in there]


def restorer(attempt: int) -> str:
    """Who holds the lease of a checkpoint that an attempt is loading."""
    return f"restore of attempt {attempt}"


def _known(run_id: int, attempt: int, said: Said) -> CheckpointInfo | None:
    """The registered checkpoint a line speaks of: of this attempt if it is saved, else that of its
    place, or the newest of its step. Without a step it is the one that the attempt was loading."""
    if said.step is None:
        at = marks_store.held_by(run_id, restorer(attempt))
        return store.lock(run_id, *at) if at else None
    if said.speech in _SAVES:
        return store.lock(run_id, attempt, said.step)
    found = store.at_step(run_id, said.step)
    here = [i for i in found if said.path and i.path and place(i.path) == place(said.path)]
    chosen = next(iter(here or found), None)
    return store.lock(run_id, chosen.attempt, chosen.step) if chosen else None


def _saved(run_id: int, attempt: int, known: CheckpointInfo | None, told: tuple[Said, str]) -> bool:
    said, source = told
    event = Event.REQUESTED if said.speech is Speech.REQUESTED else Event.COMMITTED
    if known is None:
        return _add(run_id, attempt, said, source)
    if said.at_ns < known.state_at_ns or (event is Event.REQUESTED and known.state in PRESENT):
        return False
    check = moved(check_of(known), event, said.at_ns, _why(said))
    if check.state is known.state:
        return _name(run_id, known, said)
    save_s = known.save_s
    if known.state is State.REQUESTED and event is Event.COMMITTED and save_s is None:
        save_s = (said.at_ns - known.state_at_ns) / 1e9
    store.save_check(run_id, attempt, known.step, check)
    store.save_words(run_id, known, path=known.path or said.path or "", save_s=save_s)
    return True


def _name(run_id: int, known: CheckpointInfo, said: Said) -> bool:
    """A later line may say where the save goes."""
    if known.path or not said.path or known.state not in OPEN:
        return False
    store.save_words(run_id, known, path=said.path, save_s=known.save_s)
    return True


def _add(run_id: int, attempt: int, said: Said, source: str) -> bool:
    who = "a log line" if source == "log" else "its writer"
    text = f"only {who} told of it: nothing about its files is known"
    found: tuple[CheckpointFinding, ...] = (finding(Code.UNCHECKED, text),)
    if said.doubt:
        found = unique(found, (finding(Code.STEP_MISMATCH, said.doubt),))
    requested = said.speech is Speech.REQUESTED
    state = State.REQUESTED if requested else State.COMMITTED
    framework = said.framework or "unknown"
    check = Check(Level.LISTED, framework, found, state, said.at_ns, _why(said))
    new = NewCheckpoint(
        attempt=attempt,
        step=said.step or 0,
        path=printable(said.path or ""),
        saved_at_ns=said.at_ns,
        save_s=None,
        files={},
        digest=inventory.UNKNOWN,
        source=source,
    )
    return store.add(run_id, new, check)


def _used(run_id: int, attempt: int, known: CheckpointInfo, said: Said) -> bool:
    if said.speech is Speech.DELETED:
        if said.at_ns < known.state_at_ns:
            return False
        gone = deleted(run_id, known.place, why=_why(said), at_ns=said.at_ns, uri=said.path)
        return gone is not None and gone.state is not known.state
    if said.speech is Speech.LOADING:
        until_ns, who = said.at_ns + RESTORE_NS, restorer(attempt)
        lease = Protection(MarkKind.LEASE, who, _why(said), "lastgood", said.at_ns, until_ns)
        marks_store.save(run_id, known.place, lease)
        return True
    return _restored(run_id, attempt, known, said)


def _restored(run_id: int, attempt: int, known: CheckpointInfo, said: Said) -> bool:
    marks_store.drop(run_id, known.place, MarkKind.LEASE, restorer(attempt))
    if known.level == Level.RESTORED or known.state not in PRESENT:
        return False
    why = f"attempt {attempt} has loaded it ({_why(said)})"
    store.save_check(
        run_id, known.attempt, known.step, replace(check_of(known), level=Level.RESTORED, why=why)
    )
    return True


def _why(said: Said) -> str:
    who = _NAMES.get(said.framework, "the training script")
    verbs = {
        Speech.REQUESTED: "began to save it",
        Speech.COMMITTED: "printed that it is saved",
        Speech.LOADING: "began to load it",
        Speech.RESTORED: "printed that it was loaded",
        Speech.DELETED: "deleted it",
    }
    return f"{who} {verbs[said.speech]}"
