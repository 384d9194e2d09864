"""The words and the headers of a message; who gets what is decided elsewhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apps.alerts.domain.message import Kind
from apps.core.records import Candidate, Evidence, Finding, FindingSeverity
from apps.core.words import duration, many, number
from apps.incidents.domain.incident import IncidentInfo, IncidentState
from apps.incidents.domain.suggestion import Advice
from apps.incidents.domain.summary import telling

SUBJECT_LENGTH = 78
_RUN_LENGTH = 28
_NEWS_NS = 1_800_000_000_000
_WORDS = {
    FindingSeverity.PAGE: "CRITICAL",
    FindingSeverity.WARN: "WARNING",
    FindingSeverity.INFO: "INFO",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why somebody gets a message. rules: the names of those that send it there; () for the
    default recipients. zone: the recipient's. leave_url: where to unsubscribe, "" if nowhere."""

    rules: tuple[str, ...] = ()
    zone: str = ""
    leave_url: str = ""
    reply_to: str = ""


@dataclass(frozen=True, slots=True)
class MailFacts:
    """Everything a message says.

    subject: of the opening message once that is sent, so that the closing one repeats it.
    over: the end of the incident is certain. dated_ns: the Date of the mail. plot_alt: the plot in
    words, "" without a plot. advice: what the triage card suggests. fired: incidents of this kind
    on the run in the last seven days, this one included.
    """

    kind: Kind
    seq: int
    incident: IncidentInfo
    run_key: str
    recipient: str
    site_url: str
    host: str
    now_ns: int
    dated_ns: int
    over: bool
    subject: str = ""
    candidates: tuple[Candidate, ...] = ()
    findings: tuple[Finding, ...] = ()
    plot_alt: str = ""
    project: str = ""
    advice: Advice | None = None
    fired: int = 0
    reason: Reason = Reason()

    @property
    def incident_url(self) -> str:
        return f"{self.site_url}/incidents/{self.incident.id}/"

    @property
    def rollback_url(self) -> str:
        run = quote(self.run_key, safe="")
        return f"{self.site_url}/runs/{run}/rollback/?incident={self.incident.id}"


def subject_of(incident: IncidentInfo, run_key: str) -> str:
    """ "CRITICAL llm-300b: Loss 0.97 -> 3.65 since step 1,001 (INC-42)".

    Pure ASCII, at most 78 characters; the run name stays outside of brackets because Gmail
    ignores bracketed words when it groups by subject; too long a title loses its end.
    """
    head = f"{_WORDS[incident.severity]} {ascii_line(run_key)[:_RUN_LENGTH]}: "
    tail = f" ({incident.label})"
    room = SUBJECT_LENGTH - len(head) - len(tail)
    title = ascii_line(incident.title)
    if len(title) > room:
        title = title[: room - 3].rstrip(" ,;:->") + "..."
    return f"{head}{title}{tail}"


def ascii_line(text: str) -> str:
    """One line of printable ASCII: accents dropped, arrows spelled, the rest becomes "?"."""
    spelled = text.replace("\u2192", "->").replace("\u00d7", "x").replace("\u2013", "-")
    plain = unicodedata.normalize("NFKD", spelled)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(re.sub(r"[^\x20-\x7e\s]", "?", plain).split())


def subject(facts: MailFacts) -> str:
    """The subject line: the same for the whole incident, "Re:" in front after the opening."""
    base = facts.subject or subject_of(facts.incident, facts.run_key)
    return base if facts.kind is Kind.OPENING and facts.seq == 0 else f"Re: {base}"


def headers(facts: MailFacts) -> dict[str, str]:
    """The headers beside From, To and Subject.

    Message-ID depends only on (run, incident, recipient, kind, seq): a message sent twice after
    a crash is one message to a receiver that folds doubles. References point to a root that
    never existed, so a thread holds even where its first message was missed.
    """
    incident, reason = facts.incident, facts.reason
    to = re.sub(r"[^A-Za-z0-9]+", ".", facts.recipient).strip(".")
    found = {
        "Message-ID": f"<{facts.kind.value}-{facts.seq}.{to}.{_thread(incident)}@{facts.host}>",
        "In-Reply-To": root(facts),
        "References": root(facts),
        "List-Id": list_id(facts.project, facts.host),
        **leave_headers(reason.leave_url),
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "X-Run": ascii_line(facts.run_key),
        "X-Incident": incident.label,
        "X-Severity": _WORDS[incident.severity].lower(),
    }
    return found | ({"Reply-To": reason.reply_to} if reason.reply_to else {})


def list_id(project: str, host: str) -> str:
    """One list a project (RFC 2919), so that a filter may sort by it."""
    slug = re.sub(r"[^a-z0-9-]+", "-", project.lower()).strip("-")
    return f"<{f'{slug}.' if slug else ''}alerts.{host}>"


def leave_headers(url: str) -> dict[str, str]:
    """Where a mail program unsubscribes. With one click only over https (RFC 8058, section 3.1)."""
    if not url:
        return {}
    one_click = {"List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return {"List-Unsubscribe": f"<{url}>"} | (one_click if url.startswith("https://") else {})


def root(facts: MailFacts) -> str:
    """The Message-ID that all messages about an incident answer to."""
    return f"<{_thread(facts.incident)}@{facts.host}>"


def _thread(incident: IncidentInfo) -> str:
    return f"inc-{incident.id}.run-{incident.run_id}"


def lead(facts: MailFacts) -> str:
    """The first line: the state before everything else."""
    incident = facts.incident
    if facts.over and incident.resolved_at_ns is not None:
        lasted = duration((incident.resolved_at_ns - incident.opened_at_ns) / 1e9)
        return f"RESOLVED after {lasted}: {incident.title}"
    if facts.kind is Kind.REMINDER and came_back(facts):
        return f"CAME BACK, what was done did not help: {incident.title}"
    if facts.kind is Kind.REMINDER:
        open_for = duration((facts.now_ns - incident.opened_at_ns) / 1e9)
        return f"STILL OPEN after {open_for}, nobody has acknowledged: {incident.title}"
    if facts.kind is Kind.FLAPPING:
        return f"FLAPPING, it keeps coming and going: {incident.title}"
    if facts.kind is Kind.ESCALATION:
        return f"NOW CRITICAL, it began as a warning: {incident.title}"
    if incident.state is IncidentState.RESOLVED:
        return f"{incident.title} (back in its band; a closing message follows if it stays)"
    if facts.seq > 0 or incident.relapsed_step is not None:
        return f"BACK after it had ended: {incident.title}"
    return incident.title


def came_back(facts: MailFacts) -> bool:
    """Whether a relapse is still news."""
    since_ns = facts.incident.relapsed_at_ns
    return since_ns is not None and facts.now_ns - since_ns < _NEWS_NS


def severity_word(facts: MailFacts) -> str:
    """ "CRITICAL. ", because a colour alone tells nobody; "" once it is over."""
    return "" if facts.over else f"{_WORDS[facts.incident.severity]}. "


def ending(facts: MailFacts) -> str:
    """Why it is over, in words; "" while it is not."""
    words = {
        "closed": "The signal is back in its band by itself.",
        "recovered": "The rollback is verified: the loss is back on its trend.",
        "manual": "A person resolved it.",
    }
    return words.get(facts.incident.resolution, "") if facts.over else ""


def evidence_lines(facts: MailFacts) -> list[str]:
    """What speaks for it: the cause, the earliest signal, the first suspects, what the detector
    saw; every text once, and not the rule."""
    incident, rule = facts.incident, rule_of(facts)
    cause = facts.advice.cause if facts.advice else ""
    lines = failure_lines(facts) or [f"Cause: {cause or incident.cause_hint}"]
    lines += _texts(incident.hypotheses[0].evidence) if incident.hypotheses else []
    lines += _signal_line(incident)
    for suspect in incident.suspects[:2]:
        who = " ".join(_who(suspect.rank, suspect.node))
        fault = suspect.fault_class.replace("_", " ")
        lines.append(f"Suspect: {who}, {fault}, confidence {suspect.confidence:.0%}")
        lines += _texts(suspect.evidence)
    if facts.findings:
        lines += _texts([e for e in telling(facts.findings).evidence if e.text != rule])
    return list(dict.fromkeys(lines))


def failure_lines(facts: MailFacts) -> list[str]:
    """Of a dead job: what happened first, why that is believed, what to do, who is innocent."""
    main = telling(facts.findings) if facts.findings else None
    course = main.facts.get("course") if main is not None else None
    if main is None or not course:
        return []
    said = main.facts
    lines = [f"First: {course['first']}"]
    lines.append(f"Class: {said['fault_title']}, confidence {said['confidence_word']}")
    lines.append(f"Why: {said['why']}")
    lines += [f"To do: {said['action']}"] if said.get("action") else []
    lines += [f"Clocks: {text}" for text in course["order"][:2]]
    lines += [f"Not to blame: {text}" for text in course["innocent"][:2]]
    return lines + [f"Would decide it: {text}" for text in course["decide"][:3]]


def rule_of(facts: MailFacts) -> str:
    """The rule that fired, in words; "" if the finding names none."""
    return str(telling(facts.findings).facts.get("rule", "")) if facts.findings else ""


def rule_lines(facts: MailFacts) -> list[str]:
    """The rule that fired, its numbers, and how often it has fired lately."""
    rule, numbers = rule_of(facts), telling(facts.findings).facts if facts.findings else {}
    names = (("value", "value"), ("before", "before"), ("threshold", "threshold"), ("z", "z"))
    told = [f"{words} {number(numbers[name])}" for name, words in names if _number(numbers, name)]
    lines = [f"Rule: {rule}"] if rule else []
    lines += [f"Numbers: {', '.join(told)}"] if told else []
    if facts.fired:
        kind = facts.incident.kind.replace("_", " ")
        lines.append(f"Fired {many(facts.fired, 'time')} on this run in 7 days: {kind}")
    return lines


def _number(numbers: Mapping[str, Any], name: str) -> bool:
    value = numbers.get(name)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(evidence: Sequence[Evidence], limit: int = 3) -> list[str]:
    return [f"Evidence: {e.text}" for e in evidence[:limit]]


def _signal_line(incident: IncidentInfo) -> list[str]:
    signal = incident.earliest_signal
    if signal is None:
        return []
    ahead = f"{many(signal.lead_steps, 'step')} ({duration(signal.lead_s)})"
    ahead += f" before the {signal.ahead_of}"
    where = f"Earliest signal: {signal.named} at step {signal.step:,}"
    return [f"{where}, {ahead}" if signal.lead_steps else where]


def _who(rank: int | None, node: str | None) -> list[str]:
    named = [] if rank is None else [f"rank {rank}"]
    return named + ([f"on {node}"] if node else []) or ["unknown"]


def candidate_lines(candidates: tuple[Candidate, ...], limit: int = 3) -> list[str]:
    """The best eligible checkpoints, one line each with what going back costs."""
    lines = []
    for candidate in [c for c in candidates if c.eligible][:limit]:
        hours = candidate.lost_gpu_hours
        cost = f"{candidate.lost_steps:,} steps to redo"
        if hours is not None:
            cost += f", {number(hours)} GPU-hours"
        level = candidate.level.replace("_", " ")
        lines.append(f"step {candidate.step:,} (attempt {candidate.attempt}): {level}, {cost}")
    return lines


def clock(time_ns: int, zone: str = "") -> str:
    """ "2026-03-01 12:34:56 UTC", with the recipient's time behind it where the zone is known:
    "(13:34 Europe/Berlin)"."""
    moment = datetime.fromtimestamp(time_ns / 1e9, tz=UTC)
    text = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    local = moment.astimezone(zone_of(zone))
    if local.utcoffset() == moment.utcoffset():
        return text
    day = "" if local.date() == moment.date() else f"{local:%Y-%m-%d} "
    return f"{text} ({day}{local:%H:%M} {zone})"


def zone_of(zone: str) -> tzinfo:
    """The time zone of that name, UTC if there is none."""
    try:
        return ZoneInfo(zone) if zone else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
