import json
from dataclasses import replace

import pytest
from django.db import OperationalError

from apps.api import logs as api
from apps.core.places import Places
from apps.logs import search
from tests import log_run


@pytest.fixture
def records(ask, db):
    """Records of one question about a run with 48 lines."""
    log_run.make()

    def asked(query, key=log_run.KEY):
        answer = ask(f"logs/query?run={key}&{query}")
        assert answer.status_code == 200, answer.content
        return [json.loads(part) for part in b"".join(answer.streaming_content).splitlines()]

    return asked


def lines(found):
    return [record for record in found if record["kind"] == "line"]


def places(found):
    """(rank, second) as the text says: lines of errors tell no step."""
    words = [record["text"].split("step ") for record in lines(found)]
    return [(int(head[head.index("[rank") + 5]), int(rest.split()[0])) for head, rest in words]


EVERY = [(rank, second) for second in range(12) for rank in range(4)]


def test_every_line_comes_once_in_order(records):
    found = records("")
    assert places(found) == EVERY
    assert found[-1] == {
        "kind": "end",
        "lines": 48,
        "next": None,
        "partial": False,
        "newest_ns": found[-1]["newest_ns"],
    }


def test_a_line_says_all_that_is_known_of_it(records):
    line = lines(records("q=rank:2"))[3]
    assert line == {
        "kind": "line",
        "time_ns": log_run.at_ns(3),
        "time": "2026-11-29T19:53:23.000000000Z",
        "attempt": 0,
        "rank": 2,
        "local_rank": 0,
        "node": "gpu-b02",
        "level": "error",
        "step": line["step"],
        "source": "job/attempt_0/0/stderr.log",
        "channel": "stderr",
        "seq": line["seq"],
        "text": log_run.line(2, 3),
        "at": line["at"],
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("order=newest&limit=2", [(3, 11), (2, 11)]),
        ("q=rank:1-2 level>=error", [(1, 3), (2, 3), (1, 7), (2, 7), (1, 11), (2, 11)]),
        ("q=node:gpu-b02 /step 1[01]/", [(2, 10), (3, 10), (2, 11), (3, 11)]),
        ("from=2026-11-29T19:53:30Z&q=rank:0", [(0, 10), (0, 11)]),
        (f"to={log_run.at_ns(1)}&q=rank:0", [(0, 0), (0, 1)]),
        ("q=nothing-of-this", []),
    ],
)
def test_conditions_narrow_it_down(records, query, expected):
    assert places(records(query)) == expected


def test_the_next_page_goes_on_where_this_one_ended(records):
    found, cursor = [], ""
    for _ in range(10):
        page = records(f"limit=5{cursor}")
        found += places(page)
        if page[-1]["next"] is None:
            break
        cursor = f"&cursor={page[-1]['next']}"
    assert found == EVERY


def test_a_run_without_lines_has_an_end(ask, records):
    from apps.runs import store as runs

    runs.ensure_run("empty")
    assert records("", key="empty") == [
        {"kind": "end", "lines": 0, "next": None, "partial": False, "newest_ns": None}
    ]


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("logs/query?run=nobody", 404, "key"),
        ("logs/query?run=chat&q=rank:x", 400, "rank"),
        ("logs/query?run=chat&q=/(/", 400, "regex"),
        ("logs/query?run=chat&since=soon", 400, "query"),
        ("logs/query?run=chat&from=soon", 400, "query.from"),
        ("logs/query?run=chat&order=random", 400, "query.order"),
        ("logs/query?run=chat&cursor=junk", 400, "cursor"),
        ("logs/query", 422, "query.run"),
    ],
)
def test_a_wrong_question_is_refused_before_it_is_answered(ask, db, path, status, where):
    log_run.make(1)
    answer = ask(path)
    assert answer.status_code == status
    assert where in answer.json()["where"]


def test_too_many_searches_at_once_are_told_to_come_back(ask, db, monkeypatch):
    log_run.make(1)
    one = Places(1)
    monkeypatch.setattr(api, "SEARCHES", one)
    give_back = one.take()
    answer = ask("logs/query?run=chat")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    give_back()
    assert ask("logs/query?run=chat&cursor=junk").status_code == 400
    assert ask("logs/query?run=chat").status_code == 200


def test_a_database_that_goes_away_ends_the_answer_aloud(ask, db, monkeypatch):
    log_run.make(1)
    parts = search.scan

    def breaking(query):
        yield replace(next(parts(query)), done=False)
        raise OperationalError("gone")

    monkeypatch.setattr(api.search, "scan", breaking)
    answer = ask("logs/query?run=chat")
    *_, last = map(json.loads, b"".join(answer.streaming_content).splitlines())
    assert (last["kind"], last["error"]) == ("error", "the database does not answer")


def test_it_needs_the_scope_read(client, db):
    from apps.accounts.services import make_token

    secret = make_token("sender", ["ingest"])
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.get("/api/v1/logs/query?run=chat", headers=headers).status_code == 403
    assert client.get("/api/v1/logs/query?run=chat").status_code == 401
