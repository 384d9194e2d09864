"""logs.domain.triage.sharing: two ranks on one device."""

from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.first_failure import first_failure
from apps.logs.domain.triage.report import finding_of
from apps.logs.domain.triage.roots import Event

S = 10**9


def rank(number, *texts, node="gpu-a01"):
    events = tuple(
        Event(S, f"{number}", at, 40, text, taxonomy().classify(text))
        for at, text in enumerate(texts)
    )
    return RankFacts(number, node, number, 100 + number, events, S, None, "")


def duplicate(one, other):
    return f"NCCL WARN Duplicate GPU detected : rank {one} and rank {other} both on CUDA device 3c"


def judged(*ranks):
    return first_failure(AttemptFacts(ranks), taxonomy())


def test_both_are_named_and_their_host():
    verdict = judged(rank(0, duplicate(0, 1)), rank(1, duplicate(1, 0)), rank(2), rank(3))
    assert verdict.together == (0, 1)
    assert {(s.rank, s.node) for s in verdict.suspects} == {(0, "gpu-a01"), (1, "gpu-a01")}
    finding = finding_of(verdict, attempt=0, settled=True)
    assert finding.title.startswith("Ranks 0 and 1 on gpu-a01 failed together: ")
    assert finding.facts["together"] == [0, 1]


def test_numbers_inside_of_a_group_name_nobody():
    verdict = judged(rank(4, duplicate(0, 1)), rank(5, duplicate(1, 0)), rank(6), rank(7))
    assert verdict.together == ()
