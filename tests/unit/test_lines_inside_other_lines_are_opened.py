"""Containers' logs, the journal and loggers that write JSON: logs.domain.envelopes."""

from datetime import UTC, datetime

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.pieces import MAX_LINE_BYTES
from tests.log_samples import SEEN_NS, console, only, parse

INFO, W, E = Severity.INFO, Severity.WARNING, Severity.ERROR
RECORDS = {
    "structlog": (
        {"event": "saved", "step": 700, "loss": 2.5, "level": "info", "rank": 5,
         "timestamp": "2026-11-29T19:46:03.5Z"},
        (19, 46, 3.5), INFO, 5, "saved step 700 loss=2.5",
    ),
    "python-json-logger": (
        {"asctime": "2026-11-29 19:46:03,250", "levelname": "WARNING", "message": "slow",
         "name": "train"},
        (19, 46, 3.25), W, None, "slow name=train",
    ),
    "zap": (
        {"level": "error", "ts": 1795981563.5, "caller": "a.go:7", "msg": "lost"},
        (19, 46, 3.5), E, None, "lost caller=a.go:7",
    ),
    "pino": (
        {"level": 50, "time": 1795981563500, "msg": "lost"}, (19, 46, 3.5), E, None, "lost",
    ),
    "Ray": (
        {"asctime": "2026-11-29 19:46:03,500", "levelname": "INFO", "message": "up",
         "worker_id": "ab"},
        (19, 46, 3.5), INFO, None, "up worker_id=ab",
    ),
    "loguru": (
        {"text": "2026 | x\n", "record": {"level": {"name": "ERROR", "no": 40},
         "time": {"repr": "x", "timestamp": 1795981563.5}}},
        (19, 46, 3.5), E, None, "2026 | x",
    ),
    "a value with spaces": (
        {"msg": "a", "level": "info", "path": "b c", "of": {"x": 1}},
        None, INFO, None, 'a path="b c" of={"x":1}',
    ),
    "a rank in the text": (
        {"msg": "[rank7]: x", "level": "info", "rank": 3}, None, INFO, 7, "[rank7]: x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_a_logger_is_a_line(name):
    record, time, level, rank, text = RECORDS[name]

    line = only(parse(orjson.dumps(record) + b"\n", local_rank=None))

    assert (_clock(line.time_ns), line.severity, line.rank, line.text) == (time, level, rank, text)


def test_a_record_tells_step_and_numbers_like_a_plain_line():
    record = {"event": "train", "step": 7, "data_time": 0.5, "level": "info", "rank": 5}

    parsed = parse(orjson.dumps(record) + b"\n", local_rank=None)

    assert only(parsed).step == 7
    (row,) = parsed.metrics
    assert (row.rank, row.step, dict(row.values)) == (5, 7, {"rank/data_time": 0.5})


@pytest.mark.parametrize(
    "text",
    ['{"step": 7, "loss": 2.5}', '{"text": "a sample of the data"}', "{'a': 1}", "{broken}", "{}"],
)
def test_an_object_that_is_no_record_stays_as_it_is(text):
    assert only(parse(f"{text}\n")).text == text


def test_a_traceback_in_a_record_is_one_event():
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nOddProblem: x'
    record = {"msg": "failed", "level": "error", "exc_info": trace}

    parsed = parse(orjson.dumps(record) + b"\n{}\n")

    assert parsed.lines.text == ["failed", *trace.split("\n"), "{}"]
    assert parsed.lines.severity == [E, E, E, E, INFO]
    assert LineColumns.of(parsed.lines).frames(np.arange(4)).tolist() == [False, False, True, False]
    assert parsed.lines.seq == [0, 1, 2, 3, len(orjson.dumps(record)) + 1]


def test_parts_of_a_line_in_a_cri_file_are_joined_per_stream():
    parsed = console(
        "2026-11-29T19:46:03.1Z stderr P [default3]:[rank11]: Runtime\n"
        "2026-11-29T19:46:03.2Z stdout F between\n"
        "2026-11-29T19:46:03.3Z stderr P Error: CUDA \n"
        "2026-11-29T19:46:03.4Z stderr F error\n"
    )

    assert [parsed.lines.message(n) for n in range(4)] == [
        "", "between", "", "RuntimeError: CUDA error",
    ]  # fmt: skip
    last = parsed.lines[3]
    assert (last.rank, last.local_rank, last.severity) == (11, 3, E)
    assert _clock(last.time_ns) == (19, 46, 3.4)


def test_parts_that_never_end_are_given_piece_by_piece():
    part = "2026-11-29T19:46:03.1Z stderr P " + "x" * 16_000 + "\n"

    parsed = parse(part * 9)

    said = [text for text in parsed.lines.text if text]
    assert sum(text.count("x") for text in said) + len(parsed.carry.parts["stderr"]) > 9 * 16_000
    assert all(len(text) <= MAX_LINE_BYTES + 100 for text in said)


def test_a_docker_file_is_opened_and_its_parts_joined():
    rows = [
        {"log": "[rank5]: half a ", "stream": "stderr", "time": "2026-11-29T19:46:03.25Z"},
        {"log": "\u001b[31mline\u001b[0m\n", "stream": "stderr",
         "time": "2026-11-29T19:46:03.5Z"},
    ]  # fmt: skip

    parsed = parse(b"".join(orjson.dumps(row) + b"\n" for row in rows), local_rank=None)

    assert parsed.lines.text == ["", "[rank5]: half a line"]
    assert (parsed.lines.rank[1], _clock(parsed.lines.time_ns[1])) == (5, (19, 46, 3.5))


def journal(**changes):
    """The segment of one entry, by default of the kernel."""
    message = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    entry = {"__REALTIME_TIMESTAMP": "1795981563500000", "_TRANSPORT": "kernel", "PRIORITY": "4",
             "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": message} | changes  # fmt: skip
    return parse(orjson.dumps(entry) + b"\n")


def test_an_entry_of_the_journal_is_a_line():
    line = only(journal())
    assert line.text == "kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    assert (_clock(line.time_ns), line.severity) == ((19, 46, 3.5), E)


def test_a_traceback_of_a_service_is_known_behind_its_name():
    line = only(
        journal(_TRANSPORT="stdout", PRIORITY="6", MESSAGE="Traceback (most recent call last):")
    )
    assert (line.severity, line.text) == (E, "kernel: Traceback (most recent call last):")


def test_a_message_of_the_journal_may_be_a_list_of_bytes():
    parsed = journal(MESSAGE=[*b"a \xff b"], _TRANSPORT="stdout", _PID="7", PRIORITY="6")
    assert only(parsed).text == "kernel[7]: a \ufffd b"
    assert parsed.invalid_utf8_bytes == 1


@pytest.mark.parametrize(("priority", "severity"), [("2", 50), ("3", E), ("4", W), ("6", INFO)])
def test_the_priority_of_a_service_is_its_level(priority, severity):
    line = only(journal(_TRANSPORT="syslog", PRIORITY=priority, MESSAGE="x"))
    assert line.severity == severity


FIELDS = [
    "log",
    "stream",
    "time",
    "level",
    "msg",
    "rank",
    "MESSAGE",
    "PRIORITY",
    "_PID",
    "__REALTIME_TIMESTAMP",
    "text",
    "record",
    "exc_info",
    "step",
]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**60), 2**60)
        | st.floats()
        | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    (
                        "log",
                        "stream",
                        "time",
                        "level",
                        "msg",
                        "rank",
                        "MESSAGE",
                        "PRIORITY",
                        "_PID",
                        "__REALTIME_TIMESTAMP",
                        "text",
                        "record",
                        "exc_info",
                        "step",
                    )
                ),
                inner,
                max_size=6,
            )
        ),
        max_leaves=12,
    )
)
def test_no_object_stops_the_parser(value):
    data = orjson.dumps(value) + b"\nnext\n"

    lines = parse(data).lines

    assert lines.text[-1] == "next"
    assert lines.seq == sorted(set(lines.seq))
    assert lines.seq[-1] == len(data) - 5


def _clock(time_ns):
    """(hour, minute, second) of a time, None for that of the reader's clock."""
    if time_ns == SEEN_NS:
        return None
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return moment.hour, moment.minute, moment.second + moment.microsecond / 1e6
