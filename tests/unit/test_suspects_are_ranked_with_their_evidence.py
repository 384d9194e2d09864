"""incidents.domain.suspects."""

import pytest

from apps.core.records import Evidence, Suspect
from apps.incidents.domain.suspects import SILENT_CORRUPTION, merge_suspects
from tests.incident_samples import INFO, explosion, failure, finding, level_shift, rank_outlier

NODES = {4: "gpu-b02", 5: "gpu-b02", 1: "gpu-a01"}


def test_the_one_rank_apart_is_suspected_of_silent_corruption_with_its_node():
    suspects = merge_suspects([level_shift(), rank_outlier()], NODES)
    assert len(suspects) == 1
    first = suspects[0]
    assert (first.rank, first.node, first.fault_class) == (5, "gpu-b02", SILENT_CORRUPTION)
    assert first.evidence[0].text == "loss of rank 5 is 2.8, of all others 1.1"


def test_several_ranks_apart_accuse_nobody_strongly():
    suspects = merge_suspects([rank_outlier(5), rank_outlier(1)], NODES)
    assert {s.confidence for s in suspects} == {0.2}
    assert {s.fault_class for s in suspects} == {"unknown"}


def test_several_ranks_apart_weaken_even_what_their_findings_say():
    said = (Suspect(5, None, SILENT_CORRUPTION, 0.8),)
    suspects = merge_suspects([rank_outlier(5, suspects=said), rank_outlier(1)], NODES)
    assert {(s.fault_class, s.confidence) for s in suspects} == {("unknown", 0.2)}


def test_the_suspect_of_a_failure_comes_from_its_finding():
    suspects = merge_suspects([failure()])
    assert [(s.rank, s.node, s.fault_class) for s in suspects] == [(6, "gpu-b02", "py_exception")]


def test_two_detectors_that_agree_make_a_suspect_more_likely():
    both = merge_suspects([rank_outlier(5), failure(5)], NODES)
    assert [(s.rank, s.confidence) for s in both] == [(5, 0.97)]
    assert {e.text for e in both[0].evidence} == {
        "loss of rank 5 is 2.8, of all others 1.1",
        "ValueError: bad batch",
    }


def test_one_detector_that_repeats_itself_does_not():
    again = merge_suspects([rank_outlier(5, 710), rank_outlier(5, 720)], NODES)
    assert [s.confidence for s in again] == [0.7]


def test_evidence_against_is_kept():
    against = Evidence("its temperature is normal", weight=-1)
    suspect = Suspect(5, None, "xid_48", 0.4, (against,))
    found = merge_suspects([finding("n", "failure", 5, suspects=(suspect,))], NODES)
    assert found[0].evidence == (against,)
    assert found[0].node == "gpu-b02"


def test_the_most_likely_comes_first_then_the_lower_rank():
    suspects = (Suspect(4, None, "x", 0.5), Suspect(1, None, "x", 0.5), Suspect(5, None, "x", 0.8))
    found = merge_suspects([finding("n", "failure", 5, suspects=suspects)], NODES)
    assert [s.rank for s in found] == [5, 1, 4]


@pytest.mark.parametrize("quiet", [explosion(), rank_outlier(severity=INFO)])
def test_what_names_no_rank_or_is_quiet_accuses_nobody(quiet):
    assert merge_suspects([quiet], NODES) == ()


def test_a_report_that_was_taken_back_weakens_no_other():
    suspects = merge_suspects([rank_outlier(5), rank_outlier(1, severity=INFO)], NODES)
    assert [(s.rank, s.confidence) for s in suspects] == [(5, 0.7)]
