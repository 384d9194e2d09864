"""logs.store.templates, as write_lines uses it"""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.logs.domain.pattern.tally import fold
from apps.logs.domain.pattern.templates import OTHER, template_id
from apps.logs.models import TemplateTally
from apps.logs.store import templates as store
from apps.logs.store import write_lines
from tests.log_batches import RUN, send
from tests.log_samples import parse

pytestmark = pytest.mark.django_db

HOUR = 498_876


def counts(attempt=0):
    """(template, hour) -> lines"""
    rows = store.read_tally(RUN, attempt, 0, 2**31 - 1).rows
    return {(int(row["template"]), int(row["hour"])): int(row["lines"]) for row in rows}


def said(message, attempt=0):
    """How often a message was said."""
    found = counts(attempt)
    return sum(n for (template, _), n in found.items() if template == template_id(message))


def lines(*parts):
    """(second, rank, message): lines of 2026-11-29, 12:00 and later."""
    stamps = [f"2026-11-29 {12 + s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s, *_ in parts]
    return "".join(
        f"{stamp} [INFO] [rank{rank}] {message}\n"
        for stamp, (_, rank, message) in zip(stamps, parts, strict=True)
    )


def test_a_template_is_counted_by_hour():
    send(lines((0, 3, "took 1 ms"), (1, 3, "took 22 ms"), (3_600, 3, "took 3 ms")))
    template = template_id("took 9 ms")
    assert counts() == {(template, HOUR): 2, (template, HOUR + 1): 1}
    assert store.texts(RUN) == {template: ("took <num> ms", "took 1 ms")}


def test_who_said_it_first_and_who_next_is_known_whatever_comes_first():
    send(lines((5, 2, "late")), node="gpu-b02")
    send(lines((1, 9, "late"), (2, 9, "late"), (7, 0, "late")), node="gpu-a01")
    found = fold([store.read_tally(RUN, 0, HOUR, HOUR)], whole=True)
    (row,) = found.rows
    assert (row["first_rank"], row["next_rank"]) == (9, 2)
    assert found.nodes[row["node"]] == "gpu-a01"
    assert row["next_ns"] - row["first_ns"] == 4_000_000_000
    assert found.sets[row["ranks"]] == 1 << 9 | 1 << 2 | 1


def test_bytes_that_come_again_are_not_counted_again():
    text = lines((0, 1, "a thing"), (1, 1, "a thing"))
    send(text)
    send(text + lines((2, 1, "a thing")), batch_id="c")
    assert said("a thing") == 3


def test_console_copies_of_a_rank_file_are_not_counted():
    text = "ValueError: no\n"
    own = parse(text, source="0/stderr.log", node="gpu-b02")
    copy = parse(f"[default0]:{text}", source="console", channel="console", local_rank=None)
    write_lines(RUN, 0, "gpu-b02", [own, copy], batch_id="b")
    assert said("ValueError: no") == 1


def test_a_run_has_a_bounded_number_of_templates_and_counts_the_rest(monkeypatch):
    monkeypatch.setattr(store, "MAX_TEMPLATES", 2)
    send(lines((0, 0, "one thing"), (0, 0, "two of a kind"), (0, 0, "two of a kind")))
    send(lines((1, 0, "three"), (1, 0, "four"), (2, 0, "one thing")), batch_id="c", offset=500)
    assert said("one thing") == 2
    assert counts()[OTHER, HOUR] == 2
    assert len(store.texts(RUN)) == 2


def test_attempts_are_counted_apart():
    send("same\n")
    send("same\n", attempt=1)
    assert [said("same", 0), said("same", 1)] == [1, 1]


def test_rows_that_are_added_up_say_the_same(monkeypatch):
    expected = [(number, "one") for number in range(9)]
    for number, word in expected:
        monkeypatch.setattr(store, "_level", lambda _, level=number % 3: level)
        send(lines((number, number, word)), batch_id=str(number), source=f"{number}/x")
    assert said("one") == 9
    assert 1 < TemplateTally.objects.filter(run_id=RUN).count() < 9


def test_about_every_64th_row_adds_up_those_before_whoever_writes_in_turns():
    for start in range(4):
        rounds = [store._level(number) for number in range(start + 1, 40_000, 4)]
        assert 100 < sum(level >= 1 for level in rounds) < 220
        assert sum(level >= 2 for level in rounds) < 10


def test_a_batch_of_known_templates_costs_one_statement(
    django_capture_on_commit_callbacks, monkeypatch
):
    monkeypatch.setattr(store, "_level", lambda _: 0)  # else one row in 64 costs two more
    text = lines(*((n, 0, "known") for n in range(3)))
    with django_capture_on_commit_callbacks(execute=True):
        send(text)
    with CaptureQueriesContext(connection) as found:
        send(text, offset=len(text), batch_id="c")
    said_of_templates = [q["sql"] for q in found.captured_queries if "logs_template" in q["sql"]]
    assert len(said_of_templates) == 1
    store._committed.clear()


def test_what_was_rolled_back_is_not_taken_for_stored(django_capture_on_commit_callbacks):
    with (
        django_capture_on_commit_callbacks() as committed,
        pytest.raises(KeyError),
        transaction.atomic(),
    ):
        send("lost\n")
        raise KeyError
    assert committed == []
    send("lost\n")
    assert list(store.texts(RUN).values()) == [("lost", "lost")]
