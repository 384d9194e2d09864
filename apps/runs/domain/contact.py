"""Is a run silent? The silence that is usual is learned from the run itself.

Times are those at which the server received something, never those of the job: a clock that is off
moves no alarm. What a look sees is at most one period of the watch (15 s) too long.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

_SECOND_NS = 1_000_000_000
LOOK_EVERY_S = 15.0
"""How often the watch looks at every run."""
MISSED_LOOKS = 4
"""A worker that is busy for less is no outage."""


@dataclass(frozen=True, slots=True)
class ContactPolicy:
    """When silence is news; seconds.

    floor_s: never earlier: a save of a large model stops a job for minutes, and an agent that
    cannot reach the server tries again within one. ceiling_s: never later. gap_factor: times the
    gap that 9 of 10 looks stay below. pause_factor: times a pause of this run. once_s: a pause up
    to here counts when it was seen once (the first evaluation), a longer one when it came twice:
    a single outage is no habit. unlearned_s: until min_gaps looks brought news, and until the
    attempt has logged a row: loading a checkpoint and compiling take up to half an hour at 10,000
    GPUs. import_lag_s: a run whose newest data was older than this when it arrived is not live.
    give_up_s: then nobody looks any more until something is heard again.
    """

    floor_s: float = 300.0
    ceiling_s: float = 14_400.0
    gap_factor: float = 4.0
    pause_factor: float = 1.5
    once_s: float = 1_800.0
    unlearned_s: float = 1_800.0
    min_gaps: int = 10
    kept_gaps: int = 64
    kept_pauses: int = 16
    pause_from_s: float = 60.0
    import_lag_s: float = 3_600.0
    give_up_s: float = 604_800.0


DEFAULT_POLICY = ContactPolicy()


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a run at one moment.

    heard_ns: when the server received something last. contacts: how often it did, ever. step,
    event_ns: newest step and time of the newest data by the job's clock. started: the newest
    attempt has logged a row. ended: it is known how the attempt ended.
    """

    heard_ns: int
    contacts: int
    step: int | None = None
    event_ns: int | None = None
    started: bool = True
    ended: bool = False


class Rhythm(msgspec.Struct, frozen=True):
    """How often a run is heard of. Stored as JSON.

    gaps: mean seconds between contacts, of each of the last looks that brought news. pauses: the
    last longer silences in which the job stood still. The other fields: the look before.
    steps_s: steps a second, as they come.
    """

    gaps: tuple[float, ...] = ()
    pauses: tuple[float, ...] = ()
    heard_ns: int | None = None
    contacts: int = 0
    step: int | None = None
    steps_s: float | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """limit_s: longer than this is news. usual_s: the usual gap; None until it is learned."""

    limit_s: float
    usual_s: float | None


@dataclass(frozen=True, slots=True)
class WatchClock:
    """judged_ns: everything that arrived before it is written. resumed_ns: before it nobody
    looked, because Lastgood itself was away; 0 if it never was."""

    judged_ns: int
    resumed_ns: int = 0


def learn(
    rhythm: Rhythm, look: Look, clock: WatchClock, policy: ContactPolicy = DEFAULT_POLICY
) -> Rhythm:
    """The rhythm with what is new at this look; the same object if nothing is.

    A silence is learned as a pause only if the job stood still in it: when its steps went on, or
    it sends data from within the silence, the way to us was cut and not the job. A silence that
    reaches into an outage of ours teaches nothing.
    """
    if look.heard_ns == rhythm.heard_ns:
        return rhythm
    now = {"heard_ns": look.heard_ns, "contacts": look.contacts, "step": look.step}
    came = look.contacts - rhythm.contacts
    if rhythm.heard_ns is None or rhythm.heard_ns < clock.resumed_ns or came < 1:
        return msgspec.structs.replace(rhythm, **now)
    span_s = (look.heard_ns - rhythm.heard_ns) / _SECOND_NS
    paused = span_s > policy.pause_from_s
    if paused and _worked_on(rhythm, look, span_s):
        return msgspec.structs.replace(rhythm, **now)
    speed = rhythm.steps_s
    if not paused and look.step is not None and rhythm.step is not None and span_s > 0:
        speed = max(0, look.step - rhythm.step) / span_s or speed
    pauses = (*rhythm.pauses, round(span_s, 1)) if paused else rhythm.pauses
    gaps = (*rhythm.gaps, round(span_s / came, 2))
    return msgspec.structs.replace(
        rhythm,
        **now,
        gaps=gaps[-policy.kept_gaps :],
        pauses=pauses[-policy.kept_pauses :],
        steps_s=speed,
    )


def _worked_on(rhythm: Rhythm, look: Look, span_s: float) -> bool:
    """Whether the job trained on in the silence that has just ended."""
    lag_s = 0.0 if look.event_ns is None else (look.heard_ns - look.event_ns) / _SECOND_NS
    if lag_s > span_s / 2:
        return True
    if rhythm.steps_s is None or look.step is None or rhythm.step is None:
        return False
    return look.step - rhythm.step > rhythm.steps_s * span_s / 2


def silence(
    rhythm: Rhythm, *, started: bool = True, policy: ContactPolicy = DEFAULT_POLICY
) -> Silence:
    """How long a run of this rhythm may be silent. started: its attempt has logged a row."""
    gaps, pauses = sorted(rhythm.gaps), sorted(rhythm.pauses, reverse=True)
    usual_s = gaps[len(gaps) // 2] if gaps else None
    often_s = gaps[int(0.9 * (len(gaps) - 1))] if gaps else 0.0
    once_s = max((pause for pause in pauses if pause <= policy.once_s), default=0.0)
    twice_s = pauses[1] if len(pauses) > 1 else 0.0
    learned_s = max(policy.gap_factor * often_s, policy.pause_factor * max(once_s, twice_s))
    known = started and len(gaps) >= policy.min_gaps
    floor_s = policy.floor_s if known else policy.unlearned_s
    return Silence(min(max(floor_s, learned_s), policy.ceiling_s), usual_s)


def silent_s(look: Look, clock: WatchClock) -> float:
    """Seconds of silence that are not ours."""
    return max(0, clock.judged_ns - max(look.heard_ns, clock.resumed_ns)) / _SECOND_NS


def is_silent(
    look: Look, limit_s: float, clock: WatchClock, policy: ContactPolicy = DEFAULT_POLICY
) -> bool:
    """Whether the silence of a run is news. Never for one that has ended or is not live."""
    return not look.ended and is_live(look, policy) and silent_s(look, clock) > limit_s


def is_live(look: Look, policy: ContactPolicy = DEFAULT_POLICY) -> bool:
    """Whether its data came when it happened; else somebody sends an old run."""
    if look.event_ns is None:
        return True
    return look.heard_ns - look.event_ns <= policy.import_lag_s * _SECOND_NS


def given_up(look: Look, clock: WatchClock, policy: ContactPolicy = DEFAULT_POLICY) -> bool:
    """Whether looking on makes no sense."""
    return look.ended or silent_s(look, clock) > policy.give_up_s


def missed(now_ns: int, looked_ns: int | None) -> bool:
    """Whether looks are missing before this one. looked_ns: the look before."""
    return looked_ns is None or now_ns - looked_ns > MISSED_LOOKS * LOOK_EVERY_S * _SECOND_NS


def lag_s(now_ns: int, looked_ns: int | None, judged_ns: int | None) -> float:
    """How far the writer was behind at the last look; 0 if nobody has looked for long: then nobody
    knows. So much of every silence is ours."""
    if looked_ns is None or judged_ns is None or missed(now_ns, looked_ns):
        return 0.0
    return max(0, looked_ns - judged_ns) / _SECOND_NS
