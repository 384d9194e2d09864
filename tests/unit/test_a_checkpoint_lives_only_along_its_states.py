import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.lifecycle import (
    GONE,
    OPEN,
    PRESENT,
    Event,
    State,
    after,
    event_of,
    gone_as,
    level_after,
    overdue,
)

_states, _events, _levels = (st.sampled_from(kind) for kind in (State, Event, Level))
MINUTE = 60 * 10**9


@given(_states, _events)
def test_the_same_event_again_says_nothing_new(state, event):
    once = after(state, event)
    assert after(once, event) is once


@given(_states.filter(PRESENT.__contains__), st.lists(_events))
def test_what_was_committed_is_never_taken_for_a_save_under_way(state, events):
    seen = [state := after(state, event) for event in events if event is not Event.REQUESTED]
    assert not OPEN & set(seen)


@given(_states, _events)
def test_only_two_events_take_a_checkpoint_away(state, event):
    became = after(state, event)
    taken = became in GONE and became is not state
    assert not taken or event in (Event.DELETED, Event.VANISHED)


@given(_states)
def test_what_is_seen_committed_is_there(state):
    assert after(state, Event.COMMITTED) in PRESENT


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ("written committed verified", "verified"),
        ("written overdue", "failed"),
        ("written overdue committed", "committed"),
        ("written vanished", "failed"),
        ("committed vanished committed", "committed"),
        ("committed vanished deleted", "deleted"),
        ("verified written overdue", "verified"),
        ("overdue requested written", "committing"),
    ],
)
def test_a_life_is_told_by_its_events(events, end):
    state = State.REQUESTED
    for event in events.split():
        state = after(state, Event(event))
    assert state.value == end


@given(_levels, _levels)
def test_the_level_falls_only_where_damage_was_seen(known, seen):
    order = list(Level)
    assert order.index(level_after(known, seen, whole=True)) >= order.index(known)
    assert level_after(known, seen, whole=False) is seen


@given(_levels, st.booleans())
def test_only_files_without_their_marker_are_taken_for_a_save_under_way(level, hurt):
    under_way = event_of(level, hurt=hurt) is Event.WRITTEN
    assert under_way is (hurt and level is Level.LISTED)


@pytest.mark.parametrize(
    ("minutes", "usual_s", "late"),
    [(0.9, None, False), (1.1, None, True), (5, 120, False), (7, 120, True)],
)
def test_a_save_is_overdue_after_three_usual_ones(minutes, usual_s, late):
    assert overdue(0, int(minutes * MINUTE), usual_s, factor=3.0, floor_s=60.0) is late


@pytest.mark.parametrize(
    ("step", "left", "kept", "event", "words"),
    [
        (100, [200, 300], False, Event.DELETED, "a rotation, it seems"),
        (100, [200, 300], True, Event.VANISHED, "marked to be kept"),
        (100, [200], False, Event.VANISHED, "only 1 complete one is there"),
        (100, [], False, Event.VANISHED, "no other complete one is there"),
        (300, [100, 200], False, Event.VANISHED, "2 older complete ones are still there"),
    ],
)
def test_only_the_oldest_of_several_is_taken_for_rotated(step, left, kept, event, words):
    found, why = gone_as(step, left, kept=kept)
    assert (found, words in why) == (event, True)
