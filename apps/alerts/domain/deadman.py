"""Whether alert messages get out, judged by somebody else than the alert worker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apps.alerts.domain.timing import SECOND_NS, ns
from apps.core.words import duration


class Fault(StrEnum):
    """What is wrong."""

    SILENT = "silent"
    LATE = "late"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DeadmanPolicy:
    """silent_s: without a sign of life from the worker, which gives one every 10 s and may be busy
    with a call of 60 s. late_s: a message is due for so long and nobody has taken it. tries: a mail
    was refused so often, which takes about two minutes."""

    silent_s: float = 150.0
    late_s: float = 120.0
    tries: int = 3


DEFAULT_POLICY = DeadmanPolicy()


@dataclass(frozen=True, slots=True)
class Vital:
    """beat_ns: the last sign of life, None if there never was one. late: messages that are due and
    taken by nobody; oldest_ns: since when. refused: mails that the mail server refuses again and
    again; answer: what it says."""

    beat_ns: int | None
    late: int = 0
    oldest_ns: int | None = None
    refused: int = 0
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Messages do not get out. since_ns: None if not known. waiting: how many."""

    fault: Fault
    since_ns: int | None
    waiting: int
    answer: str = ""

    def headline(self, now_ns: int) -> str:
        """One sentence."""
        wait = "1 message waits" if self.waiting == 1 else f"{self.waiting or 'no'} messages wait"
        age = (
            ""
            if self.since_ns is None
            else f" for {duration((now_ns - self.since_ns) / SECOND_NS)}"
        )
        return {
            Fault.SILENT: f"The alert worker has been silent{age}, {wait}",
            Fault.LATE: f"Alert messages are late: {wait}, the oldest{age}",
            Fault.REFUSED: f"The mail server takes no alert mails: {wait}",
        }[self.fault]

    @property
    def hint(self) -> str:
        """What to do."""
        if self.fault is Fault.REFUSED:
            return "Check EMAIL_URL and the mail server. The messages are kept and tried again."
        return (
            "Check the processes worker and beat, and Valkey. The messages are kept and go out "
            "when the worker is back."
        )


def judge(vital: Vital, now_ns: int, policy: DeadmanPolicy = DEFAULT_POLICY) -> Trouble | None:
    """What is wrong, the worst first; None if messages get out.

    Where no worker was ever seen, only a message that nobody takes is trouble: a Lastgood that has
    just been installed has none to send.
    """
    beat_ns = vital.beat_ns
    if beat_ns is not None and now_ns - beat_ns > ns(policy.silent_s):
        return Trouble(Fault.SILENT, beat_ns, vital.late)
    if vital.late:
        fault = Fault.SILENT if beat_ns is None else Fault.LATE
        return Trouble(fault, vital.oldest_ns, vital.late)
    if vital.refused:
        return Trouble(Fault.REFUSED, None, vital.refused, vital.answer)
    return None
