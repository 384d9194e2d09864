"""apps.dashboard.live.Hub behind a connection that swallows what is sent: no end, no error."""

import asyncio
from urllib.parse import urlsplit

import pytest

from apps.core import live as words
from apps.dashboard import live

WITHIN_S = 60


class Swallower:
    """A way to Valkey that takes all bytes and passes none on, for the connections of before."""

    def __init__(self, url):
        self.to = urlsplit(url)
        self.alive = {}
        self.opened = 0
        self.writers = []

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        return self.to._replace(
            netloc=self.to.netloc.replace(str(self.to.port), str(port))
        ).geturl()

    async def _serve(self, reader, writer):
        self.opened += 1
        number = self.opened
        self.alive[number] = True
        there, back = await asyncio.open_connection(self.to.hostname, self.to.port)
        self.writers += [writer, back]
        ways = (self._pass(number, reader, back), self._pass(number, there, writer))
        await asyncio.gather(*ways, return_exceptions=True)

    async def _pass(self, number, reader, writer):
        while data := await reader.read(65536):
            if self.alive[number]:
                writer.write(data)
                await writer.drain()

    async def stop(self):
        self.server.close()
        [writer.close() for writer in self.writers]
        await asyncio.gather(*(one.wait_closed() for one in self.writers), return_exceptions=True)

    def swallow(self):
        self.alive = dict.fromkeys(self.alive, False)


async def until(true):
    async with asyncio.timeout(WITHIN_S):
        while not true():
            await asyncio.sleep(0.01)


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(live, "PING_S", 0.2)
    monkeypatch.setattr(live, "RETRY_S", 0.01)


def test_pages_hear_again_and_are_told_that_they_missed_something(valkey, hasty, settings):
    direct, page, hub = settings.REDIS_URL, live.Listener("a"), live.Hub()

    async def story():
        way = Swallower(direct)
        settings.REDIS_URL = await way.start()
        hub.join(page)
        await hub.ready()
        way.swallow()
        await until(lambda: "everything" in page.what)
        page.take()
        settings.REDIS_URL = direct
        async with asyncio.timeout(WITHIN_S):
            while page.step != 7:  # a word between two subscriptions is heard by nobody
                await asyncio.to_thread(words.publish, "a", step=7, what=["metrics"])
                await asyncio.sleep(0.01)
        hub.leave(page)
        await way.stop()
        return way.opened

    assert asyncio.run(story()) >= 2
