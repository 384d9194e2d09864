"""What a training script says by itself (`run.alert()` of W&B) as a finding. Plain values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.core.records import Evidence, Finding, FindingSeverity
from apps.incidents.domain.correlate import SCRIPT_ALERT, loudness

DETECTOR = "run.alert"
TITLE_LENGTH = 300
TEXT_LENGTH = 4_000
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ScriptAlert:
    """One alert. step: the newest one known when it came, None before the first.

    wait_ns: so long further alerts of the same title count as this one. copied: a synced copy of
    the process says it, nobody knows when it was said first.
    """

    title: str
    text: str
    severity: FindingSeverity
    wait_ns: int
    at_ns: int
    step: int | None = None
    copied: bool = False


@dataclass(frozen=True, slots=True)
class ScriptAlertPolicy:
    """retry_ns: the same words again within it are the client's second try, whatever it says about
    waiting. loud, kept: alerts of an attempt that may be loud, and that are kept at all; a script
    that alerts at every step must bury nobody in mail."""

    retry_ns: int = 60_000_000_000
    loud: int = 50
    kept: int = 1_000


DEFAULT_POLICY = ScriptAlertPolicy()


def as_finding(
    alert: ScriptAlert,
    attempt: int,
    earlier: Sequence[Finding],
    policy: ScriptAlertPolicy = DEFAULT_POLICY,
) -> Finding | None:
    """The finding an alert becomes: a new one, or the newer state of one it repeats.

    earlier: all script alerts of the run. What a copy repeats stays as it is. None if it is not
    kept: the attempt has `policy.kept` of them. A warning is over as soon as it is said. What only
    a copy tells wakes nobody: it may be days old.
    """
    same = [f for f in earlier if _repeats(alert, f, attempt, policy)]
    if same:
        newest = max(same, key=lambda f: f.seen_time_ns)
        return newest if alert.copied else _again(alert, newest)
    said = sum(f.attempt == attempt for f in earlier)
    if said >= policy.kept:
        return None
    return _new(alert, attempt, quiet=said >= policy.loud)


def _repeats(alert: ScriptAlert, earlier: Finding, attempt: int, policy: ScriptAlertPolicy) -> bool:
    title, text = earlier.facts.get("title"), earlier.facts.get("text")
    if alert.copied:
        return (alert.title, alert.text) == (title, text)
    if earlier.attempt != attempt or alert.title != title:
        return False
    if loudness(alert.severity) > loudness(FindingSeverity(earlier.facts["said_severity"])):
        return False
    patience_ns = max(alert.wait_ns, policy.retry_ns if alert.text == text else 0)
    return alert.at_ns - earlier.seen_time_ns < patience_ns


def _again(alert: ScriptAlert, earlier: Finding) -> Finding:
    """The wait counts from the first of them: a script that never stops is heard again."""
    times = int(earlier.facts.get("times", 1)) + 1
    return replace(earlier, facts={**earlier.facts, "times": times, "last_ns": alert.at_ns})


def _new(alert: ScriptAlert, attempt: int, *, quiet: bool) -> Finding:
    severity = FindingSeverity.INFO if quiet else alert.severity
    if alert.copied and severity is FindingSeverity.PAGE:
        severity = FindingSeverity.WARN
    words = "\0".join((alert.title, alert.text, alert.severity))
    digest = hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
    moment = severity is not FindingSeverity.PAGE
    return Finding(
        key=f"{SCRIPT_ALERT}:{attempt}:{digest}:{alert.at_ns}",
        detector=DETECTOR,
        kind=SCRIPT_ALERT,
        severity=severity,
        attempt=attempt,
        onset_step=alert.step,
        onset_time_ns=alert.at_ns,
        seen_step=alert.step,
        seen_time_ns=alert.at_ns,
        title=f"Script alert: {alert.title}",
        closed_step=alert.step if moment else None,
        closed_time_ns=alert.at_ns if moment else None,
        evidence=_evidence(alert),
        facts={
            "title": alert.title,
            "text": alert.text,
            "said_severity": alert.severity.value,
            "topic": _NUMBER.sub("#", alert.title),
            "times": 1,
            "last_ns": alert.at_ns,
        },
    )


def _evidence(alert: ScriptAlert) -> tuple[Evidence, ...]:
    text = " ".join(alert.text.split())
    if not text:
        return ()
    return (Evidence(text=text, time_ns=alert.at_ns, step=alert.step),)
