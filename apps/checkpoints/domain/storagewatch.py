"""Is the storage safe? Room, lost checkpoints, pointers, mounts: findings about one run. Pure.

Beside domain/saves.py, which judges the saves themselves. The same trouble keeps its key until it
is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from apps.checkpoints.domain.codes import Code
from apps.checkpoints.domain.lifecycle import OPEN, PRESENT, State
from apps.checkpoints.domain.saves import Habit, Saved, Training, habit
from apps.checkpoints.domain.storageroom import Forecast, Rhythm, Room, forecast
from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import duration, many, size

DETECTOR = "checkpoints.storage"
FULL, FEW, LOST = "storage_full", "checkpoints_few", "checkpoint_lost"
POINTER, RISKY, UNSEEN, TREND = "pointer_wrong", "storage_risky", "storage_unseen", "save_trend"
KINDS: Final = (FULL, FEW, LOST, POINTER, RISKY, UNSEEN, TREND)
_NS = 1_000_000_000
_POINTERS = frozenset(
    code.value
    for code in (
        Code.LATEST_MISSING,
        Code.STALE_LATEST,
        Code.BAD_LATEST,
        Code.LATEST_BEHIND,
        Code.ZERO_LENGTH,
    )
)
_LEFTOVERS = frozenset((Code.STAGING_DEBRIS.value, Code.BEST_MISSING.value))
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class StoragePolicy:
    """When storage is news.

    least: fewer complete checkpoints are an alarm: with one, a bad save or a rotation that goes
    wrong leaves none (transformers#25129, verl#4638). soon: so many of the next saves must fit.
    slack: what must fit beyond that to end a warning. settle_s: a pointer is written after its
    checkpoint; a look so soon after a save, or 3 usual saves, says nothing. quiet_s: leftovers so
    long after the newest save are told where no interval is known. trend_*: the median of
    the newest saves against that of the oldest known ones.
    """

    least: int = 2
    soon: int = 5
    slack: float = 1.25
    settle_s: float = 120.0
    quiet_s: float = 3_600.0
    trend_saves: int = 8
    trend_known: int = 20
    trend_factor: float = 1.5
    trend_s: float = 10.0


DEFAULT_POLICY = StoragePolicy()


@dataclass(frozen=True, slots=True)
class Held:
    """A checkpoint as the registry knows it. complete: it may be restored. fatal: something is
    wrong with it. why, state_at_ns: of its state."""

    attempt: int
    step: int
    saved_at_ns: int
    save_s: float | None
    size_bytes: int
    state: State
    complete: bool
    fatal: bool
    path: str
    why: str
    state_at_ns: int

    @property
    def may_hold(self) -> bool:
        """Whether it is complete, or nothing but its writer's word says so."""
        return self.complete or (self.state in PRESENT and not self.fatal)


@dataclass(frozen=True, slots=True)
class Said:
    """What a look said beside the steps."""

    code: str
    message: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class Folder:
    """A storage root where the run saves, as it was last looked at.

    looked_at_ns: None: never. trouble: why it could not be looked at, or nobody does. warning: what
    its kind of mount means for a save, "" if nothing. rooms: oldest first.
    """

    root_id: int
    uri: str
    looked_at_ns: int | None
    trouble: str = ""
    warning: str = ""
    rooms: tuple[Room, ...] = ()
    beside: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """All that is judged. held: of the run, in the order of (attempt, step). standing: keys of what
    was told and is open. now_ns: our clock."""

    training: Training
    held: Sequence[Held]
    folders: Sequence[Folder]
    now_ns: int
    standing: Collection[str] = ()


def judge(scene: Scene, policy: StoragePolicy = DEFAULT_POLICY) -> list[Finding]:
    """What is wrong with the storage of the run right now, as findings that are not closed.

    O(held + folders x readings squared).
    """
    usual = _usual(scene)
    found = [_few(scene, policy), *_lost(scene, policy), _trend(scene, usual, policy)]
    for folder in scene.folders:
        found += [_unseen(scene, folder), _full(scene, folder, usual, policy)]
        found += [_pointer(scene, folder, usual, policy), _mount(scene, folder)]
        found += [_leftovers(scene, folder, usual, policy)]
    return [finding for finding in found if finding is not None]


def _few(scene: Scene, policy: StoragePolicy) -> Finding | None:
    """Fewer than two checkpoints left, after there were saves enough for two."""
    ended = [one for one in scene.held if one.state not in OPEN]
    left = [one for one in ended if one.may_hold]
    if len(left) >= policy.least or len(ended) < policy.least:
        return None
    others = [one for one in ended if not one.may_hold]
    rotated = bool(left) and all(one.state is State.DELETED for one in others)
    severity = FindingSeverity.WARN if rotated else FindingSeverity.PAGE
    if left:
        title = f"only one complete checkpoint is left, of step {left[-1].step:,}"
        why = "a save that fails or a rotation that goes wrong now leaves none"
    else:
        title = "no complete checkpoint is left"
        why = "a fault now costs the whole run"
    evidence = [Evidence(why, scene.training.event_ns, weight=0)]
    evidence += [_about(one) for one in others[-_SHOWN:]]
    facts = {"left": len(left), "gone": len(others), "hint": why}
    return _finding(scene, (FEW, "left"), severity, (title, evidence, facts))


def _lost(scene: Scene, policy: StoragePolicy) -> Iterator[Finding]:
    """Checkpoints that went away unasked, until two newer ones are whole."""
    lost = [one for one in scene.held if one.state is State.LOST]
    open_ones = [one for one in lost if _later(scene.held, one.state_at_ns) < policy.least]
    if not open_ones:
        return
    first, last = open_ones[0], open_ones[-1]
    newest = not any(one.complete and one.step > last.step for one in scene.held)
    severity = FindingSeverity.PAGE if newest else FindingSeverity.WARN
    steps = ", ".join(f"{one.step:,}" for one in open_ones[-_SHOWN:])
    title = f"{many(len(open_ones), 'checkpoint')} went away unasked: step {steps}"
    evidence = [_about(one) for one in open_ones[-_SHOWN:]]
    if newest:
        text = "nothing newer is whole: a restart goes back further than anybody expects"
        evidence.append(Evidence(text, weight=0))
    facts = {"steps": [one.step for one in open_ones[-10:]], "hint": evidence[0].text}
    key = f"s{first.step}"
    yield _finding(scene, (LOST, key), severity, (title, evidence, facts))


def _later(held: Sequence[Held], at_ns: int) -> int:
    return sum(one.complete and one.saved_at_ns > at_ns for one in held)


def _about(one: Held) -> Evidence:
    why = f": {one.why}" if one.why else ""
    return Evidence(f"step {one.step:,} is {_fate(one)}{why}", one.state_at_ns, one.step)


def _fate(one: Held) -> str:
    return "damaged" if one.state in PRESENT else one.state.value


def _trend(scene: Scene, usual: Habit, policy: StoragePolicy) -> Finding | None:
    """Saves take longer and longer, each a little: no single one stands out."""
    timed = [one for one in scene.held if one.save_s is not None and one.state in PRESENT]
    if len(timed) < policy.trend_known:
        return None
    before, now = (
        median(one.save_s or 0.0 for one in part)
        for part in (timed[: policy.trend_saves], timed[-policy.trend_saves :])
    )
    if now < policy.trend_factor * before or now < before + policy.trend_s:
        return None
    newest = timed[-1]
    title = f"saves take {duration(now)}, {duration(before)} when the run began"
    evidence = [
        Evidence(
            f"median of the last {policy.trend_saves} saves against the first of {len(timed)}",
            newest.saved_at_ns,
            newest.step,
        )
    ]
    if usual.seconds:
        share = 100 * now / usual.seconds
        text = f"where training waits for its saves that is {share:.0f} % of its time"
        evidence.append(Evidence(text, weight=0))
    facts = {"before": before, "value": now, "hint": evidence[-1].text}
    warn = FindingSeverity.WARN
    return _finding(scene, (TREND, "all"), warn, (title, evidence, facts))


def _unseen(scene: Scene, folder: Folder) -> Finding | None:
    if not folder.trouble:
        return None
    title = f"the storage {folder.uri} cannot be looked at"
    evidence = [Evidence(folder.trouble, folder.looked_at_ns)]
    facts = {"uri": folder.uri, "hint": folder.trouble}
    warn = FindingSeverity.WARN
    return _finding(scene, (UNSEEN, _root(folder)), warn, (title, evidence, facts))


def outlook(scene: Scene, folder: Folder) -> tuple[Forecast, Rhythm] | None:
    """What the next saves find in a folder, and what they need; None while the rhythm of the saves,
    the size of one or the free space is not known."""
    return _outlook(scene, folder, _usual(scene))


def _outlook(scene: Scene, folder: Folder, usual: Habit) -> tuple[Forecast, Rhythm] | None:
    whole = [one for one in scene.held if one.complete and one.size_bytes]
    if not whole or usual.seconds is None:
        return None
    age_s = (scene.training.event_ns - whole[-1].saved_at_ns) / _NS
    saves = Rhythm(
        need_bytes=max(one.size_bytes for one in whole[-3:]),
        due_s=max(0.0, usual.seconds - age_s),
        every_s=usual.seconds,
        save_s=usual.save_s or 0.0,
    )
    seen = forecast(folder.rooms, saves, scene.now_ns)
    return None if seen is None else (seen, saves)


def _usual(scene: Scene) -> Habit:
    return habit([_saved(one) for one in scene.held if one.state in PRESENT])


def _full(scene: Scene, folder: Folder, usual: Habit, policy: StoragePolicy) -> Finding | None:
    """The next save, or one of the next few, will not fit."""
    told = _outlook(scene, folder, usual)
    standing = _key(scene, FULL, _root(folder)) in scene.standing
    soon = policy.soon * (policy.slack if standing else 1.0)
    if told is None or told[0].fitting is None or told[0].fitting >= soon:
        return None
    return _no_room(scene, folder, told)


def _no_room(scene: Scene, folder: Folder, told: tuple[Forecast, Rhythm]) -> Finding:
    seen, saves = told
    need, free = size(saves.need_bytes), size(seen.at_save_bytes)
    when = f"in {duration(saves.due_s)}" if saves.due_s >= 1 else "now"
    if seen.fitting == 0:
        severity, title = FindingSeverity.PAGE, f"the next save needs {need}, {free} will be free"
    else:
        severity = FindingSeverity.WARN
        title = f"room for {many(seen.fitting or 0, 'more save')} of {need}"
    evidence = [
        Evidence(f"{size(seen.free_bytes)} are free on {folder.uri}", folder.looked_at_ns),
        Evidence(f"the next save is due {when} and needs {need} beside what is there", weight=0),
    ]
    if seen.used_bytes_s > 0:
        text = f"free space shrinks by {size(seen.used_bytes_s * 3_600)} an hour"
        evidence.append(Evidence(f"{text}, whoever writes there", weight=0))
    facts = {
        "free_bytes": seen.free_bytes,
        "at_save_bytes": seen.at_save_bytes,
        "need_bytes": saves.need_bytes,
        "due_s": saves.due_s,
        "fitting": seen.fitting,
        "uri": folder.uri,
        "hint": evidence[0].text,
    }
    return _finding(scene, (FULL, _root(folder)), severity, (title, evidence, facts))


def _pointer(scene: Scene, folder: Folder, usual: Habit, policy: StoragePolicy) -> Finding | None:
    """The file that says where to resume names nothing, or not the newest."""
    wrong = [said for said in folder.beside if said.code in _POINTERS]
    key = _root(folder)
    stands = _key(scene, POINTER, key) in scene.standing
    if not wrong or not (stands or _settled(scene, folder, usual, policy)):
        return None
    fatal = any(said.fatal for said in wrong)
    severity = FindingSeverity.PAGE if fatal else FindingSeverity.WARN
    title = "a restart would resume from an older checkpoint"
    if fatal:
        title = "a restart would not find its checkpoint"
    evidence = [Evidence(f"{said.code}: {said.message}") for said in wrong[:_SHOWN]]
    facts = {"codes": sorted({said.code for said in wrong}), "hint": wrong[0].message}
    return _finding(scene, (POINTER, key), severity, (title, evidence, facts))


def _leftovers(scene: Scene, folder: Folder, usual: Habit, policy: StoragePolicy) -> Finding | None:
    """Folders of unfinished saves, and a best checkpoint that is not there."""
    left = [said for said in folder.beside if said.code in _LEFTOVERS]
    key = f"{_root(folder)}:left"
    stands = _key(scene, RISKY, key) in scene.standing
    if not left or not (stands or _settled(scene, folder, usual, policy, quiet=True)):
        return None
    title = left[0].message[:160]
    evidence = [Evidence(f"{said.code}: {said.message}") for said in left[:_SHOWN]]
    facts = {"codes": sorted({said.code for said in left}), "hint": left[0].message}
    warn = FindingSeverity.WARN
    return _finding(scene, (RISKY, key), warn, (title, evidence, facts))


def _settled(
    scene: Scene, folder: Folder, usual: Habit, policy: StoragePolicy, *, quiet: bool = False
) -> bool:
    """Whether the look came long enough after the newest save for its pointer to be written; quiet:
    and so long before the next one that none is being written."""
    if folder.looked_at_ns is None:
        return False
    newest_ns = max((one.saved_at_ns for one in scene.held), default=0)
    age_s = (folder.looked_at_ns - newest_ns) / _NS
    wait_s = max(policy.settle_s, 3 * (usual.save_s or 0.0))
    if usual.seconds is None:
        return age_s > (policy.quiet_s if quiet else wait_s)
    return age_s > min(wait_s, usual.seconds / 3) and (not quiet or age_s < usual.seconds * 0.7)


def _mount(scene: Scene, folder: Folder) -> Finding | None:
    """What the kind of the mount means; a warning once a save there has no commit marker."""
    if not folder.warning:
        return None
    failed = [one for one in scene.held if one.state is State.FAILED]
    severity = FindingSeverity.WARN if failed else FindingSeverity.INFO
    title = f"saves to {folder.uri} are not safe"
    evidence = [Evidence(folder.warning, folder.looked_at_ns)]
    evidence += [_about(one) for one in failed[-_SHOWN:]]
    facts = {"uri": folder.uri, "failed": len(failed), "hint": folder.warning}
    key = f"{_root(folder)}:mount"
    return _finding(scene, (RISKY, key), severity, (title, evidence, facts))


def _root(folder: Folder) -> str:
    return f"r{folder.root_id}"


def _saved(one: Held) -> Saved:
    return Saved(one.attempt, one.step, one.saved_at_ns, one.save_s)


def _key(scene: Scene, kind: str, about: str) -> str:
    return f"{kind}:a{scene.training.attempt}:{about}"


def _finding(
    scene: Scene,
    what: tuple[str, str],
    severity: FindingSeverity,
    told: tuple[str, list[Evidence], dict[str, Any]],
) -> Finding:
    """what: (kind, which one). It begins when it is seen: the training itself was right until then,
    and every checkpoint may be gone back to."""
    title, evidence, facts = told
    training = scene.training
    return Finding(
        key=_key(scene, *what),
        detector=DETECTOR,
        kind=what[0],
        severity=severity,
        attempt=training.attempt,
        onset_step=training.step,
        onset_time_ns=training.event_ns,
        seen_step=training.step,
        seen_time_ns=training.event_ns,
        title=title,
        evidence=tuple(evidence),
        facts=facts,
    )
