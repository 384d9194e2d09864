"""The worker's side: take what is due from the outbox, hand it over, record that it is sent."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.db import transaction

from apps.alerts import aside, delivering, mailing, services, store
from apps.alerts.domain import flow, timing
from apps.alerts.domain.bundle import Bundle, subject_to_keep
from apps.alerts.domain.flow import FlowPolicy, Letter, Parcel
from apps.alerts.domain.mail import MailFacts
from apps.alerts.domain.message import ASIDE, OPENERS
from apps.alerts.domain.note import note_of_all
from apps.alerts.domain.routing import channel_id
from apps.alerts.mailing import Advise, Candidates, Lookups, no_advice
from apps.alerts.store import Claimed
from apps.alerts.transports.email.transport import (
    DEFAULT_RETRY,
    SMTP_ANSWERS,
    MailSession,
    RetryPolicy,
)
from apps.core.clock import now_ns as clock_ns
from apps.incidents import store as incidents

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SendPolicy:
    """How messages are handed over.

    retry: at once; when that fails the message waits backoff_s * 2^tries, at most backoff_max_s.
    lease_s: how long a claim holds, renewed before each try; longer than the slowest try, because
    after it another worker sends the message. limit, budget_s: mails and time of one call, so
    that a mail server that is away does not keep a worker from its other jobs. flow: which
    messages share a mail.
    """

    retry: RetryPolicy = DEFAULT_RETRY
    backoff_s: float = 15.0
    backoff_max_s: float = 3600.0
    lease_s: float = 180.0
    limit: int = 100
    budget_s: float = 60.0
    flow: FlowPolicy = field(default_factory=lambda: FlowPolicy(cap=settings.ALERT_MAILS_PER_HOUR))

    @property
    def lease_ns(self) -> int:
        """The lease, whatever time-out is set for the mail server."""
        slowest_s = (SMTP_ANSWERS + 1) * float(settings.EMAIL_TIMEOUT or 0)
        return timing.ns(max(self.lease_s, slowest_s))


def send_due(
    candidates: Candidates,
    *,
    advise: Advise = no_advice,
    clock: Callable[[], int] = clock_ns,
    policy: SendPolicy | None = None,
) -> int:
    """Send what is due, oldest first; how many mails were sent.

    candidates, advise: see `mailing.Lookups`; passed in because rollbacks lie above alerts.
    Every message is claimed and committed before it is sent. A worker that dies after the mail
    server's answer and before the commit of "sent" (one statement) makes another worker send it
    again when the claim runs out: at least once, with the same Message-ID and Date, so that
    receivers that fold doubles show one. About 0.2 s a mail, most of it the picture.
    """
    sending = policy or SendPolicy()
    with MailSession() as session:
        worker = _Worker(Lookups(candidates, advise), clock, sending, session)
        sent, end_ns = 0, clock() + timing.ns(sending.budget_s)
        for _ in range(sending.limit):
            now_ns = clock()
            claimed = store.claim(now_ns, sending.lease_ns, 1) if now_ns < end_ns else []
            if not claimed:
                break
            sent += worker.serve(claimed[0])
    return sent


@dataclass(frozen=True, slots=True)
class _Worker:
    above: Lookups
    clock: Callable[[], int]
    policy: SendPolicy
    session: MailSession

    def serve(self, first: Claimed) -> bool:
        """Whether a mail went out; whatever happens, every claim is settled."""
        batch = [first]
        try:
            if not self._wanted(first):
                return False
            parcel = self._parcel(first)
            if parcel.hold_ns is not None:
                store.hold(first, parcel.hold_ns)
                return False
            if first.kind in ASIDE:
                return self._deliver_aside(first)
            batch += self._further(first, parcel.others)
            told = self._deliver(batch, parcel)
        except delivering.Never as error:
            log.warning("alerts.failed", extra={"address": first.address, "why": error.message})
            for claimed in batch:
                store.mark_failed(claimed, error.message)
            return False
        except delivering.NotNow as error:
            log.warning("alerts.not_now", extra={"address": first.address, "why": error.message})
            self._put_back(batch, error.message, error.wait_s or 0.0)
            return False
        except Exception as error:
            log.exception("alerts.send_failed", extra={"address": first.address})
            self._put_back(batch, f"{type(error).__name__}: {error}")
            return False
        self._follow(told)
        return True

    def _wanted(self, claimed: Claimed) -> bool:
        """Whether it may go out now; if not, it is withdrawn or put off."""
        if claimed.kind in ASIDE:
            return True
        found = incidents.get_many(claimed.address.run_id, [claimed.address.incident_id])
        now_ns = self.clock()
        ready_ns = timing.ready_ns(claimed.kind, found[0], now_ns) if found else None
        if ready_ns is None:
            store.mark_withdrawn(claimed)
        elif ready_ns > now_ns:
            store.hold(claimed, ready_ns)
        return ready_ns is not None and ready_ns <= now_ns

    def _parcel(self, first: Claimed) -> Parcel:
        """What goes with it. Of channels only those that people read share, and have no cap: a
        chat is nobody's inbox."""
        now_ns, to = self.clock(), first.address.recipient
        channel, policy = channel_id(to), self.policy.flow
        if channel is not None:
            if not delivering.shares(channel):
                return Parcel()
            policy = replace(policy, cap=0)
        letters = store.letters(to, now_ns)
        told = store.told(to, now_ns - timing.HOUR_NS)
        return flow.pack(_letter(first), letters, told, now_ns, policy)

    def _further(self, first: Claimed, letters: Sequence[Letter]) -> list[Claimed]:
        if not letters:
            return []
        taken = store.claim_with(first, letters, self.clock(), self.policy.lease_ns)
        return [claimed for claimed in taken if self._wanted(claimed)]

    def _deliver(self, batch: list[Claimed], parcel: Parcel) -> list[tuple[Claimed, MailFacts]]:
        """Hands the mail over and records it; what each message of the batch said."""
        now_ns = self.clock()
        above = self.above if len(batch) == 1 else mailing.NO_LOOKUPS
        told = [(claimed, self._facts(claimed, above, now_ns)) for claimed in batch]
        bundle = Bundle(tuple(facts for _, facts in told), parcel.why, parcel.last_until_ns)
        channel = channel_id(batch[0].address.recipient)
        if channel is not None:
            delivering.send(channel, note_of_all(bundle), batch[0].planned_at_ns)
        else:
            self.session.hand_over(
                mailing.build(bundle), self.policy.retry, before_retry=lambda: self._renew(batch)
            )
        self._record(told, subject_to_keep(bundle))
        return told

    def _deliver_aside(self, claimed: Claimed) -> bool:
        """A mail about no incident; one that has nothing left to tell is withdrawn."""
        made = aside.build(claimed, self.clock())
        if made is None:
            store.mark_withdrawn(claimed)
            return False
        renew = functools.partial(self._renew, [claimed])
        self.session.hand_over(made, self.policy.retry, before_retry=renew)
        store.mark_sent(claimed, str(made.subject), self.clock())
        return True

    def _facts(self, claimed: Claimed, above: Lookups, now_ns: int) -> MailFacts:
        (incident,) = incidents.get_many(claimed.address.run_id, [claimed.address.incident_id])
        return mailing.facts(claimed, incident, above, now_ns)

    def _record(self, told: Sequence[tuple[Claimed, MailFacts]], subject: str) -> None:
        """All of the batch are told, in one transaction: nothing else lies between the answer of
        the mail server and this commit."""
        now_ns = self.clock()
        with transaction.atomic():
            for number, (claimed, facts) in enumerate(told):
                mark = store.mark_told_too if number else store.mark_sent
                mark(claimed, subject, now_ns)
                if claimed.kind in OPENERS and facts.over:
                    store.mark_folded(claimed.address, claimed.seq, now_ns)

    def _follow(self, told: Sequence[tuple[Claimed, MailFacts]]) -> None:
        """Plan what follows from it. Should that fail, it still counts as sent and the periodic
        scan plans again."""
        for claimed, _ in told:
            services.plan_again(claimed.address, self.clock())

    def _renew(self, batch: Sequence[Claimed]) -> None:
        until_ns = self.clock() + self.policy.lease_ns
        for claimed in batch:
            store.renew(claimed, until_ns)

    def _put_back(self, batch: Sequence[Claimed], error: str, wait_s: float = 0.0) -> None:
        """Try again later; wait_s: as long as the receiver asks for, at least."""
        for claimed in batch:
            tries = min(claimed.tries, 30)
            backoff_s = min(self.policy.backoff_s * 2.0**tries, self.policy.backoff_max_s)
            due_ns = self.clock() + timing.ns(max(backoff_s, wait_s))
            store.put_back(claimed, due_ns, error)


def _letter(claimed: Claimed) -> Letter:
    return Letter(
        claimed.address.run_id,
        claimed.address.incident_id,
        claimed.kind,
        claimed.seq,
        claimed.urgent,
        claimed.due_at_ns,
        claimed.planned_at_ns,
    )
