"""alerts.domain.flow: the cap, storms of one run, warnings together."""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from apps.alerts.domain.flow import FlowPolicy, Letter, Parcel, Told, Why, pack
from apps.alerts.domain.message import Kind
from apps.alerts.domain.timing import HOUR_NS
from tests.incident_samples import SECOND, T0

MINUTE = 60 * SECOND


def letter(incident=1, run=1, kind=Kind.OPENING, *, urgent=True, due=T0):
    return Letter(run, incident, kind, 0, urgent, due, due)


def opened(ago, run=1, *, folded=False):
    return Told(run, Kind.OPENING, T0 - ago, folded)


def test_a_page_goes_out_alone_and_at_once():
    assert pack(letter(), [letter(2, run=2)], [], T0) == Parcel()


def test_warnings_of_the_last_minutes_share_a_mail_though_they_are_not_due_yet():
    later = letter(2, urgent=False, due=T0 + 4 * MINUTE)
    page, end = letter(3), letter(4, kind=Kind.CLOSING, urgent=False, due=T0 + MINUTE)
    parcel = pack(letter(urgent=False), [later, page, end], [], T0)
    assert parcel == Parcel(why=Why.WARNINGS, others=(later,))


def test_the_sixth_incident_of_a_run_within_two_minutes_waits_and_shares_a_mail():
    five = [opened(n * SECOND) for n in (90, 80, 70, 60, 50)]
    assert pack(letter(6), [], five, T0).hold_ns == T0 + 2 * MINUTE
    seventh = letter(7)
    late = pack(letter(6), [seventh], five, T0 + 2 * MINUTE)
    assert late == Parcel(why=Why.STORM, others=(seventh,))


def test_six_incidents_of_a_run_at_once_are_one_mail_at_once():
    others = [letter(n) for n in range(2, 7)]
    assert pack(letter(), others, [], T0) == Parcel(why=Why.STORM, others=tuple(others))


def test_five_incidents_or_those_of_other_runs_are_no_storm():
    assert pack(letter(), [letter(n) for n in range(2, 6)], [], T0) == Parcel()
    assert pack(letter(), [letter(n, run=n) for n in range(2, 9)], [], T0) == Parcel()


def test_the_twentieth_mail_of_an_hour_holds_what_waits_and_says_that_it_is_the_last():
    told = [opened(n * MINUTE, run=n) for n in range(1, 20)]
    more = letter(2, run=99)
    parcel = pack(letter(), [more], told, T0)
    assert parcel == Parcel(why=Why.CAP, others=(more,), last_until_ns=T0 - 19 * MINUTE + HOUR_NS)


def test_the_next_one_waits_until_the_first_of_them_is_an_hour_old():
    told = [opened(n * MINUTE, run=n) for n in range(1, 21)]
    assert pack(letter(), [], told, T0).hold_ns == T0 - 20 * MINUTE + HOUR_NS
    assert pack(letter(), [], told, T0, FlowPolicy(cap=0)) == Parcel()


def test_what_another_mail_said_too_is_no_mail():
    told = [opened(n * MINUTE, run=n, folded=True) for n in range(1, 30)]
    assert pack(letter(), [], told, T0) == Parcel()


@dataclass
class Person:
    """One person's letters, by the rules of `pack`: a worker looks whenever something is due."""

    policy: FlowPolicy
    waiting: dict[int, Letter] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    told_of: list[int] = field(default_factory=list)

    def look(self, now):
        for _ in range(200):
            due = sorted((w for w in self.waiting.values() if w.due_ns <= now), key=_age)
            if not due:
                return
            self.serve(due[0], now)
        raise AssertionError("a worker never comes to an end")

    def serve(self, first, now):
        rest = [w for w in self.waiting.values() if w is not first]
        recent = [t for t in self.told if t.told_ns > now - HOUR_NS]
        parcel = pack(first, rest, recent, now, self.policy)
        if parcel.hold_ns is not None:
            assert parcel.hold_ns > now
            self.waiting[first.incident_id] = replace(first, due_ns=parcel.hold_ns)
            return
        for number, sent in enumerate((first, *parcel.others)):
            del self.waiting[sent.incident_id]
            self.told.append(Told(sent.run_id, sent.kind, now, number > 0))
            self.told_of.append(sent.incident_id)


def _age(letter):
    return letter.due_ns, letter.incident_id


ARRIVALS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 3), st.booleans()), min_size=1, max_size=60
)


@given(ARRIVALS, st.integers(1, 6), st.integers(1, 4))
def test_everybody_is_told_everything_once_and_never_more_often_than_the_cap(arrivals, cap, storm):
    person, now = Person(FlowPolicy(cap=cap, storm=storm)), T0
    for number, (pause_s, run, urgent) in enumerate(arrivals):
        now += pause_s * SECOND
        due = now if urgent else now + 5 * MINUTE
        person.waiting[number] = Letter(run, number, Kind.OPENING, 0, urgent, due, now)
        person.look(now)
    for _ in range(2 * len(arrivals) + 2):
        now = max([now, *(w.due_ns for w in person.waiting.values())])
        person.look(now)
    assert sorted(person.told_of) == list(range(len(arrivals)))
    mails = [t.told_ns for t in person.told if not t.folded]
    assert all(b - a >= HOUR_NS for a, b in zip(mails, mails[cap:], strict=False))


@given(ARRIVALS)
def test_nobody_waits_longer_than_two_minutes_for_a_page_below_the_cap(arrivals):
    person, now = Person(FlowPolicy(cap=0)), T0
    for number, (pause_s, run, _) in enumerate(arrivals):
        now += pause_s * SECOND
        person.waiting[number] = Letter(run, number, Kind.OPENING, 0, True, now, now)
        person.look(now)
    assert all(w.due_ns <= w.planned_ns + 2 * MINUTE for w in person.waiting.values())
