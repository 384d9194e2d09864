"""Watches the statistics of layers of an attempt: rows since the last look in, findings out."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from apps.core.errors import AppError
from apps.core.records import Finding
from apps.metrics import store
from apps.metrics.domain import bank, bank_state, demands, trends
from apps.metrics.domain.bank import BankPolicy, Happened
from apps.metrics.domain.bank_state import BankState
from apps.metrics.domain.blocks import Ints
from apps.metrics.domain.demands import MAX_WATCHED
from apps.metrics.domain.layer_keys import Recogniser
from apps.metrics.domain.planned import PlannedChange
from apps.metrics.domain.trend_words import Case, Series, finding, severity_of
from apps.metrics.domain.trends import Episode, Mark, TrendPolicy, TrendState
from apps.metrics.look import Look
from apps.metrics.store import DetectorState, Span
from apps.runs import store as runs

NEAR_STEPS, FAR_STEPS = 400, 4_000
"""How far before its first row a bank reads to know what is normal; the farther one for series that
have fewer than SEED_ROWS values in the nearer."""
SEED_ROWS = 192
MAX_CELLS = 1 << 22
"""Of one matrix in memory: 38 MB."""
BANK, TRENDS = BankPolicy(), TrendPolicy()

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watch:
    """What one look works on."""

    look: Look
    state: TrendState
    bank: BankState
    reader: Recogniser
    found: list[Finding] = field(default_factory=list)


def watch(look: Look, fresh: Span) -> list[Finding]:
    """Findings that opened, grew or closed with the rows of the steps in `fresh`.

    Call it inside the transaction that stores them, as `services.detect` does. Every series has a
    cursor of its own: a row that comes after a newer one of its series is not judged here (what
    moved around an incident is sought in all stored rows). At most MAX_WATCHED series.

    Cost: six statements, three more while an episode is open or changes; see `bench detect`.
    """
    run_id, attempt = look.run_id, look.attempt
    known = store.lock_detector(run_id, attempt, trends.NAME)
    here, old = _loaded(look, known)
    _enrol(here)
    first, last = fresh
    if old is not None:
        _abandon(here, old, last)
    if not len(here.bank):
        return here.found
    if known.state is None or old is not None:
        _seed(here, first)
    events: list[Happened] = []
    for low, high in _portions(here, first, last):
        rows = store.read_matrix(run_id, attempt, here.state.keys, low, high)
        if rows is not None:
            events += bank.feed(here.bank, rows, BANK)
    _tell(here, events)
    newest = int(here.bank.last_step.max())
    store.save_detector(run_id, attempt, trends.NAME, DetectorState(newest, _dumped(here)))
    return here.found


# -- state ------------------------------------------------------------------------------------


def _loaded(look: Look, known: DetectorState) -> tuple[_Watch, TrendState | None]:
    """What is stored. A new state if there is none or if an older program wrote it; also if people
    have changed the project's rules for names since, and then the one before beside it.
    """
    said = look.names.naming
    reader, old, rules = said.recogniser(), None, zlib.crc32(repr(said.rules).encode())
    if known.state is not None:
        try:
            state, data = msgspec.msgpack.decode(known.state, type=tuple[TrendState, bytes])
            if state.version == trends.VERSION and state.rules == rules:
                return _Watch(look, state, bank_state.load(data), reader), None
            old = state if state.version == trends.VERSION else None
        except (AppError, msgspec.MsgspecError) as error:
            log.warning("metrics.detector_state_refused", extra={"reason": str(error)})
    return _Watch(look, TrendState(rules=rules), bank.of([]), reader), old


def _dumped(here: _Watch) -> bytes:
    return msgspec.msgpack.encode((here.state, bank_state.dump(here.bank)))


def _enrol(here: _Watch) -> None:
    """Takes in the series that have appeared since the last look."""
    fresh = store.newer_keys(here.look.run_id, here.state.looked_to)
    if not fresh:
        return
    here.state.looked_to = fresh[-1][0]
    found = [(key_id, one) for key_id, name in fresh if (one := demands.watched(name, here.reader))]
    found.sort(key=lambda pair: pair[1].order)
    room = MAX_WATCHED - len(here.state.keys)
    here.state.left_out += max(0, len(found) - room)
    kept = found[: max(0, room)]
    here.state.keys += [key_id for key_id, _ in kept]
    here.bank = here.bank.with_more(bank.of([one.demand for _, one in kept]))


# -- rows -------------------------------------------------------------------------------------


def _portions(here: _Watch, first: int, last: int | None) -> list[tuple[int, int | None]]:
    """The steps in portions of at most MAX_CELLS cells each."""
    most = max(64, MAX_CELLS // len(here.bank))
    if last is not None and last - first < most:
        return [(first, last)]
    return store.step_windows(here.look.run_id, here.look.attempt, (first, last), most)


def _seed(here: _Watch, before: int) -> None:
    """Learns what was normal before a step: in this attempt, and in those it came from."""
    spans = _lineage(here.look.run_id, here.look.attempt, before)
    if not spans:
        return
    untaught = here.bank.take(np.arange(len(here.bank)))
    counts = _learn(here, here.bank, (here.state.keys, spans, before - NEAR_STEPS))
    sparse = np.flatnonzero((counts > 0) & (counts < SEED_ROWS))
    if len(sparse):
        part = untaught.take(sparse)
        keys = [here.state.keys[n] for n in sparse.tolist()]
        _learn(here, part, (keys, spans, before - FAR_STEPS))
        here.bank.put(sparse, part)
    bank_state.calm(here.bank)


def _lineage(run_id: int, attempt: int, before: int) -> list[tuple[int, int]]:
    """(attempt, last step) along the line of parents, oldest first, up to the step before `before`;
    empty if an attempt without a parent begins there."""
    known = {info.number: info for info in runs.attempts(run_id)}
    found: list[tuple[int, int]] = []
    number: int | None = attempt
    while number in known and len(found) < len(known):
        own = known[number]
        found.append((own.number, before - 1))
        before = before if own.first_step is None else min(before, own.first_step)
        number = own.parent
    return found[::-1]


def _learn(
    here: _Watch, state: BankState, where: tuple[list[int], list[tuple[int, int]], int]
) -> Ints:
    """Feeds stored rows without telling; how many values each series had. where: key_ids, spans,
    first step."""
    keys, spans, first = where
    counts = np.zeros(len(state), dtype=np.int64)
    low = first
    for attempt, last in spans:
        portion = max(64, MAX_CELLS // len(state))
        for start in range(low, last + 1, portion):
            stop = min(last, start + portion - 1)
            rows = store.read_matrix(here.look.run_id, attempt, keys, start, stop)
            if rows is not None:
                bank.feed(state, rows, BANK)
                counts += np.count_nonzero(rows.shown, axis=0)
        low = max(low, last + 1)
    return counts


# -- findings ---------------------------------------------------------------------------------


def _tell(here: _Watch, events: list[Happened]) -> None:
    """What is new about the episode. A change that somebody has planned meanwhile is news too."""
    state, told = here.state, dict[int, tuple[Episode, list[Mark]]]()

    def note(episode: Episode, marks: list[Mark]) -> None:
        told[episode.key_step] = _copies(episode, marks)

    trends.take(state, events, note, TRENDS)
    episode = state.episode
    running = episode is not None and episode.closed_step is None
    if not told and not running:
        return
    wanted = here.look.planned
    if episode is not None and running:
        now = severity_of(state.marks, wanted).value
        if now != episode.severity:
            episode.severity = now
            note(episode, state.marks)
    case = _case(here, {m.key_id for _, marks in told.values() for m in marks}, wanted)
    here.found += [finding(case, episode, marks) for episode, marks in told.values()]


def _copies(episode: Episode, marks: Sequence[Mark]) -> tuple[Episode, list[Mark]]:
    return msgspec.structs.replace(episode), [msgspec.structs.replace(mark) for mark in marks]


def _abandon(here: _Watch, old: TrendState, last: int | None) -> None:
    """Ends what the names of before had opened: nobody would, else."""
    episode = old.episode
    if episode is None or episode.closed_step is not None:
        return
    episode.closed_step = episode.seen_step if last is None else max(last, episode.seen_step)
    episode.closed_ns = episode.seen_ns
    case = _case(here, {mark.key_id for mark in old.marks}, here.look.planned)
    marks = [mark for mark in old.marks if mark.key_id in case.series]
    if marks:
        here.found.append(finding(case, episode, marks))


def _case(here: _Watch, key_ids: set[int], wanted: Sequence[PlannedChange]) -> Case:
    names = store.names_of(here.look.run_id, sorted(key_ids)) if key_ids else {}
    known = {key_id: (name, demands.watched(name, here.reader)) for key_id, name in names.items()}
    return Case(
        attempt=here.look.attempt,
        series={
            key_id: Series(name, one) for key_id, (name, one) in known.items() if one is not None
        },
        watched=len(here.state.keys),
        left_out=here.state.left_out,
        planned=wanted,
    )
