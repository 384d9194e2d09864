"""The lines of docs/alerts.md that check a signature, run on a real request."""

import re
import time
from pathlib import Path

import pytest

from apps.alerts.domain.access import Access
from apps.alerts.domain.routing import ChannelKind
from apps.alerts.transports import webhook
from apps.alerts.transports.http import post
from tests.channel_samples import HERE, SECRET, note
from tests.receiver import receiving

PAGE = Path(__file__).parents[2] / "docs/alerts.md"


@pytest.fixture(scope="module")
def verified():
    """The function that the page shows."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(block, names)  # noqa: S102 - it is our own page
    return names["verified"]


@pytest.fixture
def request_():
    with receiving() as server:
        post(webhook.call(note(now_ns=time.time_ns()), Access(server.url(), SECRET)), HERE)
        yield server.received[0]


def test_a_request_as_it_was_sent_is_taken(verified, request_):
    assert verified(SECRET, dict(request_.headers), request_.body)


def test_a_changed_body_and_another_secret_are_not(verified, request_):
    assert not verified(SECRET, dict(request_.headers), request_.body + b" ")
    assert not verified("whsec_" + "A" * 32, dict(request_.headers), request_.body)


def test_an_old_request_is_not(verified, request_):
    old = dict(request_.headers) | {"webhook-timestamp": str(int(time.time()) - 301)}
    assert not verified(SECRET, old, request_.body)


@pytest.mark.parametrize("kind", list(ChannelKind))
def test_every_kind_of_channel_is_on_the_page(kind):
    words = {"email": "E-mail", "slack": "Chat", "pagerduty": "PagerDuty", "webhook": "Signed"}
    assert f"| {words.get(kind.value, kind.value)}" in PAGE.read_text(encoding="utf-8")
