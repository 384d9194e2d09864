"""Bodies of file_stream and the lines in them."""

import math
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.ingest.wandb.graphql import parse_request
from apps.ingest.wandb.lines import (
    HISTORY,
    Piece,
    console_lines,
    history_rows,
    parse_stream,
    stamp_ns,
    summary_of,
    system_samples,
)
from apps.ingest.wandb.values import Numbers

NOW_NS = 1_795_981_200_000_000_000
T0_S = 1_795_981_100.5


def test_a_body_is_numbered_lines():
    files = {HISTORY: {"offset": 3, "content": ["{}", "{}"]}}
    batch = parse_stream(orjson.dumps({"files": files, "preempting": True}))
    assert batch.pieces == (Piece(HISTORY, 3, ("{}", "{}")),)
    assert (batch.preempting, batch.exit_code) == (True, None)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"complete": True, "exitcode": 3}, 3),
        ({"complete": False, "exitcode": 3}, None),
        ({"complete": True, "exitcode": None}, None),
    ],
)
def test_only_complete_means_the_end(said, code):
    assert parse_stream(orjson.dumps(said)).exit_code == code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"files": []}',
        b'{"files": {"a": {"offset": -1, "content": []}}}',
        b'{"files": {"a": {"offset": true, "content": []}}}',
        b'{"files": {"a": {"offset": 0, "content": [1]}}}',
        b'{"files": {"a": 1}}',
    ],
)
def test_a_body_that_is_none_is_refused(body):
    with pytest.raises(BadPayload):
        parse_stream(body)


def test_history_becomes_rows_with_every_number_kept():
    line = '{"_step":5,"_runtime":1,"_timestamp":%s,"a":{"b":NaN},"up":Infinity,"ok":true,"s":"x"}'
    numbers = Numbers()
    (row,) = history_rows([line % T0_S], NOW_NS, numbers)
    assert (row.step, row.time_ns) == (5, 1_795_981_100_500_000_000)
    assert math.isnan(row.values["a/b"])
    assert {**row.values, "a/b": 0.0} == {"a/b": 0.0, "up": math.inf, "ok": 1.0}
    assert row.extra == {"r": 1.0, "o": {"ok": True, "s": "x"}, "d": ["a"]}
    assert numbers.skipped == {}


def test_a_row_without_a_time_has_that_of_the_row_before():
    lines = ['{"_step":0}', '{"_step":1,"_timestamp":%s}' % T0_S, '{"_step":2}']  # noqa: UP031
    times = [row.time_ns for row in history_rows(lines, NOW_NS, Numbers())]
    assert times == [NOW_NS, 1_795_981_100_500_000_000, 1_795_981_100_500_000_000]


@pytest.mark.parametrize("line", ["", "[]", "{", '{"loss":1}', '{"_step":-1}', '{"_step":NaN}'])
def test_a_line_without_a_step_is_counted(line):
    numbers = Numbers()
    assert history_rows([line], NOW_NS, numbers) == []
    assert numbers.skipped == {"row without a step": 1}


def test_system_metrics_have_their_prefix_once():
    line = '{"_wandb":true,"_timestamp":%s,"system.gpu.0.temp":40,"cpu":1}' % T0_S  # noqa: UP031
    (sample,) = system_samples([line], NOW_NS, Numbers())
    assert sample.values == {"system/gpu.0.temp": 40.0, "system/cpu": 1.0}


@pytest.mark.parametrize(
    ("line", "stream", "text", "timed"),
    [
        ('{"ts":"2026-11-29T19:04:24.5","content":"hi"}', "stdout", "hi", True),
        ('{"level":"error","ts":"?","content":"a\\nb"}', "stderr", "a b", False),
        ("2026-11-29T19:04:24.531130 text\n", "stdout", "text", True),
        ("ERROR 2026-11-29T19:04:24.531130 text", "stderr", "text", True),
        ("no stamp", "stdout", "no stamp", False),
        ('{"loss": 1}', "stdout", '{"loss": 1}', False),
    ],
)
def test_console_lines_of_every_form(line, stream, text, timed):
    (found,) = console_lines([line], NOW_NS)
    assert (found.stream, found.text, found.time_ns != NOW_NS) == (stream, text, timed)


@pytest.mark.parametrize(
    ("lines", "summary"),
    [(["{}", '{"a":NaN}'], {"a": "NaN"}), ([], {}), (["x"], {})],
)
def test_the_summary_is_strict_json(lines, summary):
    assert summary_of(lines) == summary


@pytest.mark.parametrize("line", ["x", "{}", '{"_timestamp":"x"}'])
def test_a_line_may_have_no_time(line):
    assert stamp_ns(line) is None


@pytest.mark.parametrize("parse", [parse_stream, parse_request])
def test_a_body_of_too_many_values_is_refused_before_it_is_opened(parse, monkeypatch):
    monkeypatch.setattr("apps.ingest.frames.MAX_VALUES", 3)
    with pytest.raises(BadPayload, match="more than 3 values"):
        parse(b'{"a":[1,2,3]}')


@given(st.integers(1, 8_999_999_999_999_999))
def test_the_time_of_a_printed_line_is_kept_to_the_microsecond(microseconds):
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    stamp = at.replace(tzinfo=None).isoformat()
    (line,) = console_lines([f'{{"ts":"{stamp}","content":"x"}}'], NOW_NS)
    assert line.time_ns == microseconds * 1_000
