"""core.bodies.Places"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.core import bodies
from apps.core.bodies import NoPlace, Places


def test_who_keeps_pace_is_waited_for():
    places = Places(1)
    held = places.take()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(places.take)
        assert not waiting.done()
        places.leave(held)
        assert waiting.result(10) is not held


def test_a_thousand_senders_that_keep_pace_all_find_a_place():
    places = Places(2)

    def one(_):
        places.leave(places.take())

    with ThreadPoolExecutor(16) as pool:
        assert len(list(pool.map(one, range(1_000)))) == 1_000


def test_nobody_waits_for_those_that_stall(monkeypatch):
    monkeypatch.setattr(bodies, "STALLED_S", 0.0)
    places = Places(2)
    held = [places.take() for _ in range(2)]
    with pytest.raises(NoPlace):
        places.take()
    places.leave(held[0])
    places.take()


def test_patience_ends(monkeypatch):
    monkeypatch.setattr(bodies, "STALLED_S", 60.0)
    monkeypatch.setattr(bodies, "PATIENCE_S", 0.01)
    places = Places(1)
    places.take()
    with pytest.raises(NoPlace):
        places.take()
