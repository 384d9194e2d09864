"""A change of fault classes while an attempt has more lines than a verdict reads anew."""

import time

import pytest
from django.utils import timezone

from apps.ingest import faultclasses as ingest
from apps.ingest.models import Analysis
from apps.logs import reclassing, store
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.models import Event, Triage
from apps.logs.reclassing import Waiting
from apps.logs.services import triage
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.failure_cases import SEEN_NS
from tests.own_classes import own

pytestmark = pytest.mark.django_db
S = 1_000_000_000
LINES = 11


@pytest.fixture
def run_id(monkeypatch):
    """A failed attempt with some errors; the bounds are as small."""
    monkeypatch.setattr(reclassing, "AT_ONCE", 3)
    monkeypatch.setattr(reclassing, "SLICE", 4)
    found = runs.ensure_run("r")
    runs.open_attempt(found, 0, 0)
    runs.note_progress(found, 0, Progress(project="llm"), timezone.now())
    meta = SegmentMeta(
        source="3.log", channel="stderr", local_rank=1, node="gpu-1", offset=0, seen_ns=SEEN_NS
    )
    body = "2026-11-29 20:00:00.000 [INFO] [rank3] step 1 loss=2\n"
    body += "".join(f"RuntimeError: fabric lane {n} lost\n" for n in range(LINES))
    store.write_lines(found, 0, "gpu-1", [parse_segment(meta, body.encode())], batch_id="b")
    return found


def verdict(run_id):
    """The fault class that triage names long after the last line."""
    Triage.objects.update(dirty=True, settled=False)
    triage(run_id, 0, SEEN_NS)
    return triage(run_id, 0, SEEN_NS + 60 * S)[0].facts["fault_class"]


def test_the_verdict_goes_by_the_stored_classes_until_all_lines_have_the_new_ones(run_id):
    assert verdict(run_id) == "py_exception"
    store.add_revision("llm", own())
    assert verdict(run_id) == "py_exception"
    assert Triage.objects.get().taxonomy == taxonomy().label
    assert ingest.reclass(60) == 1
    assert set(Event.objects.values_list("fault_class", "taxonomy")) == {
        ("lane_lost", f"{taxonomy().label}.1")
    }
    assert verdict(run_id) == "lane_lost"
    assert ingest.reclass(60) == 0


def test_the_analysis_is_due_when_all_are_through(run_id):
    store.add_revision("llm", own())
    verdict(run_id)
    Triage.objects.update(dirty=False)
    ingest.reclass(60)
    assert Triage.objects.get().dirty
    assert Analysis.objects.get(run_id=run_id).written == 1


def test_a_slice_says_how_far_it_is(run_id):
    store.add_revision("llm", own())
    verdict(run_id)
    assert reclassing.waiting("llm") == [Waiting("r", 0, 0, None)]
    reclassing.take_slice(time.monotonic() + 60)
    assert reclassing.waiting("llm") == [Waiting("r", 0, 4, LINES)]
    assert reclassing.waiting("vision") == []


def test_without_time_a_slice_is_one_line(run_id):
    store.add_revision("llm", own())
    verdict(run_id)
    reclassing.take_slice(0)
    assert reclassing.waiting("llm") == [Waiting("r", 0, 1, LINES)]
    assert ingest.reclass(0) == 0


def test_classes_that_change_meanwhile_reach_every_line(run_id):
    store.add_revision("llm", own())
    verdict(run_id)
    reclassing.take_slice(time.monotonic() + 60)
    store.add_revision("llm", own(version=2))
    assert ingest.reclass(60) == 1
    labels = set(Event.objects.values_list("taxonomy", flat=True))
    assert labels == {f"{taxonomy().label}.2"}
