"""workers.listener.scraping: how many answers of how many bytes are held at once."""

import asyncio

import pytest

from apps.core.errors import AppError
from apps.ingest.nodes.sources import Source
from workers.listener import scraping
from workers.listener.fetching import MAX_BYTES, TooLarge

SMALL, LARGE = 1_000, scraping.SMALL_BYTES + 1


class Web:
    """Addresses that answer so many bytes. asked: address and most bytes of each request."""

    def __init__(self, sizes):
        self.sizes, self.asked = sizes, []

    async def fetch(self, url, way, params, most):
        self.asked.append((url, most))
        await asyncio.sleep(0)
        if self.sizes[url] > most:
            raise TooLarge("too large")
        return b"x" * self.sizes[url]


class Holder:
    """What is held from an answer until it is taken."""

    def __init__(self):
        self.now = self.most = self.taken = 0

    async def take(self, answer):
        self.now += len(answer.bodies)
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.taken += 1
        self.now -= len(answer.bodies)


def ask(monkeypatch, sizes, rounds=1):
    web, holder = Web(sizes), Holder()
    monkeypatch.setattr(scraping, "fetch", web.fetch)
    source = Source("exporters", "prometheus", list(sizes), verify=False)

    async def go():
        lanes = scraping.Lanes()
        for _ in range(rounds):
            await scraping.ask(source, lanes, holder.take)

    asyncio.run(go())
    return web, holder


def urls(count, size, path="metrics"):
    return {f"http://n{number}:9400/{path}": size for number in range(count)}


def test_small_answers_have_so_many_places(monkeypatch):
    _, holder = ask(monkeypatch, urls(500, SMALL))
    assert (holder.taken, holder.most) == (500, scraping.AT_ONCE)


@pytest.mark.parametrize("path", ["metrics", "federate"])
def test_large_answers_have_few(monkeypatch, path):
    _, holder = ask(monkeypatch, urls(20, LARGE, path))
    assert (holder.taken, holder.most) == (20, scraping.LARGE_AT_ONCE)


def test_a_large_answer_is_known_at_the_next_turn(monkeypatch):
    web, _ = ask(monkeypatch, urls(1, LARGE), rounds=2)
    assert [most for _, most in web.asked] == [scraping.SMALL_BYTES, MAX_BYTES, MAX_BYTES]


def test_what_is_too_large_for_anybody_is_said(monkeypatch):
    monkeypatch.setattr(scraping, "fetch", Web(urls(1, MAX_BYTES + 1)).fetch)
    said = []

    async def take(answer):
        said.append(answer.error)

    source = Source("exporters", "prometheus", list(urls(1, 0)), verify=False)
    asyncio.run(scraping.ask(source, scraping.Lanes(), take))
    assert said == ["n0:9400: too large"]


def test_what_cannot_be_kept_ends_the_turn(monkeypatch):
    monkeypatch.setattr(scraping, "fetch", Web(urls(9, SMALL)).fetch)

    async def take(answer):
        raise AppError("the stream is full")

    source = Source("exporters", "prometheus", list(urls(9, 0)), verify=False)
    with pytest.raises(AppError, match="the stream is full"):
        asyncio.run(scraping.ask(source, scraping.Lanes(), take))
