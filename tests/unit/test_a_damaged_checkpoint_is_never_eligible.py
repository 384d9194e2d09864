from apps.rollbacks.domain.ranking import rank
from tests.rollback_samples import SECOND, saved, scene


def _texts(candidate, weight):
    return [e.text for e in candidate.reasons if e.weight == weight]


def test_an_incomplete_one_is_listed_last_with_what_was_found():
    broken = saved(
        800, complete=False, level="listed", findings=("NO_COMMIT_MARKER: no .metadata file",)
    )
    ranking = rank(scene([broken, saved(750), saved(600)]))
    assert [(c.step, c.eligible) for c in ranking.candidates] == [
        (750, True), (600, True), (800, False)
    ]  # fmt: skip
    assert _texts(ranking.candidates[-1], -1) == [
        "incomplete or damaged: NO_COMMIT_MARKER: no .metadata file",
        "only listed: no commit marker was seen",
    ]


def test_one_whose_directory_was_written_again_is_gone():
    old = saved(700, path="/data/step-700")
    new = saved(700, 1, path="/data/step-700", saved_at_ns=9_000 * SECOND)
    ranking = rank(scene([old, new, saved(600)]))
    assert [(c.step, c.eligible) for c in ranking.candidates] == [(600, True), (700, False)]
    assert _texts(ranking.candidates[-1], -1) == [
        "overwritten: attempt 1 saved into the same directory"
    ]


def test_a_warning_speaks_against_it_but_leaves_it_eligible():
    longer = saved(900, level="headers_verified", findings=("SIZE_MISMATCH: 1 file longer",))
    (candidate,) = rank(scene([longer])).candidates
    assert candidate.eligible
    assert _texts(candidate, -1) == ["SIZE_MISMATCH: 1 file longer"]
    assert "headers verified: every file that the metadata names has its size" in _texts(
        candidate, 1
    )


def test_the_loss_before_the_save_speaks_for_or_against_it():
    calm, sick = saved(750, loss_z=0.3), saved(850, loss_z=9.0)
    first, second = rank(scene([calm, sick])).candidates
    assert "loss normal before the save (+0.3 robust standard deviations)" in _texts(first, 1)
    assert "loss high before the save (+9.0 robust standard deviations)" in _texts(second, -1)
