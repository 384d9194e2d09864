"""The puller's requests: waits are kept, refusals are told, answers are understood."""

import json

import httpx
import pytest

from workers.puller.records import Described, Facts, Held, Mark, Spot
from workers.puller.target import Refused, Stopping, Target

SPOT = Spot("p q", "r", "there/p/r")
SAID = Described("n", ["t"], None, None, None, {"lr": {"value": float("inf")}}, {})


class Waits(list):
    """In place of an event: remembers the waits, and ends the third."""

    def wait(self, seconds):
        self.append(seconds)
        return len(self) == 3


def target_of(*answers):
    """A target that gets these answers, its requests, and its waits."""
    left, asked, waits = list(answers), [], Waits()

    def answer(request):
        asked.append(request)
        given = left.pop(0)
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, httpx.Response) else httpx.Response(200, json=given)

    target = Target("http://there", "secret", waits)
    target._client = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://there")
    return target, asked, waits


def test_what_passes_is_sent_again_after_the_wait_that_is_asked_for():
    busy = httpx.Response(429, headers={"Retry-After": "7"})
    target, asked, waits = target_of(busy, httpx.ConnectError("away"), {})
    target.send(SPOT, {"output.log": (3, ["a"])})
    assert waits[0] == 7.0
    assert 0 < waits[1] <= 2.0
    assert [json.loads(request.content) for request in asked] == [
        {"files": {"output.log": {"offset": 3, "content": ["a"]}}}
    ] * 3
    assert asked[0].url.raw_path == b"/files/puller/p%20q/r/file_stream"


def test_a_puller_that_is_told_to_end_waits_no_longer():
    target, _, _ = target_of(*[httpx.Response(503) for _ in range(5)])
    with pytest.raises(Stopping):
        target.send(SPOT, {})


@pytest.mark.parametrize("status", [400, 401, 403, 413])
def test_a_refusal_is_told_at_once(status):
    target, asked, _ = target_of(httpx.Response(status, json={"error": "no", "hint": "use b"}))
    with pytest.raises(Refused, match="use b"):
        target.send(SPOT, {})
    assert len(asked) == 1


def test_what_fails_again_and_again_is_given_up_for_now(monkeypatch):
    monkeypatch.setattr("workers.puller.target.MOST_ERRORS", 2)
    target, asked, _ = target_of(httpx.Response(500), *[httpx.Response(500, text="a fault")] * 9)
    with pytest.raises(Refused, match="500: a fault"):
        target.send(SPOT, {})
    assert len(asked) == 2


def test_an_error_under_200_is_a_refusal():
    target, _, _ = target_of({"data": None, "errors": [{"message": "is taken by the project x"}]})
    with pytest.raises(Refused, match="is taken by"):
        target.begin(SPOT, SAID, "there #1", None)


@pytest.mark.parametrize("told", ["r~0~3~1~2", None])
def test_a_process_begins_as_the_client_does(told):
    target, asked, _ = target_of({"data": {}})
    target.begin(SPOT, SAID, "there #1", told)
    variables = json.loads(asked[0].content)["variables"]
    assert (variables["id"], variables["host"], variables["program"]) == (
        told, "puller", "there #1"
    )  # fmt: skip
    assert json.loads(variables["config"]) == SAID.config


def test_what_lastgood_holds_is_read_from_its_tails():
    bucket = {
        "id": "r~0~3~1~2",
        "historyLineCount": 3, "eventsLineCount": 1, "logLineCount": 2,
        "historyTail": json.dumps(['{"_step": 9, "_timestamp": 1.5}']),
        "eventsTail": json.dumps(['{"_timestamp": 2.5}']),
    }  # fmt: skip
    empty = {**dict.fromkeys(bucket, 0), "id": "r", "historyTail": "[]", "eventsTail": "[]"}
    answers = [{"data": {"model": {"bucket": found}}} for found in (bucket, empty, None)]
    target, _, _ = target_of(*answers)
    assert target.held(SPOT) == Held(3, 1, 2, Mark(2, 9, 1.5), 2.5, "r~0~3~1~2")
    assert target.held(SPOT) == Held(0, 0, 0, None, None, "r")
    assert target.held(SPOT) is None


def test_how_far_a_mirror_is_is_said_with_the_token():
    target, asked, _ = target_of({})
    target.report(SPOT, Facts("r", "running", "", 5), 4, 1)
    assert asked[0].headers["Authorization"] == "Bearer secret"
    assert json.loads(asked[0].content) == {
        "source": "there/p/r", "state": "running", "step": 4, "behind": 1, "error": ""
    }  # fmt: skip


def test_a_stop_that_cannot_reach_the_source_is_logged(caplog):
    target, _, _ = target_of({"stopped": True})
    target.send(SPOT, {})
    assert "there/p/r" in caplog.text
