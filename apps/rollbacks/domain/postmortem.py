"""The post-mortem of an incident, as Markdown and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from apps.core.records import Evidence
from apps.core.words import duration, many, number
from apps.incidents.domain.card import plain_card
from apps.incidents.domain.incident import EventInfo, IncidentInfo
from apps.incidents.domain.movers import Movers
from apps.rollbacks.records import Account

_SECOND_NS = 1_000_000_000
_MOVERS = 20
_SIGNS = {1: "for", 0: "beside", -1: "against"}
_DECISIONS = (
    "opened",
    "acknowledged",
    "mitigated",
    "resolved",
    "reopened",
    "silenced",
    "unsilenced",
    "assigned",
    "order",
)


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture beside the text. file: its name below plots/. alt: what it shows, in numbers."""

    file: str
    alt: str
    png: bytes


@dataclass(frozen=True, slots=True)
class Time:
    """One of the times people compare. seconds: None if it has not come to that (yet)."""

    name: str
    seconds: float | None
    definition: str
    over: bool = False

    @property
    def spoken(self) -> str:
        """ "3 min", "not yet", or "never" once the incident is over."""
        if self.seconds is None:
            return "never" if self.over else "not yet"
        return duration(self.seconds)


def times(incident: IncidentInfo, events: Sequence[EventInfo]) -> tuple[Time, ...]:
    """How long everything took. Firsts count: a relapse starts no clock again, it makes the last
    one longer. The onset is on the clock of the job, the rest on ours."""
    opened, over = incident.opened_at_ns, incident.resolved_at_ns
    acknowledged, mitigated = _first(events, "acknowledged"), _first(events, "mitigated")
    spans = (
        ("to detect", incident.onset_time_ns, opened, "from the onset to the opening"),
        ("to acknowledge", opened, acknowledged, "from the opening until somebody took care"),
        (
            "to mitigate",
            opened,
            mitigated,
            "from the opening until something was done that should help",
        ),
        ("to recover", opened, over, "from the opening to the (last) end"),
        ("in all", incident.onset_time_ns, over, "from the onset to the (last) end"),
    )
    return tuple(
        Time(name, _between(start, end), counted, over is not None)
        for name, start, end, counted in spans
    )


def markdown(account: Account, now_ns: int, plots: Sequence[Plot] = ()) -> str:
    """The post-mortem for people: what happened, who decided what and why, what it cost.

    Texts of others (titles, log lines, notes) are escaped: they never become markup.
    """
    parts = (
        _summary(account, now_ns),
        _impact(account),
        _crash(account),
        _times(account),
        _plots(plots),
        _timeline(account),
        _movers(account.movers),
        _causes(account),
        _evidence(account),
        _decisions(account),
        _candidates(account),
        _similar(account),
        _notes(account),
        _section("Missing evidence", [f"- {plain(t)}" for t in account.missing]),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def document(account: Account, now_ns: int) -> dict[str, Any]:
    """The same for programs; times in Unix nanoseconds UTC, spans in seconds."""
    incident = account.incident
    return {
        "exported_at_ns": now_ns,
        "incident": asdict(incident),
        "run": account.run.key,
        "project": account.run.project,
        "times": [asdict(time) for time in times(incident, account.events)],
        "timeline": [asdict(item) for item in account.timeline],
        "findings": [asdict(finding) for finding in account.findings],
        "decisions": [asdict(event) for event in _decided(account)],
        "events": [asdict(event) for event in account.events],
        "notes": [asdict(note) for note in account.notes],
        "orders": [{**asdict(order), "state": order.state.value} for order in account.orders],
        "candidates": [asdict(candidate) for candidate in account.candidates],
        "movers": asdict(account.movers) if account.movers else None,
        "card": plain_card(account.card) if account.card else None,
        "similar": [
            {"incident": row.incident.id, "title": row.incident.title, "why": list(row.why)}
            for row in account.similar
        ],
        "missing": list(account.missing),
    }


def plain(text: str) -> str:
    """A text of somebody else on one line of Markdown, without any markup."""
    line = " ".join(text.split()).replace("->", "\N{RIGHTWARDS ARROW}")
    escaped = "".join(f"\\{c}" if c in "\\`*<[]|" else c for c in line)
    return f"\\{escaped}" if escaped[:1] in {"#", "-", "+", ">"} else escaped


def utc(time_ns: int) -> str:
    """ "2026-11-30 07:01:17 UTC"."""
    return f"{datetime.fromtimestamp(time_ns // _SECOND_NS, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _first(events: Iterable[EventInfo], what: str) -> int | None:
    return min((event.at_ns for event in events if event.what == what), default=None)


def _between(start_ns: int, end_ns: int | None) -> float | None:
    return None if end_ns is None else max(0.0, (end_ns - start_ns) / _SECOND_NS)


def _section(title: str, lines: Sequence[str], nothing: str = "None known.") -> list[str]:
    return [f"## {title}", "", *(lines or [nothing]), ""]


def _summary(account: Account, now_ns: int) -> list[str]:
    incident, run = account.incident, account.run
    how = f" ({incident.resolution})" if incident.resolution else ""
    signal = incident.earliest_signal
    first = ""
    if signal is not None:
        steps = f", {many(signal.lead_steps, 'step')} before the {signal.ahead_of}"
        lead = steps if signal.lead_steps else ""
        first = f"- first to move: {plain(signal.named)} at step {signal.step:,}{lead}"
    onset = "" if incident.onset_step is None else f"step {incident.onset_step:,}, "
    lines = [
        f"- run: {plain(run.key)}, attempt {incident.attempt}",
        f"- kind: {incident.kind.replace('_', ' ')}, severity {incident.severity.value}",
        f"- state: {incident.state.value}{how}, owner {plain(incident.owner) or 'nobody'}",
        f"- onset: {onset}{utc(incident.onset_time_ns)}",
        f"- cause: {plain(_cause(account)) or 'not known'}",
        first,
        f"- reopened: {many(incident.reopened, 'time')}" if incident.reopened else "",
        f"- exported: {utc(now_ns)}",
    ]
    title = f"# {incident.label}: {plain(incident.title)}"
    return [title, "", *_section("Summary", [line for line in lines if line])]


def _cause(account: Account) -> str:
    return account.card.headline if account.card else account.incident.cause_hint


def _impact(account: Account) -> list[str]:
    incident = account.incident
    spent = times(incident, account.events)[-1]
    lines = [f"- from the onset to the end: {spent.spoken}"]
    if account.run.world_size:
        lines.append(f"- ranks: {account.run.world_size:,}")
    cost = {(c.attempt, c.step): c for c in account.candidates}
    for order in account.orders:
        price = cost.get((order.attempt, order.step))
        text = f"- {order.label} to step {order.step:,}: {order.state.value}"
        if price is not None:
            hours = "an unknown number of" if price.lost_gpu_hours is None else None
            spent_hours = hours or number(price.lost_gpu_hours)
            text += f"; {many(price.lost_steps, 'step')} to do again, {spent_hours} GPU-hours"
        lines.append(text)
    if not account.orders:
        lines.append("- no rollback was ordered")
    return _section("Impact", lines)


def _crash(account: Account) -> list[str]:
    """How a job died, as its page says it; nothing if it did not."""
    told = [f for f in account.findings if f.facts.get("course")]
    if not told:
        return []
    said, course = told[0].facts, told[0].facts["course"]
    lines = [
        f"- {plain(course['first'])}",
        f"- class: {plain(said['fault_title'])}, {said['confidence_word']} confidence",
        f"- why: {plain(said['why'])}",
    ]
    named = (("clocks", "order"), ("not to blame", "innocent"), ("would decide it", "decide"))
    lines += [f"- {name}: {plain(text)}" for name, key in named for text in course[key]]
    quoted = [
        f"| {utc(line['time_ns'])} | {line['part']} | {_said_by(line)} | {plain(line['text'])} |"
        for line in course["lines"]
    ]
    table = ["", "| when | part | who | line |", "|---|---|---|---|", *quoted] if quoted else []
    return _section("What happened first", [*lines, *table])


def _said_by(line: Mapping[str, Any]) -> str:
    rank = "" if line["rank"] is None else f"rank {line['rank']}"
    return plain(" on ".join(part for part in (rank, line["node"]) if part) or "unknown")


def _times(account: Account) -> list[str]:
    rows = [
        f"| {time.name} | {time.spoken} | {time.definition} |"
        for time in times(account.incident, account.events)
    ]
    return _section("Times", ["| time | took | counted |", "|---|---|---|", *rows])


def _plots(plots: Sequence[Plot]) -> list[str]:
    if not plots:
        return []
    return _section("Plots", [f"![{plain(p.alt)}](plots/{p.file})" for p in plots])


def _timeline(account: Account) -> list[str]:
    lines = []
    for item in account.timeline:
        mark = f" **{item.mark.value}**" if item.mark else ""
        step = "" if item.step is None else f", step {item.step:,}"
        role = "" if item.role.value == "unknown" else f" ({item.role.value})"
        lines.append(f"- {utc(item.time_ns)}{step}{mark} {plain(item.text)}{role}")
    return _section("Timeline", lines)


def _movers(movers: Movers | None) -> list[str]:
    """What left its band, in order; the rest of many is counted."""
    if movers is None or not movers.items:
        return []
    rows = [
        f"| {m.step:,} | {plain(m.words or m.series)} | {_lead(m.lead_steps)} | "
        f"{number(m.before)} | {number(m.value)} |"
        for m in movers.items[:_MOVERS]
    ]
    more = movers.moved - len(rows)
    counted = "loss left its band" if movers.by_loss else "onset"
    head = [
        f"Of {movers.looked_at:,} series {movers.moved:,} moved. "
        f"Steps are counted from where the {counted} (step {movers.anchor_step:,}).",
        "",
        "| step | what left its band | steps ahead | before | then |",
        "|---|---|---|---|---|",
    ]
    return _section(
        "What moved, in order", [*head, *rows, *([f"\nand {more} more"] if more else [])]
    )


def _lead(steps: int) -> str:
    return f"{steps:,}" if steps >= 0 else f"{-steps:,} behind"


def _causes(account: Account) -> list[str]:
    card = account.card
    if card is None:
        return _section("Possible causes", [])
    lines = []
    for guess in card.causes:
        sure = f" ({guess.confidence:.0%})" if guess.confidence else ""
        lines.append(f"- {plain(guess.text)}: {guess.result.value}{sure}")
        lines += [f"  - {c.result.value}: {plain(c.test)}: {plain(c.seen)}" for c in guess.checks]
    lines += ["", f"{plain(card.advice.sentence)}"]
    if card.advice.practice is not None:
        lines += ["", f"Practice: {plain(card.advice.practice.cited)}."]
    return _section("Possible causes and advice", lines)


def _evidence(account: Account) -> list[str]:
    lines = []
    for finding in account.findings:
        lines.append(f"- {plain(finding.title)} ({finding.detector}, {finding.severity.value})")
        lines += _reasons(finding.evidence)
    for suspect in account.incident.suspects:
        place = " on ".join(
            part
            for part in (
                "" if suspect.rank is None else f"rank {suspect.rank}",
                plain(suspect.node or ""),
            )
            if part
        )
        what = f"{plain(suspect.fault_class.replace('_', ' '))} ({suspect.confidence:.0%})"
        lines.append(f"- suspect: {place or 'unknown'}: {what}")
        lines += _reasons(suspect.evidence)
    return _section("Evidence", lines)


def _reasons(reasons: Iterable[Evidence]) -> list[str]:
    return [f"  - {_SIGNS[max(-1, min(1, e.weight))]}: {plain(e.text)}" for e in reasons]


def _decided(account: Account) -> list[EventInfo]:
    return [event for event in account.events if event.what in _DECISIONS]


def _decisions(account: Account) -> list[str]:
    rows = [
        f"| {utc(event.at_ns)} | {plain(event.actor)} | {plain(event.text)} |"
        for event in _decided(account)
    ]
    return _section("Decisions", ["| when | who | what and why |", "|---|---|---|", *rows])


def _candidates(account: Account) -> list[str]:
    lines = []
    for candidate in account.candidates:
        word = "eligible" if candidate.eligible else "not eligible"
        lines.append(f"- step {candidate.step:,} (attempt {candidate.attempt}): {word}")
        lines += _reasons(candidate.reasons)
    return _section("Rollback candidates considered", lines)


def _similar(account: Account) -> list[str]:
    lines = [
        f"- {row.incident.label}, {utc(row.incident.opened_at_ns)}: {plain(row.incident.title)} "
        f"({plain(', '.join(row.why))})"
        for row in account.similar
    ]
    return _section("Similar past incidents", lines)


def _notes(account: Account) -> list[str]:
    lines: list[str] = []
    for note in account.notes:
        said = [f"> {plain(line)}" if line.strip() else ">" for line in note.text.splitlines()]
        lines += [f"{utc(note.at_ns)}, {plain(note.actor)}:", "", *said, ""]
    return _section("Notes", lines[:-1], "Nobody wrote any.")
