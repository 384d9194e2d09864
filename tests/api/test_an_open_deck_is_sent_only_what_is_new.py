"""deck.json with `since`: what a page has is not sent again, and what changed under it is."""

import pytest

from apps.core.records import MetricRow
from apps.metrics import store as metrics
from apps.metrics.services import compact
from apps.metrics.store import pins
from apps.runs import store as runs
from apps.runs.progress_store import note_progress
from apps.runs.records import Progress

pytestmark = pytest.mark.django_db
T0_NS = 1_795_981_200_000_000_000
STEP_NS = 1_000_000_000


class Run:
    """A run of one series that is written bit by bit."""

    def __init__(self, key):
        self.id, self.attempt = runs.ensure_run(key), 0
        runs.open_attempt(self.id, 0, T0_NS)

    def log(self, first, end, value=None):
        rows = [
            MetricRow(n, T0_NS + n * STEP_NS, {"train/loss": value or 3.0 + n % 5})
            for n in range(first, end)
        ]
        metrics.write_rows(self.id, self.attempt, rows, source="test")
        last_ns = T0_NS + end * STEP_NS
        note_progress(self.id, self.attempt, Progress(first, end - 1, last_ns, last_ns), None)

    def restart(self, step):
        self.attempt += 1
        runs.open_attempt(self.id, self.attempt, T0_NS + step * STEP_NS)


@pytest.fixture
def run(valkey):
    made = Run("grows")
    made.log(0, 20_000)
    compact(made.id, everything=True)
    return made


def asked(person, **said):
    return person.get("/runs/grows/deck.json", {"part": "charts", **said}).json()


@pytest.fixture(params=["step", "time"])
def ask(request, reader):
    """Asks as an open page does: with the mark of the answer before."""
    mark = ""

    def again(**said):
        nonlocal mark
        found = asked(reader, x=request.param, since=mark, **said)
        mark = found["mark"]
        return found

    return again


def loss(found):
    return found["charts"]["loss"]


def lines(chart):
    return [t for t in chart["figure"]["data"] if t["meta"]["role"] in ("value", "band", "old")]


def test_a_page_without_a_mark_is_sent_everything(ask, run):
    found = ask()
    assert found["kept"] == []
    assert all("keep" not in line and len(line["x"]) > 500 for line in lines(loss(found)))


def test_new_rows_come_as_the_ends_of_curves(ask, run):
    before = lines(loss(ask()))
    run.log(20_000, 20_050)
    found = ask()
    for old, end in zip(before, lines(loss(found)), strict=True):
        assert 0 < len(end["x"]) < 5
        assert len(old["x"]) - 2 <= end["keep"] <= len(old["x"])
    assert "note" in found["kept"]


def test_a_page_that_has_all_is_sent_nothing(ask, run):
    ask()
    found = ask()
    assert set(found) - {"kept", "mark", "growing"} == {"charts"}
    assert found["charts"] == {"loss": None}


def test_a_row_that_comes_late_into_an_old_bucket_brings_the_whole_chart(ask, run):
    ask()
    run.log(500, 501, value=77.0)
    found = loss(ask())
    assert all("keep" not in line for line in lines(found))
    assert max(max(line["y"]) for line in lines(found)) == 77.0


def test_compaction_changes_nothing_for_a_page(ask, run):
    ask()
    run.log(20_000, 20_050)
    ask()
    compact(run.id, everything=True)
    assert ask()["charts"] == {"loss": None}


def test_a_rewind_brings_the_whole_chart(ask, run):
    ask()
    run.restart(10_000)
    run.log(10_000, 10_100)
    assert all("keep" not in line for line in lines(loss(ask())))
    run.log(10_100, 10_200)
    ends = lines(loss(ask()))
    assert [line["keep"] > 0 for line in ends] == [True] * len(ends)
    assert sum(len(line["x"]) for line in ends) < 110


@pytest.mark.parametrize("rows", [0, 50])
def test_a_chart_that_is_like_another_is_no_chart_that_the_page_has(ask, run, rows):
    """A colleague keeps the series of a row for everybody while the page is open."""
    ask()
    pins.add_pin(run.id, pins.EVERYBODY, "train/loss", T0_NS)
    if rows:
        run.log(20_000, 20_000 + rows)
    kept = ask()["charts"]["pin:train/loss"]
    assert all("keep" not in line and len(line["x"]) > 500 for line in lines(kept))


def test_what_is_looked_at_anew_is_sent_whole(ask, run):
    ask()
    assert all("keep" not in line for line in lines(loss(ask(px=600))))


@pytest.mark.parametrize("mark", ["x", "AAAA", "ä", "A" * 9_000, "=", "AAAAAAAAAAA" * 40])
def test_a_mark_that_is_none_is_as_good_as_none(reader, run, mark):
    assert len(asked(reader, since=mark)["charts"]["loss"]["figure"]["data"][0]["x"]) > 500
