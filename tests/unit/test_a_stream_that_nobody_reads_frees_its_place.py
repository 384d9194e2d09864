"""core.places: Places, Held"""

import pytest

from apps.core.places import Held, Places


@pytest.fixture
def one():
    return Places(1)


def started(places, ended):
    def parts():
        try:
            yield b"a"
            yield b"b"
        finally:
            ended.append(True)

    return Held(parts(), places.take())


def test_a_stream_that_was_never_begun(one):
    held = started(one, [])
    assert one.take() is None
    held.close()
    assert one.take() is not None


def test_a_stream_that_was_left_in_the_middle_ends_its_search(one):
    ended = []
    held = started(one, ended)
    assert next(iter(held)) == b"a"
    held.close()
    assert ended == [True]
    assert one.take() is not None


def test_a_place_is_given_back_once(one):
    held = started(one, [])
    assert b"".join(held) == b"ab"
    held.close()
    assert one.take() is not None
    assert one.take() is None
