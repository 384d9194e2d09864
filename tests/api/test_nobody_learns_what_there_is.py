"""What one may not see is answered like what does not exist: status, headers and body, on pages,
as JSON and by API. `boom` exists and `gone` does not; numbers are of the same length."""

import pytest

from apps.nodes import store as nodes
from apps.rollbacks import services as rollbacks
from apps.runs import store as runs
from tests import rollback_story

PAGES = [
    "/runs/{run}/", "/runs/{run}/head/", "/runs/{run}/deck.json", "/runs/{run}/logs/",
    "/runs/{run}/logs/lines", "/runs/{run}/checkpoints/", "/runs/boom/checkpoints/0/{step}/",
    "/runs/boom/orders/{order}/", "/incidents/{incident}/", "/incidents/{incident}/export.json",
    "/nodes/{node}/",
]  # fmt: skip
OPERATED = [
    "/runs/{run}/rollback/", "/runs/{run}/stop/", "/incidents/{incident}/acknowledge/",
    "/incidents/{incident}/note/", "/runs/boom/orders/{order}/cancel/",
    "/runs/boom/checkpoints/0/{step}/marks/", "/nodes/{node}/state/",
]  # fmt: skip
API = [
    "runs/{run}", "runs/{run}/attempts", "runs/{run}/logs", "runs/{run}/resume-point",
    "runs/{run}/checkpoints", "runs/boom/checkpoints/0/{step}", "runs/boom/orders/{order}",
    "incidents/{incident}", "nodes/{node}",
]  # fmt: skip
KINDS = ["run", "incident", "node", "step", "order"]


def other(number):
    """A number as long as this one that nothing has. Numbers go on from test to test: 9, 99 and 999
    come one day."""
    last = 10 ** len(str(number)) - 1
    return last if number != last else last - 1


@pytest.fixture
def there(incident):
    """What exists, by kind."""
    order = rollbacks.request(rollback_story.asked())
    nodes.ensure(["gpu-a01"])
    return {
        "run": "boom", "incident": incident.id, "node": "gpu-a01", "step": 900, "order": order.id
    }  # fmt: skip


@pytest.fixture
def missing(there):
    """Names of the same length for what does not exist."""
    numbers = {kind: other(there[kind]) for kind in ("incident", "step", "order")}
    return {"run": "gone", "node": "gpu-x99", **numbers}


def told(ask, path):
    """Status, headers and body of an answer, what was asked for left out."""
    answer = ask(path)
    headers = {name: value.replace(path, "…") for name, value in answer.headers.items()}
    return answer.status_code, headers, answer.content.decode().replace(path, "…")


def both(ask, paths, there, missing):
    """path -> what is told of what exists, and of what does not."""
    return {
        path: tuple(told(ask, path.format(**names)) for names in (there, missing)) for path in paths
    }


def alike(found):
    return {path: pair for path, pair in found.items() if pair[0] != pair[1]} == {}


def statuses(found):
    return {status for pair in found.values() for status, _, _ in pair}


@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers(client, there, missing, method):
    found = both(getattr(client, method), [*PAGES, *OPERATED], there, missing)
    assert alike(found) and statuses(found) == {302}
    found = both(getattr(client, method), [f"/api/v1/{path}" for path in API], there, missing)
    assert alike(found) and statuses(found) <= {401, 405}


def test_tokens_that_may_only_send(ask, there, missing):
    from apps.accounts.services import make_token

    secret = make_token("sender", ["ingest"])
    paths = [path for path in API if "resume-point" not in path]  # Launchers may ask with it.
    found = both(lambda path: ask(path, secret), paths, there, missing)
    assert alike(found) and statuses(found) == {403}


@pytest.mark.parametrize("method", ["get", "post"])
def test_people_who_may_not_operate(reader, there, missing, method):
    found = both(getattr(reader, method), OPERATED, there, missing)
    assert alike(found) and statuses(found) <= {403, 405}


def test_whatever_is_missing_is_missing_alike(operator, missing):
    answers = [told(operator.get, path.format(**missing)) for path in PAGES]
    assert {status for status, _, _ in answers} == {404}
    assert len({(str(headers), text) for _, headers, text in answers}) == 1


def test_an_api_names_only_what_was_asked_for(ask, missing):
    answers = [ask(path.format(**missing)) for path in API]
    assert {answer.status_code for answer in answers} == {404}
    assert {frozenset(answer.json()) for answer in answers} == {
        frozenset({"error", "where", "hint", "docs"})
    }
    assert len({str(dict(answer.headers)) for answer in answers}) <= len(KINDS)


def test_what_belongs_to_another_run_is_missing_too(operator, there, missing):
    runs.ensure_run("else")
    found = both(
        operator.get,
        ["/runs/else/orders/{order}/", "/runs/else/checkpoints/0/{step}/",
         "/runs/else/rollback/?incident={incident}"],
        there,
        missing,
    )  # fmt: skip
    assert alike(found) and statuses(found) == {404}
