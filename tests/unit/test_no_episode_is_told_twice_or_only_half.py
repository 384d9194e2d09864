"""alerts.domain: whatever happens to an incident, its mails add up."""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apps.alerts.domain.message import DONE, OPENERS, Kind, Status
from apps.alerts.domain.timing import HOUR_NS
from apps.core.records import FindingSeverity
from apps.incidents.domain.incident import UNTIL_RESOLVED, IncidentState
from tests.incident_samples import SECOND, at, incident
from tests.outbox import Outbox

HOURS = 3600
SPANS = st.sampled_from([1, 4, 11, 45, 170, 301, 700, 3 * 900, HOURS + 1, 5 * HOURS])


class Incident(RuleBasedStateMachine):
    """An incident that ends, comes back, is silenced, taken over; a worker that is there or not."""

    def __init__(self):
        super().__init__()
        self.now = at(1003)
        self.info = incident()
        self.box = Outbox()
        self.worker = True
        self.told_while_silenced = []
        self.box.plan(self.info, self.now)

    def change(self, **fields):
        self.info = replace(self.info, **fields)
        self.box.plan(self.info, self.now)

    @rule(severity=st.sampled_from([FindingSeverity.PAGE, FindingSeverity.WARN]))
    @precondition(lambda self: not self.box.sent)
    def is_a(self, severity):
        self.change(severity=severity, page=severity is FindingSeverity.PAGE)

    @rule()
    @precondition(lambda self: not self.info.page and self.info.unresolved)
    def becomes_a_page(self):
        self.change(severity=FindingSeverity.PAGE, page=True)

    @rule(how=st.sampled_from(["closed", "manual", "recovered"]))
    @precondition(lambda self: self.info.unresolved)
    def ends(self, how):
        silent = self.info.silenced_until_ns
        self.change(
            state=IncidentState.RESOLVED,
            resolution=how,
            resolved_at_ns=self.now,
            silenced_until_ns=None if silent == UNTIL_RESOLVED else silent,
        )

    @rule()
    @precondition(lambda self: not self.info.unresolved)
    def comes_back(self):
        again = self.info.reopened + 1
        state = IncidentState.OPEN
        self.change(state=state, resolution="", resolved_at_ns=None, reopened=again)

    @rule(state=st.sampled_from([IncidentState.ACKNOWLEDGED, IncidentState.MITIGATED]))
    @precondition(lambda self: self.info.unresolved)
    def is_taken_over(self, state):
        self.change(state=state)

    @rule(span=st.one_of(SPANS, st.none()))
    @precondition(lambda self: self.info.unresolved)
    def is_silenced(self, span):
        until = UNTIL_RESOLVED if span is None else self.now + span * SECOND
        self.change(silenced_until_ns=until)

    @rule()
    def is_heard_again(self):
        self.change(silenced_until_ns=None)

    @rule()
    def worker_dies_or_comes_back(self):
        self.worker = not self.worker

    @rule(span=SPANS)
    def time_passes(self, span):
        for _ in range(3):
            self.now += span * SECOND // 3
            silenced = self.info.silenced(self.now)
            gone = self.box.turn(self.info, self.now) if self.worker else []
            self.told_while_silenced += gone if silenced else []

    @invariant()
    def deciding_twice_changes_nothing(self):
        copy = Outbox(messages=dict(self.box.messages))
        copy.plan(self.info, self.now)
        before = dict(copy.messages)
        copy.plan(self.info, self.now)
        assert copy.messages == before

    @invariant()
    def no_message_is_sent_twice(self):
        keys = [(kind, seq) for kind, seq, _ in self.box.sent]
        assert len(keys) == len(set(keys))

    @invariant()
    def nothing_is_sent_while_silenced(self):
        assert self.told_while_silenced == []

    @invariant()
    def openers_and_closings_alternate(self):
        told = sorted(
            (seq, kind is Kind.CLOSING)
            for (kind, seq), m in self.box.messages.items()
            if m.status in DONE and kind in (*OPENERS, Kind.CLOSING)
        )
        assert told == [(n // 2, n % 2 == 1) for n in range(len(told))]

    @invariant()
    def no_closing_comes_before_its_opening(self):
        when = {(kind in OPENERS, seq): told for kind, seq, told in self.box.sent}
        closings = [(seq, told) for kind, seq, told in self.box.sent if kind is Kind.CLOSING]
        assert all(when[True, seq] <= told for seq, told in closings)

    @invariant()
    def never_more_than_seven_openings_and_closings_in_an_hour(self):
        times = [t for kind, _, t in self.box.sent if kind in (*OPENERS, Kind.CLOSING)]
        assert all(b - a > HOUR_NS for a, b in zip(times, times[7:], strict=False))

    def teardown(self):
        """Let it end for good and wait: whoever was told of it is told of its end."""
        self.worker = True
        if self.info.unresolved:
            self.ends("closed")
        for _ in range(40):
            self.now += 1200 * SECOND
            self.box.turn(self.info, self.now)
        waiting = [m for m in self.box.messages.values() if m.status is Status.PENDING]
        told = [m for m in self.box.messages.values() if m.status in DONE]
        opened = sum(m.kind in OPENERS for m in told)
        assert waiting == []
        assert opened == sum(m.kind is Kind.CLOSING for m in told)


TestIncident = Incident.TestCase
TestIncident.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
