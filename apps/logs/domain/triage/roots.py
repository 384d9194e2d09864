"""The one event of a rank that counts: the root of what went wrong there, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.records import Severity
from apps.logs.domain.triage.faultclass import FaultClass
from apps.logs.domain.triage.spot import NOWHERE, Spot

REFINE_BYTES = 4_000
REFINE_NS = 2 * 1_000_000_000
"""What is printed later belongs to something else: the next restart in the same console."""
_STOPPED = re.compile(r"(?:KeyboardInterrupt|SystemExit|(?:\w+\.)*SignalException)\b")
_TEARDOWN = re.compile(r"Exception ignored in|atexit|destroy_process_group\(\) was not called")
_GENERIC = "py_exception"


def is_teardown(text: str) -> bool:
    """Whether a line only says that a process was stopped or was ending."""
    return _STOPPED.match(text) is not None or _TEARDOWN.search(text) is not None


@dataclass(frozen=True, slots=True)
class Event:
    """A line of warning or worse. text: prefixes stripped. fault: its class, if it has one.

    time_ns: on the job's clock, what its host wrote less spot.skew_ns.
    """

    time_ns: int
    source: str
    seq: int
    severity: int
    text: str
    fault: FaultClass | None
    spot: Spot = NOWHERE

    @property
    def own_ns(self) -> int:
        """The time as its host wrote it."""
        return self.time_ns + self.spot.skew_ns

    @property
    def is_stop(self) -> bool:
        """Whether the line only says that somebody stopped the process."""
        return _STOPPED.match(self.text) is not None

    @property
    def role(self) -> str:
        """Role of the class; "" without one, for a stop, or for teardown noise."""
        if self.fault is None or is_teardown(self.text):
            return ""
        return self.fault.role


@dataclass(frozen=True, slots=True)
class Root:
    """First event of a rank that can matter, with its class (refined by the lines after it)."""

    event: Event
    fault: FaultClass

    @property
    def may_be_cause(self) -> bool:
        """Whether the class can start a failure (role cause or either)."""
        return self.fault.role in ("cause", "either")


def complains(events: Sequence[Event]) -> bool:
    """Whether a rank printed an error of its own (a stop from outside is none)."""
    return any(e.severity >= Severity.ERROR and not e.is_stop for e in events) and not any(
        e.is_stop for e in events
    )


def root_of(events: Sequence[Event]) -> Root | None:
    """The first event with a role other than confirm, in time and then file order.

    A plain Python exception takes the class of the more specific line that its message goes on
    with (NCCL prints its reason below the exception). Warnings count only if they are a cause.
    """
    ordered = sorted(events, key=lambda e: (e.time_ns, e.source, e.seq))
    for event in ordered:
        fault = event.fault
        if fault is None or event.role in ("", "confirm"):
            continue
        if event.severity < Severity.ERROR and event.role != "cause":
            continue
        return Root(event, _refined(event, fault, ordered))
    return None


def _refined(event: Event, fault: FaultClass, ordered: Sequence[Event]) -> FaultClass:
    if fault.id != _GENERIC:
        return fault
    following = [
        e.fault
        for e in ordered
        if e.source == event.source
        and 0 < e.seq - event.seq < REFINE_BYTES
        and e.time_ns - event.time_ns <= REFINE_NS
        and e.fault is not None
        and e.fault.id != _GENERIC
        and e.fault.layer != "process"
        and e.role in ("cause", "either", "symptom")
    ]
    return following[0] if following else fault
