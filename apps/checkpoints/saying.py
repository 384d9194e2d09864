"""What processes print about checkpoints, taken into the registry. A word, never a proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from apps.checkpoints import marks_store, store
from apps.checkpoints.checks import check_of, moved, unique
from apps.checkpoints.domain import inventory
from apps.checkpoints.domain.codes import CheckpointFinding, Code, Level, finding, printable
from apps.checkpoints.domain.lifecycle import OPEN, PRESENT, Event, State
from apps.checkpoints.domain.places import place
from apps.checkpoints.domain.spoken import SAVES, Said, Speech
from apps.checkpoints.observing import deleted
from apps.checkpoints.records import Check, CheckpointInfo, MarkKind, NewCheckpoint, Protection

RESTORE_NS = 3_600 * 1_000_000_000
"""A checkpoint that is being loaded is kept so long, or until somebody says that it was loaded."""
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
    for saves, group in groupby(_news(run_id, attempt, speeches), lambda one: one.speech in SAVES):
        if saves:
            counts.update(_saved(run_id, attempt, list(group), source))
        else:
            for said in group:
                counts.update(_spoken_of(run_id, attempt, said))
    return counts


def _news(run_id: int, attempt: int, speeches: Sequence[Said]) -> Iterator[Said]:
    """Without the saves of checkpoints that are there: each rank of a job may print the same."""
    saves = [said.step for said in speeches if said.speech in SAVES and said.step is not None]
    there = store.present_steps(run_id, attempt, saves) if saves else set()
    for said in speeches:
        if said.speech is Speech.DELETED and said.step is not None:
            there.discard(said.step)
        if said.speech not in SAVES or said.step not in there:
            yield said


def restorer(attempt: int) -> str:
    """Who holds the lease of a checkpoint that an attempt is loading."""
    return f"restore of attempt {attempt}"


def _known(run_id: int, attempt: int, said: Said) -> CheckpointInfo | None:
    """The registered checkpoint a line speaks of: that of its place, or the newest of its step.
    Without a step it is the one that the attempt was loading."""
    if said.step is None:
        at = marks_store.held_by(run_id, restorer(attempt))
        return store.lock(run_id, *at) if at else None
    found = store.at_step(run_id, said.step)
    here = [i for i in found if said.path and i.path and place(i.path) == place(said.path)]
    chosen = next(iter(here or found), None)
    return store.lock(run_id, chosen.attempt, chosen.step) if chosen else None


@dataclass(frozen=True, slots=True)
class _Save:
    """What is known of one save."""

    check: Check
    path: str
    saved_at_ns: int
    save_s: float | None = None


def _saved(run_id: int, attempt: int, saves: Sequence[Said], source: str) -> Counter[str]:
    """What lines say of saves of this attempt; read and written together."""
    counts: Counter[str] = Counter()
    steps = {said.step for said in saves if said.step is not None}
    known = store.lock_all(run_id, attempt, steps)
    before = {
        step: _Save(check_of(info), info.path, info.saved_at_ns, info.save_s)
        for step, info in known.items()
    }
    after: dict[int, _Save] = dict(before)
    for said in saves:
        step = said.step or 0
        heard = _heard(after[step], said) if step in after else _first(said, source)
        counts[f"checkpoints_{said.speech.value}"] += heard is not after.get(step)
        after[step] = heard
    added = [step for step in after if step not in known]
    store.add_all(run_id, [(_new(attempt, n, after[n], source), after[n].check) for n in added])
    for step, save in before.items():
        _keep(run_id, known[step], save, after[step])
    return counts


def _keep(run_id: int, known: CheckpointInfo, before: _Save, after: _Save) -> None:
    if after.check is not before.check:
        store.save_check(run_id, known.attempt, known.step, after.check)
    if after is not before:
        store.save_words(run_id, known, path=after.path, save_s=after.save_s)


def _heard(save: _Save, said: Said) -> _Save:
    """The save after one more word; itself if that says nothing new."""
    event = _event(said)
    state = save.check.state
    if said.at_ns < save.check.state_at_ns or (event is Event.REQUESTED and state in PRESENT):
        return save
    check = moved(save.check, event, said.at_ns, _why(said))
    if check.state is state:  # a later line may say where the save goes
        unnamed = not save.path and said.path and state in OPEN
        return replace(save, path=said.path or "") if unnamed else save
    save_s = save.save_s
    if state is State.REQUESTED and event is Event.COMMITTED and save_s is None:
        save_s = (said.at_ns - save.check.state_at_ns) / 1e9
    return replace(save, check=check, path=save.path or said.path or "", save_s=save_s)


def _event(said: Said) -> Event:
    return Event.REQUESTED if said.speech is Speech.REQUESTED else Event.COMMITTED


def _first(said: Said, source: str) -> _Save:
    who = "a log line" if source == "log" else "its writer"
    text = f"only {who} told of it: nothing about its files is known"
    found: tuple[CheckpointFinding, ...] = (finding(Code.UNCHECKED, text),)
    if said.doubt:
        found = unique(found, (finding(Code.STEP_MISMATCH, said.doubt),))
    requested = said.speech is Speech.REQUESTED
    state = State.REQUESTED if requested else State.COMMITTED
    framework = said.framework or "unknown"
    check = Check(Level.LISTED, framework, found, state, said.at_ns, _why(said))
    return _Save(check, printable(said.path or ""), said.at_ns)


def _new(attempt: int, step: int, save: _Save, source: str) -> NewCheckpoint:
    return NewCheckpoint(
        attempt=attempt,
        step=step,
        path=save.path,
        saved_at_ns=save.saved_at_ns,
        save_s=save.save_s,
        files={},
        digest=inventory.UNKNOWN,
        source=source,
    )


def _spoken_of(run_id: int, attempt: int, said: Said) -> dict[str, int]:
    """What a line says of a checkpoint that is registered."""
    known = _known(run_id, attempt, said)
    name = f"checkpoints_{said.speech.value}"
    if known is None:
        return {"checkpoints_unknown": 1, name: 0}
    return {name: int(_used(run_id, attempt, known, said))}


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
