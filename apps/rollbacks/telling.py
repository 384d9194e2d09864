"""Tells the webhook of each change of an order: once, in order, as long as it takes."""

from __future__ import annotations

import time
from typing import Final

from django.conf import settings
from django.db import transaction

from apps.accounts.records import SYSTEM
from apps.alerts.delivering import http_policy
from apps.alerts.domain.access import Access, shown
from apps.alerts.domain.outgoing import Answer, Verdict
from apps.alerts.domain.routing import ChannelKind
from apps.alerts.transports.http import post
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.rollbacks import resume, store, words_store
from apps.rollbacks.domain import webhook
from apps.rollbacks.domain.webhook import Target, Word
from apps.rollbacks.words_store import DueWord
from apps.runs import store as runs

LEASE_NS: Final = 60_000_000_000
"""Longer than any request: after it another worker tells the same, under the same id."""
BUDGET_S: Final = 45.0
LIMIT: Final = 20


def tell_due() -> int:
    """Tells what is due, for BUDGET_S; how many requests were made. Nothing without a webhook.

    A worker killed between a request and its record makes it again: the id is the same.
    """
    end_s, told = time.monotonic() + BUDGET_S, 0
    while time.monotonic() < end_s:
        now = now_ns()
        due = words_store.claim(now, now + LEASE_NS, LIMIT)
        if not due:
            break
        for word in due:
            _tell(word)
        told += len(due)
    return told


def _tell(due: DueWord) -> None:
    word = _word(due)
    target = Target(settings.ORDER_WEBHOOK_URL, settings.ORDER_WEBHOOK_SECRET)
    if word is None or not target.url:
        words_store.end(due)
        return
    now = now_ns()
    answer = _asked(word, target, now)
    young = now - word.event.at_ns < webhook.GIVE_UP_NS
    if answer.verdict is Verdict.LATER and young:
        wait_s = webhook.wait_s(due.tries, answer.wait_s)
        words_store.put_off(due, now + int(wait_s * 1e9))
        return
    taken = answer.verdict is Verdict.TAKEN
    place = receiver()
    text = f"{place} was told: {word.name}"
    _end(due, text if taken else f"{place} was not told {word.name}: {answer.text}", now)


def receiver() -> str:
    """Who is told, without what of the address may be a password; "" if nobody is."""
    url, secret = settings.ORDER_WEBHOOK_URL, settings.ORDER_WEBHOOK_SECRET
    return shown(ChannelKind.WEBHOOK, Access(url, secret)) if url else ""


def _word(due: DueWord) -> Word | None:
    """The change, with the order as it is now; None if it is gone."""
    order = store.get(due.run_id, due.order_id)
    events = store.events(due.run_id, due.order_id)
    event = next((event for event in events if event.seq == due.seq), None)
    if order is None or event is None:
        return None
    key = runs.run_by_id(due.run_id).key
    page = f"{settings.PUBLIC_URL}/runs/{key}/orders/{order.id}/"
    document = resume.ordered(order).document if order.waiting else None
    return Word(key, order, event, document, page)


def _asked(word: Word, target: Target, now: int) -> Answer:
    try:
        return post(webhook.call(word, target, now), http_policy())
    except AppError as error:
        return Answer(Verdict.NEVER, 0, str(error))


def _end(due: DueWord, text: str, now: int) -> None:
    """No more tries, with a line in the history of the order."""
    with transaction.atomic():
        runs.lock_run(due.run_id)
        order = store.lock(due.run_id, due.order_id)
        if order is not None:
            store.note(order, at_ns=now, actor=SYSTEM.name, why=text)
        words_store.end(due)
