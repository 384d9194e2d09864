"""Senders for fault tests, and the proof that what they sent is there once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.faults.sender import KEYS, SOURCES, Sender
from tests.stack import Stack, until

ACCEPTED_BEFORE, ACCEPTED_AFTER = 10, 25


@contextmanager
def senders(stack: Stack) -> Iterator[Callable[[str], Sender]]:
    """Starts a sender for a run, and waits for its first accepted batches."""
    started = []

    def start(run: str) -> Sender:
        sender = Sender(stack.url, stack.token, run)
        started.append(sender)
        sender.start()
        until(lambda: len(sender.accepted) >= ACCEPTED_BEFORE, "the first accepted batches")
        return sender

    yield start
    for sender in started:
        sender.halt.set()
        sender.join(60)


def finish(stack: Stack, sender: Sender) -> None:
    """Lets the sender go on for a while, then waits until all it sent is written and analysed."""
    until(lambda: len(sender.accepted) >= ACCEPTED_AFTER, "batches accepted after the fault")
    sender.halt.set()
    sender.join(60)
    until(lambda: stack.drained(sender.run_key), "the writer to catch up")


def assert_exactly_once(stack: Stack, sender: Sender) -> None:
    steps = stack.steps_of(sender.run_key, KEYS)
    assert steps == {key: sorted(sender.accepted) for key in KEYS}
    lines = stack.line_steps_by_source(sender.run_key)
    assert lines == dict.fromkeys(SOURCES, sorted(sender.accepted))
    counted = stack.get(f"runs/{sender.run_key}/patterns")
    assert counted["lines"] == len(SOURCES) * len(sender.accepted)
    assert [one["text"] for one in counted["items"]] == ["train: step <num> ok"]
