"""apps.dashboard.live: whoever was shut out or signed out hears no more."""

import asyncio

import pytest

from apps.dashboard import live

ADA, BOB = 1, 2
NEWS = {"run": "a", "step": 1, "what": ["metrics"]}


class Sessions:
    """Looks at sessions that count themselves; a test says what they find."""

    def __init__(self):
        self.found, self.looks = ADA, 0

    async def person(self, key):
        self.looks += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def sessions(monkeypatch):
    made = Sessions()
    monkeypatch.setattr(live, "sessions", made)
    return made


@pytest.fixture
def told(sessions, monkeypatch):
    """told(page, *messages): what a page of ada hears of them; None where its stream ended."""
    hub = live.Hub()
    monkeypatch.setattr(hub, "join", hub.listeners.add)
    monkeypatch.setattr(live, "hub", hub)
    hub._heard({"type": "subscribe"})

    async def story(page, messages):
        stream = live._stream(page)
        await anext(stream)
        for listener in hub.listeners:
            [listener.add(message) for message in messages]
        heard = await anext(stream, None)
        await stream.aclose()
        return heard

    return lambda page, *messages: asyncio.run(story(page, messages))


@pytest.fixture
def page():
    return live.Listener("", "the key", ADA)


def test_a_word_about_its_person_ends_it_before_anything_else_is_told(told, sessions, page):
    sessions.found = None
    assert told(page, {"person": ADA}, NEWS) is None


def test_another_session_of_that_person_goes_on(told, sessions, page):
    assert b"changed" in told(page, {"person": ADA}, NEWS)
    assert (sessions.looks, page.doubted) == (1, False)


def test_a_word_about_somebody_else_costs_no_look(told, sessions, page):
    assert b"changed" in told(page, {"person": BOB}, NEWS)
    assert sessions.looks == 0


def test_a_session_whose_cookie_is_another_persons_now_ends(told, sessions, page):
    sessions.found = BOB
    assert told(page, {"person": ADA}) is None


@pytest.mark.parametrize(("found", "ends"), [(ADA, False), (None, True)])
def test_it_is_looked_at_now_and_then_without_any_word(told, sessions, page, found, ends):
    page.looked_s -= live.LOOK_S
    sessions.found = found
    assert (told(page, NEWS) is None) is ends
    assert sessions.looks == 1


@pytest.mark.parametrize("messages", [[{"person": ADA}, NEWS], [NEWS]], ids=["in doubt", "not"])
def test_while_nobody_can_say_only_a_stream_in_doubt_ends(told, sessions, page, messages):
    page.looked_s -= live.LOOK_S
    sessions.found = live.Busy()
    assert (told(page, *messages) is None) is (len(messages) == 2)


def test_after_a_gap_in_what_was_heard_every_session_is_looked_at(page):
    hub = live.Hub()
    hub.listeners = {page}
    hub._heard({"type": "subscribe"})
    assert not page.doubted
    hub._heard({"type": "subscribe"})
    assert page.doubted
