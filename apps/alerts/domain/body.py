"""The body of a mail, part by part: its text and its HTML are made of the same words."""

from __future__ import annotations

from dataclasses import dataclass

from apps.alerts.domain import mail
from apps.alerts.domain.bundle import Bundle, bundle_lead, cap_note, items
from apps.alerts.domain.mail import MailFacts
from apps.core.records import Candidate
from apps.core.words import duration

MAX_CANDIDATES = 3
NO_CANDIDATE = "No checkpoint before the onset is known to be whole."


@dataclass(frozen=True, slots=True)
class Link:
    """A link, as a button or inside the last lines. main: the one to press first."""

    text: str
    url: str
    main: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A group of lines under a heading."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """The parts in the order in which a person needs them.

    tone: critical, warning or good. lead: the first sentence. about: run, attempt, since when.
    before: ahead of the picture; plot_alt: the picture in words, "" for none. advice: what
    to do, in a sentence; todo: as links. after: behind them. items: messages of a bundle: what,
    where, link. why: why somebody gets this. last: the links behind that.
    """

    tone: str
    lead: str
    about: tuple[str, ...] = ()
    before: tuple[Part, ...] = ()
    plot_alt: str = ""
    advice: str = ""
    todo: tuple[Link, ...] = ()
    after: tuple[Part, ...] = ()
    items: tuple[tuple[str, str, Link], ...] = ()
    why: tuple[str, ...] = ()
    last: tuple[Link, ...] = ()


def body_of(bundle: Bundle) -> Body:
    """The body of a mail about one incident, or about several."""
    return _of_one(bundle) if len(bundle.facts) == 1 else _of_many(bundle)


def _of_one(bundle: Bundle) -> Body:
    facts = bundle.first
    about = [line for line in (mail.ending(facts), *_about(facts)) if line]
    rule = mail.rule_lines(facts)
    rest = [
        *([] if facts.over else _candidates(facts)),
        *([Part("The rule", tuple(rule))] if rule else []),
    ]
    return Body(
        tone=_tone([facts]),
        lead=mail.lead(facts),
        about=tuple(about),
        before=(Part("What we saw", tuple(mail.evidence_lines(facts))),),
        plot_alt=facts.plot_alt,
        advice=facts.advice.sentence if facts.advice else "",
        todo=_todo(facts),
        after=tuple(rest),
        why=_why(bundle),
        last=_last(facts),
    )


def _of_many(bundle: Bundle) -> Body:
    told = tuple((one.text, f"Run {one.run}", Link(one.label, one.url)) for one in items(bundle))
    return Body(
        tone=_tone(bundle.facts),
        lead=bundle_lead(bundle),
        items=told,
        why=_why(bundle),
        last=_last(bundle.first),
    )


def _tone(told: tuple[MailFacts, ...] | list[MailFacts]) -> str:
    if all(facts.over for facts in told):
        return "good"
    return "critical" if any(facts.incident.page for facts in told) else "warning"


def _about(facts: MailFacts) -> tuple[str, str]:
    incident = facts.incident
    step = "" if incident.onset_step is None else f", step {incident.onset_step:,}"
    since = mail.clock(incident.onset_time_ns, facts.reason.zone)
    age = duration((facts.now_ns - incident.onset_time_ns) / 1e9)
    return (
        f"{mail.severity_word(facts)}Run {facts.run_key}, attempt {incident.attempt}{step}",
        f"Since {since}, {age} ago",
    )


def _todo(facts: MailFacts) -> tuple[Link, ...]:
    links = [Link("Open incident", facts.incident_url, main=True)]
    if not facts.over:
        links.append(Link("Rollback candidates", facts.rollback_url))
        links.append(Link("Silence 1 h", f"{facts.incident_url}#silence-why"))
    return tuple(links)


def _candidates(facts: MailFacts) -> list[Part]:
    """The checkpoints; after a relapse the older ones that are left."""
    target = facts.advice.target if facts.advice else None
    back = facts.seq > 0 or facts.incident.relapsed_step is not None
    offered = tuple(c for c in facts.candidates if not back or _not_newer(c, target))
    lines = mail.candidate_lines(offered, MAX_CANDIDATES)
    if back and target is not None:
        lines.insert(0, f"It came back: the next older candidate is step {target.step:,}")
    return [Part("Checkpoints to go back to", tuple(lines or [NO_CANDIDATE]))]


def _not_newer(candidate: Candidate, target: Candidate | None) -> bool:
    return target is None or candidate.step <= target.step


def _why(bundle: Bundle) -> tuple[str, ...]:
    """Why the recipient gets it, and that nothing comes for a while if that is so."""
    facts, note = bundle.first, cap_note(bundle)
    rules = ", ".join(f"“{name}”" for name in facts.reason.rules)
    because = f"the rule {rules} names you" if rules else "you are on the default list"
    return (
        *([note] if note else []),
        f"You get this at {facts.recipient} because {because}.",
        "The links need a login. Nothing changes by opening them.",
    )


def _last(facts: MailFacts) -> tuple[Link, ...]:
    links = [Link("Settings", f"{facts.site_url}/alerts/mine/")]
    if facts.reason.leave_url:
        links.append(Link("Unsubscribe from this rule", facts.reason.leave_url))
    return tuple(links)
