"""Fault classes of a project from the lines to the verdict."""

from dataclasses import replace

import pytest
from django.utils import timezone

from apps.logs import store
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.logs.domain.triage.classify import Taxonomy, taxonomy
from apps.logs.models import Event, Triage
from apps.logs.services import triage
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.failure_cases import SEEN_NS
from tests.own_classes import LANE, own

pytestmark = pytest.mark.django_db
S = 1_000_000_000
HEAD = "2026-11-29 20:00:00.000 [INFO] [rank3] "


@pytest.fixture
def run_id():
    found = runs.ensure_run("r")
    runs.open_attempt(found, 0, 0)
    runs.note_progress(found, 0, Progress(project="llm"), timezone.now())
    return found


@pytest.fixture
def say(run_id):
    def write(*texts):
        meta = SegmentMeta(
            source="3.log", channel="stderr", local_rank=1, node="gpu-1", offset=0, seen_ns=SEEN_NS
        )
        body = "".join(f"{text}\n" for text in texts).encode()
        store.write_lines(run_id, 0, "gpu-1", [parse_segment(meta, body)], batch_id="b")

    return write


def verdict(run_id):
    """What triage says long after the last line."""
    triage(run_id, 0, SEEN_NS)
    return next(iter(triage(run_id, 0, SEEN_NS + 60 * S)), None)


def test_an_ordinary_line_becomes_the_cause(run_id, say):
    assert store.add_revision("llm", own(version=4))
    say(f"{HEAD}step 1 loss=2", f"{HEAD}fabric lane 7 lost")
    (event,) = Event.objects.filter(run_id=run_id)
    assert (event.fault_class, event.severity) == ("lane_lost", 40)
    assert event.taxonomy == f"{taxonomy().label}.4"
    found = verdict(run_id)
    assert found.facts["fault_class"] == "lane_lost"
    assert found.facts["action"] == "call the fabric team"
    assert found.rank == 3
    assert Triage.objects.get(run_id=run_id).taxonomy == event.taxonomy


def test_another_project_is_not_touched(run_id, say):
    store.add_revision("vision", own())
    say(f"{HEAD}fabric lane 7 lost")
    assert not Event.objects.filter(run_id=run_id).exists()


def test_a_stored_class_is_not_looked_for_again(run_id, say, monkeypatch):
    say(f"{HEAD}step 1 loss=2", "RuntimeError: CUDA error: an illegal memory access")
    monkeypatch.setattr(Taxonomy, "classify", None)
    assert verdict(run_id).facts["fault_class"] == "py_exception"


def test_lines_are_classified_again_when_the_classes_have_changed(run_id, say):
    say(f"{HEAD}step 1 loss=2", "RuntimeError: fabric lane 7 lost")
    assert verdict(run_id).facts["fault_class"] == "py_exception"
    store.add_revision("llm", own())
    Triage.objects.update(dirty=True, settled=False)
    assert verdict(run_id).facts["fault_class"] == "lane_lost"


def test_lines_of_an_older_program_are_classified(run_id, say):
    say(f"{HEAD}step 1 loss=2", "RuntimeError: CUDA error: an illegal memory access")
    Event.objects.update(taxonomy="", fault_class=None)
    assert verdict(run_id).facts["fault_class"] == "py_exception"


def test_a_line_inside_a_traceback_counts_if_a_class_takes_it(run_id, say):
    store.add_revision("llm", own())
    say(
        "Traceback (most recent call last):",
        '  File "t.py", line 1',
        "  fabric lane 7 lost",
        "E: x",
    )
    assert "lane_lost" in Event.objects.values_list("fault_class", flat=True)


def test_two_people_cannot_store_the_same_revision():
    assert store.add_revision("llm", own())
    assert not store.add_revision("llm", own(replace(LANE, title="Other")))
    assert store.own_classes("llm") == own()


def test_lines_without_time_are_counted_for_the_revision(run_id, say, monkeypatch):
    store.add_revision("llm", own())
    monkeypatch.setattr("apps.logs.domain.triage.ownmatching.Budget.is_over", lambda self: True)
    say(f"{HEAD}fabric lane 7 lost", f"{HEAD}fabric lane 8 lost")
    assert store.own_classes("llm").unread_lines == 2
