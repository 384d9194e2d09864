"""What the watch says about a silent run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from apps.core.records import Evidence, Finding, FindingSeverity
from apps.core.words import duration, many
from apps.runs.domain.contact import Look, Rhythm, Silence

DETECTOR = "runs.contact"
NO_CONTACT = "no_contact"


@dataclass(frozen=True, slots=True)
class Silent:
    """A run that has gone silent. attempt: its newest. alone: other runs are heard of meanwhile.
    now_ns: our clock."""

    attempt: int
    look: Look
    rhythm: Rhythm
    silence: Silence
    now_ns: int
    alone: bool = True


def key_of(attempt: int, heard_ns: int) -> str:
    """The key of the finding about the silence since heard_ns."""
    return f"{NO_CONTACT}:a{attempt}:t{heard_ns}"


def since(time_ns: int) -> str:
    """ "2026-11-30 03:12:07 UTC"."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def no_contact(silent: Silent) -> Finding:
    """The finding that opens. It names no step: what the job does meanwhile is unknown."""
    look, silence = silent.look, silent.silence
    facts: dict[str, Any] = {
        "since_ns": look.heard_ns,
        "limit_s": silence.limit_s,
        "usual_gap_s": silence.usual_s,
        "hint": _hint(silent),
    }
    return Finding(
        key=key_of(silent.attempt, look.heard_ns),
        detector=DETECTOR,
        kind=NO_CONTACT,
        severity=FindingSeverity.PAGE,
        attempt=silent.attempt,
        onset_step=None,
        onset_time_ns=look.heard_ns,
        seen_step=look.step,
        seen_time_ns=silent.now_ns,
        title=f"no contact since {since(look.heard_ns)}",
        evidence=_evidence(silent),
        facts=facts,
    )


def _evidence(silent: Silent) -> tuple[Evidence, ...]:
    look, silence, rhythm = silent.look, silent.silence, silent.rhythm
    usual = "its usual gap is not known yet"
    if silence.usual_s is not None:
        usual = f"its usual gap is {duration(max(1.0, silence.usual_s))}"
    longest = max(rhythm.pauses, default=0.0)
    pause = f", its longest pause was {duration(longest)}" if longest else ""
    limit = f"longer than {duration(silence.limit_s)} is no contact"
    found = [Evidence(f"nothing was received since: {usual}{pause}; {limit}", look.heard_ns)]
    if look.step is not None:
        found.append(Evidence("the newest step that was received", step=look.step, weight=0))
    found.append(Evidence(_hint(silent), silent.now_ns, weight=0))
    return tuple(found)


def asked_for(finding: Finding, why: str) -> Finding:
    """A silence that somebody asked for is information. why: in words."""
    return replace(
        finding,
        severity=FindingSeverity.INFO,
        facts={**finding.facts, "planned": why},
        evidence=(*finding.evidence, Evidence(why, finding.seen_time_ns, weight=-1)),
    )


def _hint(silent: Silent) -> str:
    """What to make of it."""
    if silent.alone:
        return (
            "nothing says that the job failed: it may train on without being heard; other runs are"
            " heard of, so the server can be reached"
        )
    return "no other run is heard of either: see first whether the server can be reached"


def heard_again(told: Finding, heard_ns: int, *, ended: bool, attempt: int) -> Finding:
    """The finding at its end. heard_ns: of what was received since, or the same as before when
    only the end of the attempt became known. attempt: the newest one now."""
    gap_s = (heard_ns - told.onset_time_ns) / 1e9
    if attempt != told.attempt:
        text = f"attempt {attempt} began after {duration(gap_s)} without contact"
    elif gap_s > 0:
        text = f"heard of again after {duration(gap_s)}"
    else:
        text = "it is known by now how the attempt ended" if ended else "the silence is over"
    closed_ns = max(heard_ns, told.onset_time_ns)
    return replace(
        told,
        closed_time_ns=closed_ns,
        seen_time_ns=max(told.seen_time_ns, closed_ns),
        evidence=(*told.evidence, Evidence(text, closed_ns, weight=-1)),
    )


def ranks_silent(names: Sequence[str], of: int) -> str:
    """ "3 of 8 ranks silent: rank 4, rank 5, rank 6"; "" if none is, or half of them or more: where
    only some ranks print, the silence of the others says nothing."""
    if not names or 2 * len(names) >= of:
        return ""
    shown = ", ".join(names[:4])
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{len(names)} of {many(of, 'rank')} silent: {shown}{more}"
