"""429 for logs: checkpoints behind them pass, order and batches are kept, also over a restart."""

import json
import threading
from dataclasses import dataclass, field

import pytest

from tests.agents import limits
from workers.tailer.followed import Place
from workers.tailer.frames import Content, pack
from workers.tailer.sender import Sender
from workers.tailer.server import Answer, Verdict
from workers.tailer.spool import Spool


def add(spool, endpoint, number):
    place = Place(inode=1, offset=number, generation=0)
    content = Content(endpoint, {"n": number}, [], 0)
    spool.add(pack("r", content, {f"/{endpoint}": place}))


@dataclass
class FullServer:
    """Refuses logs with 429 until `open`; keeps what it took."""

    open: bool = False
    wait_s: float = 0.05
    taken: list = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)

    def send(self, path, batch_id, body):
        if path.endswith("/logs") and not self.open:
            self.asked.set()
            return Answer(Verdict.LATER, 429, "the log store is full", wait_s=self.wait_s)
        self.taken.append(batch_id)
        return Answer(Verdict.TAKEN, 202, "")


@pytest.fixture
def spool(tmp_path):
    spool = Spool(tmp_path)
    for number, endpoint in enumerate(["logs", "checkpoints", "logs", "wandb", "checkpoints"]):
        add(spool, endpoint, number)
    return spool


def ids(folder):
    metas = [json.loads(path.read_bytes().split(b"\n")[0]) for path in sorted(folder.glob("*"))]
    return [(meta["endpoint"], meta["batch_id"]) for meta in metas]


def until(true):
    """Waits for the sender's thread."""
    for _ in range(2_000):
        if true():
            return
        threading.Event().wait(0.005)
    raise AssertionError("waited in vain")


def test_what_is_behind_the_logs_passes_and_they_follow_in_order(spool, tmp_path):
    sent = ids(tmp_path / "spool")
    server = FullServer()
    sender = Sender(spool, server, limits(), patient=True)
    sender.start()
    until(lambda: spool.size()[0] == 2)
    assert server.taken == [name for endpoint, name in sent if endpoint != "logs"]
    assert "429: the log store is full" in sender.sent.error
    assert [endpoint for endpoint, _ in ids(tmp_path / "spool")] == ["logs", "logs"]
    server.open = True
    until(lambda: len(server.taken) == 5)
    until(lambda: spool.size() == (0, 0))
    assert sender.stop(2.0)
    assert server.taken[3:] == [name for endpoint, name in sent if endpoint == "logs"]
    assert sender.sent.error == ""


def test_the_next_agent_sends_what_stayed_behind_and_goes_on_at_its_places(spool, tmp_path):
    for _ in range(3):
        spool.done(spool.head(0, skip={"logs"}))
    again = Spool(tmp_path)
    assert [entry.meta.endpoint for entry in again._entries] == ["logs", "logs"]
    assert {path: place.offset for path, place in again.places().items()} == {
        "/logs": 2,
        "/checkpoints": 4,
        "/wandb": 3,
    }
    add(again, "logs", 9)
    assert [entry.meta.number for entry in again._entries] == [0, 2, 5]


def test_a_state_folder_of_an_older_agent_is_read(tmp_path):
    place = {"inode": 1, "offset": 7, "generation": 0}
    line = {"version": 1, "next_number": 3, "places": {"/logs": place}}
    (tmp_path / "places.jsonl").write_text(json.dumps(line) + "\n")
    spool = Spool(tmp_path)
    add(spool, "logs", 9)
    assert spool.head(0).meta.number == 3
    assert Spool(tmp_path).places()["/logs"].offset == 9


def test_a_one_time_transfer_waits_at_its_place(spool):
    server = FullServer(wait_s=0.01)
    sender = Sender(spool, server, limits(give_up_s=0.05), patient=False)
    sender.start()
    until(lambda: sender.failure is not None)
    assert server.taken == []
    assert "the log store is full" in str(sender.failure)
