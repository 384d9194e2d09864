"""alerts.domain.mail on the first failure of a dead job: the answer of the incident page."""

from apps.alerts.domain.mail import evidence_lines
from apps.alerts.domain.note import note_of
from apps.core.plain import packed
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.course import course_of
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.report import finding_of
from tests.failure_cases import all_files, case_of, recorded
from tests.mail_samples import opening


def told():
    facts = case_of(all_files(recorded("hang_r5")))
    verdict = first_failure(facts, taxonomy())
    course = packed(course_of(facts, verdict))
    return opening(findings=(finding_of(verdict, attempt=0, settled=True, course=course),))


def test_the_lines_say_who_why_what_to_do_and_who_is_innocent():
    lines = evidence_lines(told())
    assert lines[0].startswith("First: Rank 5 on gpu-b02 hung: it printed no error")
    assert lines[1] == "Class: Hang: progress stops, no error, confidence high"
    assert lines[2] == "Why: All other ranks complain of a peer; it does not."
    assert lines[3].startswith("To do: ")
    assert any(line.startswith("Not to blame: torchrun on gpu-a01 names rank 2") for line in lines)
    assert not any(line.startswith("Cause:") for line in lines)


def test_a_channel_gets_the_same_answer():
    assert any(line.startswith("First: Rank 5 on gpu-b02") for line in note_of(told()).lines)
