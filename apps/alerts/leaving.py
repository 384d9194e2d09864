"""Unsubscribing from a rule by the link in a mail: no login, the signed link is the proof."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.db import transaction

from apps.accounts import store as accounts
from apps.accounts.records import Actor
from apps.accounts.services import audit
from apps.alerts import mail_store, routing, rules_store
from apps.alerts.domain.mail import Reason
from apps.alerts.domain.routing import DEFAULT_RULE, Book
from apps.alerts.domain.staying import may_leave, title
from apps.core.errors import AppError
from apps.incidents.domain.incident import IncidentInfo

PATH = "/alerts/leave/"
_SALT = "lastgood.alerts.leave"


@dataclass(frozen=True, slots=True)
class Membership:
    """Somebody and the rules that send mails to them, with their names. left: of these, the ones
    they have left. last: those that would have nobody else for a page."""

    recipient: str
    rules: tuple[int, ...]
    names: tuple[str, ...]
    left: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    @property
    def gone(self) -> bool:
        """Whether they have left all of them."""
        return set(self.left) >= set(self.rules)


def reason(incident: IncidentInfo, recipient: str) -> Reason:
    """Why a recipient is told of an incident, and the link that ends it. About five statements."""
    rules = routing.routes([incident])[incident.id].rules_of(recipient)
    book = routing.book()
    return Reason(
        rules=tuple(title(rule, book) for rule in rules if rule != DEFAULT_RULE),
        zone=mail_store.habits(recipient).zone,
        leave_url=link(recipient, rules) if rules else "",
        reply_to=settings.ALERT_REPLY_TO,
    )


def link(recipient: str, rules: tuple[int, ...]) -> str:
    """The address of the page that unsubscribes; it holds as long as SECRET_KEY does."""
    token = signing.dumps([recipient, *rules], salt=_SALT)
    return f"{settings.PUBLIC_URL}{PATH}{token}/"


def membership(token: str) -> Membership:
    """Whom a link is about; AppError for one that is damaged or made by somebody else."""
    try:
        recipient, *rules = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        raise AppError(
            "this link is incomplete or was made with another key",
            hint="use the link of a newer mail, or the page Alerts",
        ) from None
    return _membership(str(recipient), tuple(int(rule) for rule in rules), routing.book())


def _membership(recipient: str, rules: tuple[int, ...], book: Book) -> Membership:
    return Membership(
        recipient=recipient,
        rules=rules,
        names=tuple(title(rule, book) for rule in rules),
        left=tuple(rule for rule in rules if (rule, recipient) in book.left),
        last=tuple(rule for rule in rules if not may_leave(rule, recipient, book)),
    )


def leave(token: str, now_ns: int, *, address: str = "") -> Membership:
    """Takes the person off the rules of the link; the membership from then on.

    Nobody leaves a rule that would have no one else for a page: it stays in `last`, and the
    administrators are told once a day. One at a time, so that the last two cannot both leave.
    address: where the request came from.
    """
    with transaction.atomic():
        mail_store.lock_leaving()
        found = membership(token)
        for rule in found.rules:
            if rule in found.left:
                continue
            if rule in found.last:
                _refused(found, rule, now_ns, address)
            elif rules_store.leave(rule, found.recipient, now_ns):
                _audit("alerts.left_rule", found, rule, address)
    return membership(token)


def come_back(token: str, *, address: str = "") -> Membership:
    """Undoes `leave`."""
    found = membership(token)
    with transaction.atomic():
        for rule in found.left:
            if rules_store.come_back(rule, found.recipient):
                _audit("alerts.came_back_to_rule", found, rule, address)
    return membership(token)


def left_rules(recipient: str) -> list[tuple[int, str]]:
    """(number, name) of the rules that somebody has left."""
    book = routing.book()
    return [(rule, title(rule, book)) for rule, to in sorted(book.left) if to == recipient]


def return_to(recipient: str, rule: int, actor: Actor) -> None:
    """A person who is logged in comes back to a rule they left."""
    with transaction.atomic():
        if rules_store.come_back(rule, recipient):
            name = title(rule, routing.book())
            audit(actor, "alerts.came_back_to_rule", f"alert rule {rule}", after={"rule": name})


def set_habits(recipient: str, wishes: mail_store.Habits, actor: Actor) -> None:
    """How a person wants mails from now on."""
    before = mail_store.habits(recipient)
    with transaction.atomic():
        mail_store.save_habits(recipient, wishes)
        audit(
            actor,
            "alerts.mail_habits",
            recipient,
            before={"zone": before.zone, "digest": before.digest},
            after={"zone": wishes.zone, "digest": wishes.digest},
        )


def _refused(found: Membership, rule: int, now_ns: int, address: str) -> None:
    name = found.names[found.rules.index(rule)]
    words = f"{found.recipient} wants no more mails by “{name}”, but nobody else gets its pages"
    if mail_store.notify(accounts.admin_addresses(), rule, words, now_ns):
        _audit("alerts.leaving_refused", found, rule, address)


def _audit(action: str, found: Membership, rule: int, address: str) -> None:
    actor = Actor("mail", found.recipient, frozenset()).at(address)
    name = found.names[found.rules.index(rule)]
    audit(actor, action, f"alert rule {rule}", after={"rule": name})
