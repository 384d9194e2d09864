"""Who is told of an incident: rules, channels and what is left when no rule speaks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.core.records import FindingSeverity

DEFAULT_RULE = 0
"""The number of the rule that nobody wrote: it applies where no other does."""
_CHANNEL = "channel:"


class ChannelKind(StrEnum):
    """How a channel is spoken to. Stored: never rename a value."""

    EMAIL = "email"
    SLACK = "slack"
    WEBHOOK = "webhook"
    NTFY = "ntfy"
    PAGERDUTY = "pagerduty"


@dataclass(frozen=True, slots=True)
class Channel:
    """A place messages go to. project: the only one it serves, "" for all.

    address: of an e-mail channel; those of the others are secret and not here.
    """

    id: int
    name: str
    kind: ChannelKind
    enabled: bool = True
    project: str = ""
    address: str = ""

    @property
    def recipient(self) -> str:
        """What the outbox calls it. A mail address is its own name, so that nobody who is named
        twice gets the same mail twice."""
        return self.address if self.kind is ChannelKind.EMAIL else f"{_CHANNEL}{self.id}"

    def serves(self, project: str) -> bool:
        """Whether it may be used for incidents of `project` now."""
        return self.enabled and self.project in ("", project)


@dataclass(frozen=True, slots=True)
class Rule:
    """Incidents that fit every condition go to its channels. An empty condition fits everything,
    but severities, of which a rule names those it wants.

    kinds: of findings. owner: the person who has the incident. everybody: the default recipients
    are told too.
    """

    id: int
    name: str
    severities: frozenset[FindingSeverity] = frozenset({FindingSeverity.PAGE})
    kinds: frozenset[str] = frozenset()
    project: str = ""
    tag: str = ""
    owner: str = ""
    channels: tuple[int, ...] = ()
    everybody: bool = False
    enabled: bool = True

    def fits(self, facts: Facts) -> bool:
        """Whether it is about this incident. Names of people and tags: capitals do not count."""
        return (
            self.enabled
            and facts.severity in self.severities
            and (not self.kinds or facts.kind in self.kinds)
            and self.project in ("", facts.project)
            and (not self.tag or self.tag.casefold() in {t.casefold() for t in facts.tags})
            and self.owner.casefold() in ("", facts.owner.casefold())
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What rules ask of an incident and its run."""

    kind: str
    severity: FindingSeverity
    project: str = ""
    tags: frozenset[str] = frozenset()
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The rule that nobody wrote: its recipients get what no other rule speaks of, if it is of
    these severities. Only pages by default, as loss spikes that heal are most of the warnings."""

    recipients: tuple[str, ...]
    severities: frozenset[FindingSeverity] = frozenset({FindingSeverity.PAGE})


@dataclass(frozen=True, slots=True)
class Route:
    """One recipient and the rules that name it, in the order of their numbers."""

    recipient: str
    rules: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """Who is told, sorted by recipient. default: the rule that nobody wrote had to step in.
    why: the decision in words, for the pages."""

    routes: tuple[Route, ...]
    default: bool
    why: str

    @property
    def recipients(self) -> tuple[str, ...]:
        """The recipients alone."""
        return tuple(route.recipient for route in self.routes)

    def rules_of(self, recipient: str) -> tuple[int, ...]:
        """The rules that name a recipient, () if none does."""
        return next((r.rules for r in self.routes if r.recipient == recipient), ())


@dataclass(frozen=True, slots=True)
class Book:
    """All rules and channels, and who left which rule: (rule, recipient)."""

    defaults: Defaults
    rules: tuple[Rule, ...] = ()
    channels: tuple[Channel, ...] = ()
    left: frozenset[tuple[int, str]] = frozenset()


def routes(facts: Facts, book: Book, broken: Collection[str] = ()) -> Routes:
    """Who is told: the union of all rules that fit, whatever their order.

    broken: recipients that could not be told of this incident for good. Where no rule fits, or
    those that do lead to nobody (channels disabled, of another project or broken, people gone),
    the default recipients are told and `why` says so; not of a warning whose rules everybody has
    left. A page is never left without a recipient
    by people who left rules: should nobody remain, they are told all the same.
    """
    fitting = sorted((rule for rule in book.rules if rule.fits(facts)), key=lambda rule: rule.id)
    named = _named(fitting, facts, book, broken)
    staying = _staying(named, book.left)
    if staying:
        return _routes(staying, default=False, why=_because(fitting))
    return _default(facts, fitting, named, book, broken)


def _default(
    facts: Facts,
    fitting: Sequence[Rule],
    named: Mapping[str, list[int]],
    book: Book,
    broken: Collection[str],
) -> Routes:
    """The default rule, when the rules that fit lead to nobody."""
    if not fitting and facts.severity not in book.defaults.severities:
        why = f"no rule asks for incidents of severity {facts.severity}: nobody is told"
        return Routes((), default=True, why=why)
    if named and facts.severity is not FindingSeverity.PAGE:
        why = f"{_because(fitting)}, but everybody it names has unsubscribed"
        return Routes((), default=False, why=why)
    why = "no rule fits"
    if fitting:
        why = f"{_because(fitting)}, but leads to nobody who can be told"
    everybody = {to: [DEFAULT_RULE] for to in book.defaults.recipients if to not in broken}
    staying = _staying(everybody, book.left)
    if staying:
        return _routes(staying, default=True, why=f"{why}: the default recipients are told")
    if facts.severity is not FindingSeverity.PAGE:
        return Routes((), default=True, why=f"{why}, and everybody has unsubscribed")
    last = everybody or named or {to: [DEFAULT_RULE] for to in book.defaults.recipients}
    return _routes(last, default=True, why=f"{why}: a page goes to somebody all the same")


def _named(
    fitting: Iterable[Rule], facts: Facts, book: Book, broken: Collection[str]
) -> dict[str, list[int]]:
    """recipient -> the rules that name it, of recipients that can be told. Of addresses that
    differ in capitals the first one counts: nobody gets the same mail twice."""
    written = {to.casefold(): to for to in reversed(book.defaults.recipients)}
    able: dict[int, str] = {}
    for channel in sorted(book.channels, key=lambda channel: channel.id):
        to = written.setdefault(channel.recipient.casefold(), channel.recipient)
        if channel.serves(facts.project):
            able[channel.id] = to
    named: dict[str, list[int]] = {}
    for rule in fitting:
        people = [able[number] for number in rule.channels if number in able]
        people += book.defaults.recipients if rule.everybody else ()
        for to in dict.fromkeys(people):
            if to not in broken:
                named.setdefault(to, []).append(rule.id)
    return named


def _staying(
    named: Mapping[str, list[int]], left: Collection[tuple[int, str]]
) -> dict[str, list[int]]:
    """The same without the rules that people left."""
    kept = {to: [rule for rule in rules if (rule, to) not in left] for to, rules in named.items()}
    return {to: rules for to, rules in kept.items() if rules}


def _routes(named: Mapping[str, Sequence[int]], *, default: bool, why: str) -> Routes:
    found = tuple(Route(to, tuple(named[to])) for to in sorted(named))
    return Routes(found, default=default, why=why)


def _because(fitting: Sequence[Rule]) -> str:
    names = ", ".join(f"“{rule.name}”" for rule in fitting)
    return f"{'rule' if len(fitting) == 1 else 'rules'} {names}"


def channel_id(recipient: str) -> int | None:
    """The channel behind a recipient of the outbox; None for a mail address."""
    number = recipient.removeprefix(_CHANNEL)
    return int(number) if number != recipient and number.isdigit() else None
