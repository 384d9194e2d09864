"""logs.patterns"""

import pytest

from apps.core.records import Severity
from apps.logs.models import OrdinaryTemplate
from apps.logs.patterns import SETTLED_NS, PatternQuery, learn_ordinary, read_patterns
from apps.logs.store import ordinary as ordinary_store
from apps.runs import store as runs
from apps.runs.models import Run
from apps.runs.records import Progress
from tests.pattern_samples import HOUR_NS, NOON_NS, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def run_id():
    run_id = runs.ensure_run("r")
    Run.objects.filter(pk=run_id).update(project="llm", world_size=8)
    return run_id


def found(run_id, attempt=0, **asked):
    return read_patterns(PatternQuery(run_id, attempt, **asked))


def texts(page):
    return [one.text for one in page.found]


def test_an_attempt_without_lines_has_no_patterns(run_id):
    assert found(run_id).total == 0


def test_patterns_come_by_lines_with_the_ranks_that_say_them(run_id):
    say(
        run_id,
        *((0, rank, "INFO", f"took {rank} ms") for rank in range(7)),
        (1, 3, "ERROR", "lost"),
    )
    page = found(run_id)
    assert texts(page) == ["took <num> ms", "lost"]
    assert (page.total, page.lines, page.ranks) == (2, 8, 0xFF)
    assert [one.ranks for one in page.found] == [0x7F, 0x08]


def test_a_range_of_time_counts_its_own_hours_only(run_id):
    say(run_id, (0, 0, "INFO", "early"), (1, 0, "INFO", "late"), (1, 0, "INFO", "late"))
    page = found(run_id, from_ns=NOON_NS + HOUR_NS)
    assert (texts(page), page.lines) == (["late"], 2)
    assert texts(found(run_id, to_ns=NOON_NS + 1)) == ["early"]


def test_patterns_are_asked_for_by_level_rank_and_template(run_id):
    say(run_id, (0, 0, "INFO", "fine"), (0, 5, "ERROR", "it broke"))
    assert texts(found(run_id, min_severity=Severity.ERROR)) == ["it broke"]
    assert texts(found(run_id, rank_spans=((4, 7),))) == ["it broke"]
    (one,) = found(run_id, min_severity=Severity.ERROR).found
    assert texts(found(run_id, template=one.templates[0])) == ["it broke"]
    assert (found(run_id, limit=1).total, len(found(run_id, limit=1).found)) == (2, 1)


def test_news_are_what_was_first_said_after_the_last_good_hour(run_id):
    say(run_id, *((hour, 0, "INFO", "fine") for hour in range(4)), (3, 5, "ERROR", "it broke"))
    page = found(run_id, new_only=True)
    assert (texts(page), page.new, page.good.since) == (["it broke"], 1, "error")
    assert page.good.until_ns < NOON_NS + 3 * HOUR_NS


def test_what_an_earlier_attempt_said_is_no_news(run_id):
    say(run_id, (0, 0, "ERROR", "it broke"))
    say(run_id, (1, 0, "ERROR", "it broke"), (1, 0, "ERROR", "it burns"), attempt=1)
    assert texts(found(run_id, attempt=1, new_only=True)) == ["it burns"]


def test_what_a_run_that_ended_well_says_is_ordinary(run_id):
    say(run_id, (0, 0, "ERROR", "harmless"), (0, 0, "INFO", "hello"))
    ended = NOON_NS + SETTLED_NS + HOUR_NS
    assert learn_ordinary(ended) == 0
    runs.end_attempt(run_id, 0, 0)
    runs.note_progress(run_id, 0, Progress(last_ns=NOON_NS), None)
    other = runs.ensure_run("other")
    Run.objects.filter(pk=other).update(project="llm")
    say(other, (0, 0, "ERROR", "harmless"), (0, 0, "ERROR", "it broke"))
    assert learn_ordinary(NOON_NS) == 0
    assert [learn_ordinary(ended), learn_ordinary(ended)] == [1, 0]
    assert {one.text: one.ordinary for one in found(other).found} == {
        "harmless": True,
        "it broke": False,
    }
    assert texts(found(other, hide_ordinary=True)) == ["it broke"]


def test_a_project_remembers_a_bounded_number_of_ordinary_templates(run_id, monkeypatch):
    monkeypatch.setattr(ordinary_store, "MAX_ORDINARY", 2)
    assert ordinary_store.add_ordinary("llm", run_id, 0, 10, {1, 2})
    assert ordinary_store.add_ordinary("llm", run_id, 1, 20, {2, 3})
    assert not ordinary_store.add_ordinary("llm", run_id, 1, 30, {9})
    assert ordinary_store.ordinary("llm", {1, 2, 3, 9}) == {2, 3}
    assert OrdinaryTemplate.objects.get(template_id=2).attempts == 2
