from dataclasses import replace

import pytest

from apps.rollbacks.domain.cost import CostBasis
from apps.rollbacks.domain.lineage import Branch
from apps.rollbacks.domain.ranking import rank
from apps.rollbacks.domain.scene import Begun, Evaluated, Health, Restore
from tests.rollback_samples import fault, saved, scene

SD = "robust standard deviations"
NAMES = [
    "margin", "verification", "health", "evaluation", "earlier starts", "kept", "where it lies",
    "restore", "lost work",
]  # fmt: skip


def terms(checkpoint, *others, **fields):
    """The terms of the first by name."""
    ranking = rank(replace(scene([checkpoint, *others]), **fields))
    found = next(c for c in ranking.candidates if c.step == checkpoint.step)
    return {term.name: term for term in found.terms}


def said(checkpoint, name, *others, **fields):
    return [(e.text, e.weight) for e in terms(checkpoint, *others, **fields)[name].said]


def test_every_term_is_there_and_says_why_if_it_knows_nothing():
    found = terms(saved(800))
    assert list(found) == NAMES
    silent = {name: term.silent for name, term in found.items() if term.silent}
    assert silent == {
        "health": "not measured: fewer than 60 logged rows before the save",
        "evaluation": "nobody evaluated it",
        "earlier starts": "no attempt began from it",
        "kept": "nothing protects it from rotation",
        "where it lies": "no whole copy is known",
        "restore": "no start was measured, and the number of hosts is unknown",
    }
    assert all(bool(term.said) != bool(term.silent) for term in found.values())


@pytest.mark.parametrize(
    ("level", "words", "weight"),
    [
        ("hash_verified", "hash verified: every byte was read and is what was written", 1),
        ("restored", "restored: an attempt has loaded it", 1),
        ("listed", "only listed: no commit marker was seen", -1),
    ],
)
def test_the_level_is_said_in_words(level, words, weight):
    assert said(saved(800, level=level), "verification") == [(words, weight)]


def test_weights_without_an_optimizer_are_called_that():
    text, weight = said(saved(800, optimizer=False), "verification")[1]
    assert (text[:12], weight) == ("weights only", -1)


def test_all_signs_of_illness_are_told():
    health = Health(0.2, 7.0, 1.0, nonfinite=2, scale_falls=1, open_findings=("Rank 5 is apart",))
    assert said(saved(800, health=health), "health") == [
        (f"loss normal before the save (+0.2 {SD})", 1),
        (f"gradient norm high before the save (+7.0 {SD})", -1),
        (f"second moments of the optimizer normal before the save (+1.0 {SD})", 1),
        ("2 rows that are no number before it", -1),
        ("the loss scale fell 1 time before it: skipped steps", -1),
        ("not over when it was saved: Rank 5 is apart", -1),
    ]


def test_an_evaluation_is_compared_with_the_best_up_to_the_same_step():
    best = saved(600, scores=(Evaluated("mmlu acc", 0.62, True),))
    worse = saved(800, scores=(Evaluated("mmlu acc", 0.55, True), Evaluated("ppl", 9.0, False)))
    assert said(worse, "evaluation", best) == [
        ("mmlu acc 0.55, the best up to here is 0.62 at step 600", 0),
        ("ppl 9, the best up to here", 1),
    ]
    assert said(best, "evaluation", worse) == [("mmlu acc 0.62, the best up to here", 1)]


def test_earlier_starts_marks_copies_and_loading_are_told():
    checkpoint = saved(
        800,
        begun=(Begun(1, "it reached step 990; RB-3 failed"),),
        kept=("pinned by ada: before the new data",),
        copies=("bucket s3://b/800",),
        restore=Restore(90.0, "measured"),
    )
    assert said(checkpoint, "earlier starts") == [
        ("attempt 1 began from it: it reached step 990; RB-3 failed", 0)
    ]
    assert said(checkpoint, "kept") == [("pinned by ada: before the new data", 1)]
    assert said(checkpoint, "where it lies") == [("bucket s3://b/800", 0)]
    assert said(checkpoint, "restore")[0][0].endswith("to load: measured")


def test_lost_work_is_steps_gpu_hours_and_tokens():
    cost = CostBasis(1250, 2.0, 8, step_tokens=1e6)
    ((text, weight),) = said(saved(800), "lost work", cost=cost)
    assert text == "450 steps would be done again: 2 GPU-hours, 450,000,000 tokens"
    assert weight == 0


def test_what_is_leaving_or_never_loaded_is_not_eligible():
    gone = saved(800, leaving="deleted on 3 May")
    dead = saved(600, begun=(Begun(1, "it never logged a step", loaded=False),))
    again = saved(500, begun=(Begun(1, "", loaded=False), Begun(2, "it reached 900")))
    ranking = rank(scene([gone, dead, again], fault(onset=1000)))
    assert {c.step: c.eligible for c in ranking.candidates} == {800: False, 600: False, 500: True}
    reasons = {c.step: c.reasons[0].text for c in ranking.candidates}
    assert reasons[800] == "deleted on 3 May"
    assert (
        reasons[600] == "a restore from it failed: attempt 1 began from it and never logged a step"
    )


def test_well_goes_before_new_and_of_one_step_the_verified_one_first():
    checkpoints = [
        saved(850, level="headers_verified", health=Health(loss_z=9.0)),
        saved(800, level="committed", health=Health(loss_z=0.1)),
        saved(750, level="committed"),
        saved(750, 1, level="headers_verified"),
    ]
    branches = (Branch(0, None, None), Branch(1, 0, 860))
    ranking = rank(scene(checkpoints, fault(attempt=1), branches))
    places = [(c.step, c.attempt) for c in ranking.candidates if c.eligible]
    assert places == [(800, 0), (750, 1), (750, 0), (850, 0)]
