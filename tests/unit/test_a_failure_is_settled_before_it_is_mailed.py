"""logs.domain.settle and report"""

import pytest

from apps.core.records import FindingSeverity
from apps.logs.domain.triage.report import confidence_word, finding_of, fingerprint
from apps.logs.domain.triage.settle import Action, Judged, TriageState, is_due, settle
from tests.failure_cases import all_files, recorded, verdict_of

S = 1_000_000_000
T = 1_000 * S


def walk(*steps):
    """(fingerprint, confirmed, second, dirty) one after the other -> actions, last state."""
    state, actions = TriageState(dirty=False), []
    for mark, confirmed, second, dirty in steps:
        state = TriageState(**{n: getattr(state, n) for n in state.__slots__} | {"dirty": dirty})
        decision = settle(state, Judged(mark, confirmed), now_ns=T + second * S)
        state = decision.state
        actions.append((decision.action, state.settled))
    return actions, state


REPORT, NOTHING, RECOVERED = Action.REPORT, Action.NOTHING, Action.RECOVERED


def test_a_confirmed_failure_is_reported_at_once_and_settled_later():
    actions, state = walk(("a", True, 0, True), ("a", True, 1, False), ("a", True, 3, False))
    assert actions == [(REPORT, False), (REPORT, False), (REPORT, True)]
    assert state.look_again_ns is None


def test_a_line_that_changes_the_verdict_starts_the_wait_again():
    actions, state = walk(("a", True, 0, True), ("b", True, 2, True), ("b", True, 4, False))
    assert actions == [(REPORT, False)] * 3
    assert state.look_again_ns == T + 5 * S


def test_lines_without_end_do_not_hold_it_back_for_ever():
    steps = [("a", True, second, True) for second in range(0, 31, 2)]
    assert walk(*steps)[0][-1] == (REPORT, True)


def test_an_error_of_one_rank_waits_for_its_progress():
    actions, state = walk(("a", False, 0, True), ("a", False, 19, True))
    assert actions == [(NOTHING, False)] * 2
    assert state.look_again_ns == T + 20 * S


def test_an_error_without_progress_becomes_a_failure():
    assert walk(("a", False, 0, True), ("a", False, 20, False))[0][-1] == (REPORT, False)


@pytest.mark.parametrize(("pace_s", "wait_s"), [(None, 20), (2, 20), (60, 180), (9_999, 1_800)])
def test_a_slow_job_gets_more_time(pace_s, wait_s):
    judged = Judged("a", confirmed=False, pace_ns=pace_s and pace_s * S)
    assert settle(TriageState(), judged, now_ns=T).state.look_again_ns == T + wait_s * S


def test_progress_in_time_leaves_nothing():
    actions, state = walk(("a", False, 0, True), (None, False, 5, True))
    assert actions[-1] == (NOTHING, False)
    assert state == TriageState(dirty=False)


def test_progress_after_a_report_closes_it():
    assert walk(("a", True, 0, True), (None, False, 9, True))[0][-1] == (RECOVERED, False)


def test_a_settled_verdict_is_given_out_only_when_it_changes():
    settled = [("a", True, 0, True), ("a", True, 3, False)]
    assert walk(*settled, ("a", True, 9, True))[0][-1] == (NOTHING, True)
    assert walk(*settled, ("b", True, 9, True))[0][-1] == (REPORT, True)


def test_nothing_is_due_without_news():
    assert is_due(TriageState(dirty=False, fingerprint="a"), T)
    assert not is_due(TriageState(dirty=False, fingerprint="a", settled=True), T)
    assert not is_due(TriageState(dirty=False), T)
    assert is_due(TriageState(dirty=True), T)
    assert is_due(TriageState(dirty=False, look_again_ns=T), T)


@pytest.mark.parametrize(
    ("confidence", "word"), [(0.9, "high"), (0.65, "medium"), (0.35, "low"), (0.0, "none")]
)
def test_confidence_has_a_word(confidence, word):
    assert confidence_word(confidence) == word


def test_the_finding_says_what_a_person_needs():
    verdict = verdict_of(all_files(recorded("hang_r5")))
    finding = finding_of(verdict, attempt=2, settled=False)
    assert finding.key == "failure:a2"
    assert finding.severity is FindingSeverity.PAGE
    assert (finding.rank, finding.node, finding.onset_step) == (5, "gpu-b02", 110)
    assert finding.title == (
        "Rank 5 on gpu-b02 hung: it printed no error while its peers gave up waiting"
    )
    assert finding.facts["fault_class"] == "hang_no_error"
    assert finding.facts["settled"] is False
    assert finding.facts["confidence_word"] == "high"
    assert finding.seen_time_ns > finding.onset_time_ns + 60 * S


def test_the_same_verdict_has_the_same_fingerprint():
    files = all_files(recorded("exc_r6"))
    assert fingerprint(verdict_of(files)) == fingerprint(verdict_of(files))
    assert fingerprint(verdict_of(files)) != fingerprint(verdict_of(files[:-1]))
