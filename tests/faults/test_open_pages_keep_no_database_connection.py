"""The event process, with more pages opened at once than Postgres has connections."""

import asyncio

import httpx
import psycopg
import pytest

from apps.dashboard.live_sessions import CHECKS_AT_ONCE

PAGES = 400
WITHIN_S = 60


@pytest.fixture
def events_port(stack):
    yield stack.start_events()
    stack.kill("events")


def connections(stack):
    """Connections to Postgres, those of this question not counted."""
    with psycopg.connect(stack.env["DATABASE_URL"]) as asking:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        return asking.execute(sql).fetchone()[0] - 1


async def opened(port, cookie):
    """An open page: its connection, and the first words of the answer through the greeting."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
    writer.write(head.encode())
    return await asyncio.wait_for(reader.readuntil(b"\n\n"), WITHIN_S), writer


def test_pages_that_open_at_once(stack, events_port):
    cookie, before = stack.cookie(), connections(stack)

    async def all_of_them():
        pages = await asyncio.gather(*(opened(events_port, cookie) for _ in range(PAGES)))
        held = await asyncio.to_thread(connections, stack)
        threads = await asyncio.to_thread(stack.threads, "events")
        [writer.close() for _, writer in pages]
        return [said for said, _ in pages], held, threads

    said, held, threads = asyncio.run(all_of_them())
    assert [b"event: hello" in words for words in said] == [True] * PAGES
    assert held - before <= CHECKS_AT_ONCE
    assert threads < 60


def test_strangers_hear_nothing(events_port):
    answer = httpx.get(
        f"http://127.0.0.1:{events_port}/events",
        headers={"Cookie": "lastgood_session=x"},
        timeout=WITHIN_S,
    )
    assert answer.status_code == 401
