import base64

import pytest

from apps.api.loki import views
from apps.core.places import Places
from tests import log_run

S = 10**9


@pytest.fixture
def loki(client, token, db):
    """GET below /loki/api/v1/ as Grafana sends it, about a run with 48 lines."""
    log_run.make()
    basic = base64.b64encode(f"grafana:{token}".encode()).decode()

    def get(path, **parameters):
        headers = {"Authorization": f"Basic {basic}"}
        return client.get(f"/loki/api/v1/{path}", parameters, headers=headers)

    return get


def result(answer):
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["status"] == "success"
    return body["data"]["result"]


def ranged(loki, query, **parameters):
    span = {"start": log_run.at_ns(0), "end": log_run.at_ns(60)}
    return loki("query_range", query=query, **{**span, **parameters})


def texts(streams):
    values = [tuple(value) for stream in streams for value in stream["values"]]
    return [text for _, text in sorted(values)]


def test_lines_come_as_streams_with_their_labels(loki):
    streams = result(ranged(loki, '{run="chat", rank="2"} |= "step"', limit=1000))
    assert [stream["stream"] for stream in streams if stream["stream"]["level"] == "error"] == [
        {
            "run": "chat",
            "attempt": "0",
            "node": "gpu-b02",
            "rank": "2",
            "source": "job/attempt_0/0/stderr.log",
            "channel": "stderr",
            "level": "error",
        }
    ]
    assert texts(streams) == [log_run.line(2, second) for second in range(12)]


def test_the_newest_come_first_and_the_limit_holds(loki):
    streams = result(ranged(loki, '{run="chat"}', limit=5))
    assert len(texts(streams)) == 5
    assert {int(value[0]) for stream in streams for value in stream["values"]} == {
        log_run.at_ns(10),
        log_run.at_ns(11),
    }
    forward = result(ranged(loki, '{run="chat"}', limit=5, direction="forward"))
    assert log_run.line(0, 0) in texts(forward)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ('{run="chat"}', 48),
        ('{run=~"ch.*"}', 48),
        ('{project="", run!=""}', 48),
        ('{run="other"}', 0),
        ('{run!="chat"}', 0),
        ('{run="chat", level="error"}', 12),
        ('{run="chat", level=~"error|warning"}', 24),
        ('{run="chat", level!="info"}', 24),
        ('{run="chat"} | detected_level="warning"', 12),
        ('{run="chat", level="loud"}', 0),
        ('{run="chat", rank=~"1|3"}', 24),
        ('{run="chat", rank!="1"}', 36),
        ('{run="chat", rank=~"[01]"}', 24),
        ('{run="chat", node="gpu-a01"}', 24),
        ('{run="chat", node=~"gpu-[b].*"}', 24),
        ('{run="chat"} |= "step 3"', 4),
        ('{run="chat"} |= "step 3" or "step 4"', 8),
        ('{run="chat"} != "step 3"', 44),
        ('{run="chat"} |~ "step [34] "', 8),
        ('{run="chat"} |~ "step [34] " |~ "4"', 4),
        ('{run="chat"} !~ "step [34] "', 40),
        ('{run="chat"} | json | drop __error__', 48),
    ],
)
def test_a_selection_means_what_it_means_in_loki(loki, query, count):
    assert len(texts(result(ranged(loki, query, limit=5000)))) == count


@pytest.mark.parametrize("step", [4, 60])
def test_lines_are_counted_over_time(loki, step):
    query = f'sum by (level) (count_over_time({{run="chat"}}[{step}s]))'
    end_ns = log_run.at_ns(59)
    series = result(ranged(loki, query, step=step, start=log_run.at_ns(0) // (60 * S) * 60 * S,
                           end=end_ns + 60 * S))  # fmt: skip
    counts = {
        one["metric"]["level"]: sum(int(value) for _, value in one["values"]) for one in series
    }
    assert counts == {"info": 24, "warning": 12, "error": 12}


def test_a_window_reaches_back_from_its_step(loki):
    query = 'sum(count_over_time({run="chat", rank="0"} |= "step"[4s]))'
    at = {"start": log_run.at_ns(3), "end": log_run.at_ns(7), "step": 4}
    (series,) = result(ranged(loki, query, **at))
    assert series == {
        "metric": {},
        "values": [[log_run.at_ns(3) / S, "4"], [log_run.at_ns(7) / S, "4"]],
    }


def test_a_rate_is_a_second(loki):
    at = {"time": str(log_run.at_ns(11))}
    query = 'sum(rate({run="chat"} |= "step" [12s]))'
    (series,) = result(loki("query", query=query, **at))
    assert series == {"metric": {}, "value": [log_run.at_ns(11) / S, "4"]}


def test_grafanas_sign_of_life_is_answered(loki):
    (series,) = result(loki("query", query="vector(1)+vector(1)", time="4000000000"))
    assert series["value"][1] == "2"


def test_pickers_find_labels_and_their_values(loki):
    assert "rank" in loki("labels").json()["data"]
    values = {
        name: loki(f"label/{name}/values", query='{run="chat"}').json()["data"]
        for name in ("run", "rank", "node", "level", "source", "channel", "attempt", "weather")
    }
    assert values == {
        "run": ["chat"],
        "rank": ["0", "1", "2", "3"],
        "node": ["gpu-a01", "gpu-b02"],
        "level": ["debug", "info", "warning", "error", "critical"],
        "source": ["job/attempt_0/0/stderr.log", "job/attempt_0/1/stderr.log"],
        "channel": ["stderr"],
        "attempt": ["0"],
        "weather": [],
    }


def test_series_are_the_files_of_a_run(loki):
    found = loki("series", **{"match[]": '{run="chat", node="gpu-a01"}'}).json()["data"]
    assert [stream["source"] for stream in found] == [
        "job/attempt_0/0/stderr.log",
        "job/attempt_0/1/stderr.log",
    ]


@pytest.mark.parametrize(
    ("path", "parameters", "words"),
    [
        ("query_range", {"query": "{"}, "character 2"),
        ("query_range", {"query": '{run="x"} |~ "("'}, "cannot be read"),
        ("query_range", {"query": '{run="x"}', "limit": "none"}, "limit"),
        ("query_range", {"query": '{run="x"}', "start": "soon"}, "start"),
        ("query_range", {"query": '{run="x"}', "start": "2", "end": "1"}, "end"),
        ("query_range", {"query": '{run="x"}', "direction": "up"}, "direction"),
        ("query_range", {"query": '{run="x"}', "step": "1ns"}, "step"),
        ("query", {"query": '{run="x"}'}, "query_range"),
        ("series", {"match[]": "vector(1)+vector(1)"}, "selector"),
    ],
)
def test_an_error_is_plain_text_that_says_where(loki, path, parameters, words):
    answer = loki(path, **parameters)
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert words in answer.content.decode()


def test_too_many_searches_at_once_are_told_to_come_back(loki, monkeypatch):
    one = Places(1)
    monkeypatch.setattr(views, "SEARCHES", one)
    give_back = one.take()
    answer = ranged(loki, '{run="chat"}')
    assert (answer.status_code, answer["Retry-After"]) == (429, "2")
    assert loki("labels").status_code == 200
    give_back()
    assert len(texts(result(ranged(loki, '{run="chat"}')))) == 48
    assert one.take() is not None


def test_strangers_and_senders_read_nothing(client, db):
    from apps.accounts.services import make_token

    path = "/loki/api/v1/labels"
    sender = {"Authorization": f"Bearer {make_token('sender', ['ingest'])}"}
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"Authorization": "Basic !!"}).status_code == 401
    assert client.get(path, headers=sender).status_code == 403
