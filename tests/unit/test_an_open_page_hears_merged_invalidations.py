import asyncio
import threading
from unittest.mock import AsyncMock, MagicMock

import pytest
import redis.asyncio
from django.db import OperationalError
from django.test import RequestFactory, override_settings

from apps.dashboard import live, live_sessions


def listener(run=""):
    return live.Listener(run)


def test_messages_of_one_run_become_one():
    page = listener("a")
    page.add({"run": "a", "step": 1, "what": ["metrics"]})
    page.add({"run": "a", "step": 2, "what": ["logs"]})
    assert page.take() == {"run": "a", "step": 2, "what": ["logs", "metrics"]}
    assert (page.take()["what"], page.wake.is_set()) == ([], False)


def test_a_page_of_all_runs_hears_once_however_many_changed():
    page = listener()
    for number in range(500):
        page.add({"run": f"r{number}", "step": number, "what": ["metrics"]})
    assert page.take() == {"run": "*", "step": None, "what": ["metrics"]}


def test_a_page_of_one_run_hears_only_of_that_run():
    page = listener("a")
    page.add({"run": "b", "step": 1, "what": ["metrics"]})
    assert (page.take()["what"], page.wake.is_set()) == ([], False)


@pytest.fixture
def hub(monkeypatch):
    """A hub of its own, whose subscription is what the test says."""
    made = live.Hub()
    monkeypatch.setattr(made, "join", lambda _: None)
    monkeypatch.setattr(live, "hub", made)
    return made


@pytest.fixture
def subscribed(hub):
    hub._heard({"type": "subscribe"})


def test_a_page_is_greeted_once_it_hears_of_changes(hub):
    async def story():
        stream = live._stream(listener())
        hello = asyncio.ensure_future(anext(stream))
        done, _ = await asyncio.wait([hello], timeout=0.05)
        hub._heard({"type": "subscribe"})
        said = await hello
        await stream.aclose()
        return done, said

    early, hello = asyncio.run(story())
    assert early == set()
    assert b"event: hello\n" in hello


def test_a_page_is_greeted_while_valkey_is_away(hub, monkeypatch):
    monkeypatch.setattr(live, "READY_S", 0.01)

    async def first():
        stream = live._stream(listener())
        hello = await anext(stream)
        await stream.aclose()
        return hello

    assert b"event: hello\n" in asyncio.run(first())


def test_a_page_that_was_greeted_too_early_looks_again(hub, monkeypatch):
    monkeypatch.setattr(live, "READY_S", 0.01)
    page = listener("a")
    hub.listeners = {page}

    async def greeted():
        stream = live._stream(page)
        await anext(stream)
        hub._heard({"type": "subscribe"})
        await stream.aclose()

    asyncio.run(greeted())
    assert page.take()["what"] == ["everything"]


def test_the_stream_greets_then_tells(subscribed):
    async def first_two():
        page = listener("a")
        stream = live._stream(page)
        hello = await anext(stream)
        page.add({"run": "a", "step": 1, "what": ["metrics"]})
        told = await anext(stream)
        await stream.aclose()
        return hello, told

    hello, told = asyncio.run(first_two())
    assert hello.startswith(b"retry: ") and b'event: hello\ndata: {"quiet_ms":' in hello
    assert told == b'event: changed\ndata: {"run":"a","step":1,"what":["metrics"]}\n\n'


def test_a_quiet_stream_still_beats(subscribed, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.01)

    async def second():
        stream = live._stream(listener())
        await anext(stream)
        return await anext(stream)

    assert asyncio.run(second()) == b"event: beat\ndata: {}\n\n"


def test_a_message_without_a_step_leaves_the_step_that_is_known():
    page = listener("a")
    page.add({"run": "a", "step": 7, "what": ["metrics"]})
    page.add({"run": "a", "step": None, "what": ["incidents"]})
    assert page.take() == {"run": "a", "step": 7, "what": ["incidents", "metrics"]}


def test_who_subscribes_again_may_have_missed_anything():
    hub, one, every = live.Hub(), listener("a"), listener()
    hub.listeners = {one, every}
    hub._heard({"type": "subscribe"})
    assert not one.wake.is_set() and not every.wake.is_set()
    hub._heard({"type": "subscribe"})
    assert one.take() == {"run": "a", "step": None, "what": ["everything"]}
    assert every.take() == {"run": "*", "step": None, "what": ["everything"]}


@pytest.fixture
def clock(monkeypatch):
    """clock[0]: seconds of the monotonic clock."""
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    return now


def test_a_page_is_told_for_how_long_nothing_of_its_run_changed(clock):
    hub = live.Hub()
    hub._heard({"type": "subscribe"})
    for at_s, run in ((101.0, "a"), (103.0, "b"), (104.5, "c")):
        clock[0] = at_s
        hub._heard({"type": "message", "data": f'{{"run": "{run}", "step": 1, "what": []}}'})
    hub._heard({"type": "message", "data": '{"person": 7}'})
    clock[0] = 105.0
    assert [hub.past.quiet_ms(run) for run in ("a", "b", "new", "")] == [4000, 2000, 5000, 500]
    hub._heard({"type": "subscribe"})
    assert hub.past.quiet_ms("a") == 0


def test_of_runs_that_were_forgotten_nothing_is_known_longer_than_that(clock, monkeypatch):
    monkeypatch.setattr(live, "MOST_RUNS", 2)
    past = live.Past()
    for at_s, run in ((101.0, "a"), (102.0, "b"), (103.0, "a"), (104.0, "c"), (105.0, "d")):
        clock[0] = at_s
        past.add(run)
    assert [past.quiet_ms(run) for run in "abcd"] == [2000, 2000, 1000, 0]


PONG, NOTHING = {"type": "pong"}, None


@pytest.mark.parametrize(
    ("heard", "ends"),
    [
        ([NOTHING, PONG, NOTHING, PONG], "the test ends"),
        ([NOTHING, NOTHING], "Valkey says nothing"),
    ],
)
def test_a_quiet_subscription_is_kept_as_long_as_it_answers(heard, ends, monkeypatch):
    channel = AsyncMock()
    channel.get_message.side_effect = [{"type": "subscribe"}, *heard, redis.ResponseError(ends)]
    client = MagicMock()
    client.pubsub.return_value.__aenter__.return_value = channel
    monkeypatch.setattr(redis.asyncio.Redis, "from_url", lambda *_, **__: client)
    with pytest.raises(redis.RedisError, match=ends):
        asyncio.run(live.Hub()._listen())


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://site.example:8000", "http://site.example:8000"),
        ("https://pages.example", "https://pages.example"),
        ("http://site.example:9000", ""),
        ("http://evil.example:8000", ""),
        ("null", ""),
        ("http://[::site.example", ""),
        ("https://site.example:99999", ""),
        ("", ""),
    ],
)
@override_settings(PORT=8000, PUBLIC_URL="https://pages.example", ALLOWED_HOSTS=["site.example"])
def test_only_pages_of_this_site_may_listen(origin, allowed):
    headers = {"HTTP_ORIGIN": origin} if origin else {}
    request = RequestFactory().get("/events", HTTP_HOST="site.example:8001", **headers)
    assert live._allowed_origin(request) == allowed


def ask():
    return asyncio.run(live.events(RequestFactory().get("/events")))


@pytest.fixture
def sessions(monkeypatch):
    monkeypatch.setattr(live, "sessions", live_sessions.Sessions())


def test_a_page_is_told_to_come_back_when_too_many_wait(sessions, monkeypatch):
    monkeypatch.setattr(live_sessions, "MOST_WAITING", 0)
    answer = ask()
    assert (answer.status_code, int(answer["Retry-After"]) > 1) == (503, True)


def test_a_page_is_told_to_come_back_when_its_session_is_not_found_in_time(sessions, monkeypatch):
    late = threading.Event()
    monkeypatch.setattr(live_sessions, "_person", lambda _: late.wait(10))
    monkeypatch.setattr(live_sessions, "CHECK_S", 0.01)
    try:
        assert ask().status_code == 503
    finally:
        late.set()


def test_a_page_is_told_to_come_back_when_postgres_is_away(sessions, monkeypatch):
    def away(_):
        raise OperationalError("too many clients")

    monkeypatch.setattr(live_sessions, "_person", away)
    assert ask().status_code == 503


def test_a_stream_ends_so_that_the_session_is_looked_at_again(subscribed, monkeypatch):
    monkeypatch.setattr(live, "STREAM_S", 0.0)

    async def whole():
        return [words async for words in live._stream(listener())]

    assert len(asyncio.run(whole())) == 1
