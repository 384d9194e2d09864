"""The section of an incident page on how a job died, from recorded files to links that work."""

import re
from dataclasses import replace
from html import unescape

import pytest

from apps.core.records import NodeEvent
from apps.dashboard.crash import crash_of
from apps.incidents import services as incidents
from apps.incidents import store
from apps.ingest.nodes import status
from apps.ingest.nodes.status import Status
from apps.logs import services as logs
from apps.nodes import store as nodes
from tests.failure_cases import SEEN_NS
from tests.recorded import start, write_logs

pytestmark = pytest.mark.django_db
MINUTE_NS = 60 * 10**9


@pytest.fixture
def crashed():
    """Makes the incident of a recorded failure."""

    def make(run):
        run_id = start(run)
        write_logs(run, run_id)
        (finding,) = logs.triage(run_id, 0, SEEN_NS)
        (change,) = incidents.absorb(run_id, 0, [finding], SEEN_NS)
        return store.get(change.incident_id), finding

    return make


def section(client, incident):
    page = client.get(f"/incidents/{incident.id}/").content.decode()
    (part,) = re.findall(r'<section class="card crash".*?</section>', page, re.DOTALL)
    return unescape(part)


def words(part):
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def test_a_hang_is_told_from_its_beginning(operator, crashed):
    incident, _ = crashed("hang_r5")
    text = words(section(operator, incident))
    for said in (
        "Rank 5 on gpu-b02 hung",
        "followed (Gloo wait timeout",
        "high confidence",
        "torchrun on gpu-a01 names rank 2: a victim",
        "data loader waiting on shard",
        "No source has ever told anything of gpu-b02",
    ):
        assert said in text


def test_each_line_leads_to_itself_in_the_logs(operator, crashed):
    incident, _ = crashed("exc_r6")
    part = section(operator, incident)
    links = re.findall(r'<a href="([^"]+)" aria-label="this line', part)
    texts = re.findall(r"<code>(.*?)</code>", part, re.DOTALL)
    assert 3 <= len(links) <= 10
    logs_page = operator.get(links[0]).content.decode()
    assert texts[0][:40] in unescape(logs_page)
    assert 'aria-current="true"' in logs_page
    assert 'File "/opt/train/train.py", line 98' in part


def test_what_happened_to_the_host_stands_beside_it(operator, crashed):
    incident, finding = crashed("exc_r6")
    onset_ns = finding.onset_time_ns
    nodes.record(
        [
            NodeEvent(
                "gpu-b02", onset_ns - 9 * MINUTE_NS, "xid_79", "critical", "fell off the bus"
            ),
            NodeEvent("gpu-b02", onset_ns + 6 * MINUTE_NS, "late", "warning", "too late to matter"),
        ]
    )
    text = words(section(operator, incident))
    assert "xid_79 fell off the bus" in text
    assert "too late to matter" not in text


def test_a_host_that_was_heard_of_is_not_called_silent(operator, crashed):
    incident, finding = crashed("exc_r6")
    long_before_ns = finding.onset_time_ns - 180 * MINUTE_NS
    nodes.record([NodeEvent("gpu-b02", long_before_ns, "thermal", "warning", "hot")])
    assert "its newest event is 3 h 00 min before the failure" in words(section(operator, incident))


def test_a_source_that_was_silent_is_named(operator, crashed, valkey):
    incident, finding = crashed("exc_r6")
    onset_ns = finding.onset_time_ns
    before_ns = onset_ns - 2 * MINUTE_NS
    status.save(Status("rack-6", "prometheus", onset_ns, heard_ns=before_ns, silent_after_s=1e10))
    status.save(Status("rack-7", "prometheus", onset_ns, heard_ns=before_ns))
    status.save(Status("rack-8", "prometheus", onset_ns, heard_ns=onset_ns + MINUTE_NS))
    text = words(section(operator, incident))
    assert "what they would tell is not known: rack-7. Sources" in text


@pytest.mark.parametrize("course", [None, {"first": "Rank 5 hung.", "lanes": 3}])
def test_a_course_that_another_program_kept_is_left_out(crashed, course):
    incident, finding = crashed("hang_r5")
    told = replace(finding, facts={**finding.facts, "course": course})
    assert crash_of("run", incident, [finding]) is not None
    assert crash_of("run", incident, [told]) is None


def test_the_post_mortem_says_the_same(operator, crashed):
    incident, _ = crashed("exc_r6")
    text = operator.get(f"/incidents/{incident.id}/export.md").content.decode()
    told = text.partition("## What happened first")[2].partition("\n## ")[0]
    assert "- Rank 6 on gpu-b02 failed first: DataLoader worker died" in told
    assert "- not to blame: torchrun on gpu-a01 names rank 3" in told
    assert "| initiating | rank 6 on gpu-b02 | RuntimeError: DataLoader worker" in told
