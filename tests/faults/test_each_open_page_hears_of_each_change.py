"""Dozens of pages on one event process: none is told twice, none misses what breaks in between."""

import asyncio
import json

import pytest
import redis

PAGES, MESSAGES = 40, 200
WITHIN_S = 60


@pytest.fixture
def valkey_client(stack):
    with redis.Redis.from_url(stack.env["REDIS_URL"]) as client:
        yield client


@pytest.fixture
def events_port(stack):
    yield stack.start_events()
    stack.kill("events")


def message(step):
    return json.dumps({"run": "watched", "step": step, "what": ["metrics"]})


def say(client, steps):
    """All at once, as busy writers do."""
    with client.pipeline() as together:
        for step in steps:
            together.publish("live", message(step))
        together.execute()


async def opened(port, cookie):
    """A page, once it was greeted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /events?run=watched HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
    writer.write(head.encode())
    await asyncio.wait_for(reader.readuntil(b"event: hello\n"), WITHIN_S)
    return reader, writer


async def told(reader, is_last):
    """What a page is told, up to the message that `is_last` knows."""
    heard = []
    while not heard or not is_last(heard[-1]):
        line = await asyncio.wait_for(reader.readline(), WITHIN_S)
        if line.startswith(b'data: {"run"'):
            heard.append(json.loads(line[6:]))
    return heard


def subscribed(client):
    return client.pubsub_numsub("live")[0][1] == 1


async def until_subscribed(client):
    for _ in range(WITHIN_S * 20):
        if await asyncio.to_thread(subscribed, client):
            return
        await asyncio.sleep(0.05)
    pytest.fail("the event process did not subscribe")


def test_each_page_is_told_once_and_many_changes_become_few_words(
    stack, events_port, valkey_client
):
    async def story():
        cookie = await asyncio.to_thread(stack.cookie)
        pages = await asyncio.gather(*(opened(events_port, cookie) for _ in range(PAGES)))
        await until_subscribed(valkey_client)
        await asyncio.to_thread(say, valkey_client, range(1, MESSAGES + 1))
        last = [told(reader, lambda one: one["step"] == MESSAGES) for reader, _ in pages]
        heard = await asyncio.gather(*last)
        [writer.close() for _, writer in pages]
        return heard

    for heard in asyncio.run(story()):
        steps = [one["step"] for one in heard]
        assert steps == sorted(set(steps))
        assert len(steps) < MESSAGES
        assert {(one["run"], *one["what"]) for one in heard} == {("watched", "metrics")}


def test_pages_ask_for_everything_when_the_subscription_broke(stack, events_port, valkey_client):
    async def story():
        reader, writer = await opened(events_port, await asyncio.to_thread(stack.cookie))
        await until_subscribed(valkey_client)
        await asyncio.to_thread(valkey_client.client_kill_filter, _type="pubsub")
        heard = await told(reader, lambda one: "everything" in one["what"])
        await until_subscribed(valkey_client)
        await asyncio.to_thread(say, valkey_client, [7])
        heard += await told(reader, lambda one: one["step"] == 7)
        writer.close()
        return heard

    assert asyncio.run(story())[-1]["step"] == 7
