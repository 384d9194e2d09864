"""Who may leave a rule."""

from __future__ import annotations

from apps.alerts.domain.routing import DEFAULT_RULE, Book
from apps.core.records import FindingSeverity


def members(rule_id: int, book: Book) -> frozenset[str]:
    """Whom a rule tells: its channels that are switched on and its people, without who left."""
    rule = next((one for one in book.rules if one.id == rule_id), None)
    if rule_id == DEFAULT_RULE:
        named = set(book.defaults.recipients)
    elif rule is None or not rule.enabled:
        return frozenset()
    else:
        named = {c.recipient for c in book.channels if c.id in rule.channels and c.enabled}
        named |= set(book.defaults.recipients if rule.everybody else ())
    return frozenset(to for to in named if (rule_id, to) not in book.left)


def critical(rule_id: int, book: Book) -> bool:
    """Whether pages go by this rule."""
    if rule_id == DEFAULT_RULE:
        return FindingSeverity.PAGE in book.defaults.severities
    return any(r.id == rule_id and FindingSeverity.PAGE in r.severities for r in book.rules)


def may_leave(rule_id: int, recipient: str, book: Book) -> bool:
    """Whether somebody else hears of a page by this rule when the recipient has left."""
    return not critical(rule_id, book) or members(rule_id, book) != {recipient}


def title(rule_id: int, book: Book) -> str:
    """What people call a rule."""
    if rule_id == DEFAULT_RULE:
        return "default recipients"
    return next((r.name for r in book.rules if r.id == rule_id), "a rule that is gone")
